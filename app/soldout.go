package app

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// FlagLife is how long a sold-out flag counts, from before the read that confirmed it. Units that come back
	// to an empty stock rest longer than this in Redis, so that nobody can have been accepted whom a
	// valid flag does not know (I9).
	FlagLife = 200 * time.Millisecond
	// suspectLife is how long a sale is asked about after the last buyer was turned away from it.
	suspectLife = 30 * time.Second
)

// SoldOutFlags lets this node answer "sold out" without touching Redis, to people who never had a reservation
// in the sale. Everyone else always goes on to the Lua step, which looks the key up first (I9).
type SoldOutFlags struct {
	Ledger Ledger

	turned atomic.Int64

	mu    sync.RWMutex
	flags map[ID]*soldOutFlag
}

type soldOutFlag struct {
	sale     SaleRef
	wanted   time.Time // the last time that a buyer was turned away
	until    time.Time // the flag counts until then; zero while it is only a suspicion
	tickets  int64     // of the moment when the buyers were read
	complete bool      // buyers were read
	buyers   map[ID]struct{}
}

// TurnsAway tells whether the sale is surely sold out and the user surely never had anything in it.
func (s *SoldOutFlags) TurnsAway(sale, user ID) bool {
	s.mu.RLock()
	f := s.flags[sale]
	if f == nil { // as nearly always: the clock costs more than all the rest
		s.mu.RUnlock()
		return false
	}
	now := time.Now()
	_, known := f.buyers[user]
	away := !known && now.Before(f.until)
	stale := away && now.Sub(f.wanted) > suspectLife/4
	s.mu.RUnlock()
	if stale {
		s.touch(sale, now)
	}
	if away {
		s.turned.Add(1)
	}
	return away
}

// Turned counts the buys that were turned away without Redis since the start.
func (s *SoldOutFlags) Turned() int64 { return s.turned.Load() }

func (s *SoldOutFlags) touch(sale ID, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if f := s.flags[sale]; f != nil {
		f.wanted = now
	}
}

// Suspect asks the pulse to look after a sale that had no units left.
func (s *SoldOutFlags) Suspect(sale SaleRef) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.flags == nil {
		s.flags = make(map[ID]*soldOutFlag)
	}
	f := s.flags[sale.ID]
	if f == nil {
		f = &soldOutFlag{sale: sale}
		s.flags[sale.ID] = f
	}
	f.wanted = time.Now()
}

// Suspects lists the sales that the pulse must read, and forgets those nobody asks for any more.
func (s *SoldOutFlags) Suspects() []SaleRef {
	now := time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	refs := make([]SaleRef, 0, len(s.flags))
	for id, f := range s.flags {
		if now.Sub(f.wanted) > suspectLife {
			delete(s.flags, id)
			continue
		}
		refs = append(refs, f.sale)
	}
	return refs
}

// Confirm takes counters that were read no earlier than at the instant given: it renews, raises or lowers the
// flag of the sale. Raising reads the sale's buyers once, at most as many as it has had tickets.
func (s *SoldOutFlags) Confirm(ctx context.Context, read time.Time, c Counters) {
	s.mu.Lock()
	f := s.flags[c.Sale]
	if f == nil {
		s.mu.Unlock()
		return
	}
	gone := c.Loaded && c.Stock == 0
	switch {
	case !gone:
		f.until, f.complete, f.buyers = time.Time{}, false, nil
	case f.complete && f.tickets == c.Tickets:
		f.until = read.Add(FlagLife)
	default:
		f.until, f.complete = time.Time{}, false
	}
	raise := gone && !f.complete
	s.mu.Unlock()
	if raise {
		s.raise(ctx, f.sale)
	}
}

func (s *SoldOutFlags) raise(ctx context.Context, sale SaleRef) {
	asked := time.Now()
	users, c, err := s.Ledger.Buyers(ctx, sale)
	if err != nil || !c.Loaded || c.Stock != 0 {
		return // the flag stays down and buys go on to Redis
	}
	buyers := make(map[ID]struct{}, len(users))
	for _, u := range users {
		buyers[u] = struct{}{}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if f := s.flags[sale.ID]; f != nil {
		f.buyers, f.tickets, f.complete, f.until = buyers, c.Tickets, true, asked.Add(FlagLife)
	}
}
