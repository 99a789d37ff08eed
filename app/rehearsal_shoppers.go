package app

import "sync"

// shopperSet lets the first so many shoppers in, and them again.
type shopperSet struct {
	mu   *sync.Mutex
	most int
	in   map[ID]struct{}
}

func newShopperSet(most int) shopperSet {
	return shopperSet{mu: new(sync.Mutex), most: most, in: make(map[ID]struct{}, most)}
}

func (s shopperSet) admits(user ID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, known := s.in[user]; known {
		return true
	}
	if len(s.in) >= s.most {
		return false
	}
	s.in[user] = struct{}{}
	return true
}
