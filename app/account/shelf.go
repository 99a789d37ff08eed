package account

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
	"golang.org/x/time/rate"
)

// What is counted and kept for a short while is in Redis, where all nodes see it:
//
//	stampede:{login}:<what>:<whose>   string  a count, of failures or mails, with a TTL
//	stampede:{captcha}:<id>           string  hash of the answer to a picture, with a TTL; taken once
//
// None of it is truth: while Redis is away each node keeps its own.
const (
	countPrefix   = "stampede:{login}:"
	captchaPrefix = "stampede:{captcha}:"
)

// Shelf counts things and keeps texts for a while, in Redis or, when that does not answer, in the memory of this node.
type Shelf struct {
	redis  redis.UniversalClient // nil: memory alone
	memory memoryShelf
	warned rate.Sometimes
}

// NewShelf makes a shelf; client may be nil.
func NewShelf(client redis.UniversalClient) *Shelf {
	return &Shelf{redis: client, warned: rate.Sometimes{Interval: time.Minute}}
}

// shelfWithin bounds a call: somebody is waiting to log in.
const shelfWithin = 500 * time.Millisecond

// try runs a call on Redis and reports whether it answered.
func (s *Shelf) try(ctx context.Context, call func(ctx context.Context) error) bool {
	if s.redis == nil {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, shelfWithin)
	defer cancel()
	err := call(ctx)
	if err == nil || errors.Is(err, redis.Nil) {
		return true
	}
	s.warned.Do(func() {
		slog.WarnContext(ctx, "log ins are counted by this node alone: Redis does not answer", "err", err)
	})
	return false
}

// count adds one to each of the counts, which end a while after their first, and answers what they are then.
func (s *Shelf) count(ctx context.Context, within time.Duration, keys ...string) []int64 {
	counts := make([]int64, len(keys))
	answered := s.try(ctx, func(ctx context.Context) error {
		cmds := make([]*redis.IntCmd, len(keys))
		_, err := s.redis.TxPipelined(ctx, func(p redis.Pipeliner) error {
			for i, key := range keys {
				cmds[i] = p.Incr(ctx, countPrefix+key)
				// After INCR, in one transaction: a key that expires before it, or a crash or failover between the two,
				// would otherwise leave a counter without a TTL.
				p.ExpireNX(ctx, countPrefix+key, within)
			}
			return nil
		})
		for i, cmd := range cmds {
			counts[i] = cmd.Val()
		}
		return err
	})
	if !answered {
		for i, key := range keys {
			counts[i] = s.memory.count(countPrefix+key, within)
		}
	}
	return counts
}

// counts reads counts; what was not counted is 0. What this node has counted alone, while Redis rejected writes and
// answered reads, counts as well.
func (s *Shelf) counts(ctx context.Context, keys ...string) []int64 {
	counts := make([]int64, len(keys))
	s.try(ctx, func(ctx context.Context) error {
		cmds := make([]*redis.StringCmd, len(keys))
		_, err := s.redis.Pipelined(ctx, func(p redis.Pipeliner) error {
			for i, key := range keys {
				cmds[i] = p.Get(ctx, countPrefix+key)
			}
			return nil
		})
		for i, cmd := range cmds {
			counts[i], _ = cmd.Int64()
		}
		return err
	})
	for i, key := range keys {
		counts[i] += s.memory.read(countPrefix + key)
	}
	return counts
}

// forget lets a count begin anew.
func (s *Shelf) forget(ctx context.Context, key string) {
	s.memory.take(countPrefix + key)
	s.try(ctx, func(ctx context.Context) error { return s.redis.Del(ctx, countPrefix+key).Err() })
}

// put keeps a text for a while.
func (s *Shelf) put(ctx context.Context, key, text string, within time.Duration) {
	kept := s.try(ctx, func(ctx context.Context) error {
		return s.redis.Set(ctx, captchaPrefix+key, text, within).Err()
	})
	if !kept {
		s.memory.put(captchaPrefix+key, text, within)
	}
}

// take answers a text that is kept, to one caller.
func (s *Shelf) take(ctx context.Context, key string) (text string) {
	s.try(ctx, func(ctx context.Context) (err error) {
		text, err = s.redis.GetDel(ctx, captchaPrefix+key).Result()
		return err
	})
	if text != "" {
		return text
	}
	return s.memory.take(captchaPrefix + key)
}

// memoryKept bounds a memory shelf; about 10 MB.
const memoryKept = 65_536

// memoryShelf is the shelf of one node. What is on it for too long is forgotten when room is needed.
type memoryShelf struct {
	mu    sync.Mutex
	items map[string]*memoryItem
}

type memoryItem struct {
	text  string
	count int64
	until time.Time
}

func (m *memoryShelf) count(key string, within time.Duration) int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	item := m.live(key)
	if item == nil {
		item = m.add(key, within)
	}
	item.count++
	return item.count
}

func (m *memoryShelf) read(key string) int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	if item := m.live(key); item != nil {
		return item.count
	}
	return 0
}

func (m *memoryShelf) put(key, text string, within time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.add(key, within).text = text
}

func (m *memoryShelf) take(key string) (text string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if item := m.live(key); item != nil {
		text = item.text
	}
	delete(m.items, key)
	return text
}

func (m *memoryShelf) live(key string) *memoryItem {
	if item := m.items[key]; item != nil && time.Now().Before(item.until) {
		return item
	}
	return nil
}

func (m *memoryShelf) add(key string, within time.Duration) *memoryItem {
	if m.items == nil {
		m.items = make(map[string]*memoryItem)
	}
	if len(m.items) >= memoryKept {
		m.shrink()
	}
	item := &memoryItem{until: time.Now().Add(within)}
	m.items[key] = item
	return item
}

// shrink forgets what has ended and, under a flood, anything else until half is left.
func (m *memoryShelf) shrink() {
	for key := range m.items {
		if m.live(key) == nil {
			delete(m.items, key)
		}
	}
	for key := range m.items {
		if len(m.items) <= memoryKept/2 {
			return
		}
		delete(m.items, key)
	}
}
