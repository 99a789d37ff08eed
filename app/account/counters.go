package account

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
	"golang.org/x/time/rate"
)

// Keys of counters and short-lived strings in Redis, shared by all nodes. While Redis is unreachable, each node uses
// counters in its own memory.
//
//	stampede:{login}:<kind>:<subject>   string  a count of failures or e-mails, with a TTL
//	stampede:{captcha}:<id>             string  hash of the solution of a picture, with a TTL; deleted when read
const (
	countPrefix   = "stampede:{login}:"
	captchaPrefix = "stampede:{captcha}:"
)

// Counters stores counters and short-lived strings in Redis. While Redis is unreachable, Counters stores them in the
// memory of this node.
type Counters struct {
	redis   redis.UniversalClient // nil: memory only
	memory  memoryCounters
	warning rate.Sometimes
}

// NewCounters returns counters in Redis; if client is nil, they are only in memory.
func NewCounters(client redis.UniversalClient) *Counters {
	return &Counters{redis: client, warning: rate.Sometimes{Interval: time.Minute}}
}

// countersTimeout is the timeout of a call to Redis. It is short, because a user waits for the result.
const countersTimeout = 500 * time.Millisecond

// try runs a call on Redis and reports whether it succeeded.
func (c *Counters) try(ctx context.Context, call func(ctx context.Context) error) bool {
	if c.redis == nil {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, countersTimeout)
	defer cancel()
	err := call(ctx)
	if err == nil || errors.Is(err, redis.Nil) {
		return true
	}
	c.warning.Do(func() {
		slog.WarnContext(ctx, "Redis is unreachable: this node keeps login counters and captchas in its own memory", "err", err)
	})
	return false
}

// increment increments counters and returns their new values. A counter expires ttl after its first increment.
// While Redis works, the values do not contain earlier increments in memory.
func (c *Counters) increment(ctx context.Context, ttl time.Duration, keys ...string) []int64 {
	counts := make([]int64, len(keys))
	succeeded := c.try(ctx, func(ctx context.Context) error {
		cmds := make([]*redis.IntCmd, len(keys))
		_, err := c.redis.TxPipelined(ctx, func(p redis.Pipeliner) error {
			for i, key := range keys {
				cmds[i] = p.Incr(ctx, countPrefix+key)
				// INCR and EXPIRE run in one transaction, so that a crash between them cannot leave a counter without
				// a TTL.
				p.ExpireNX(ctx, countPrefix+key, ttl)
			}
			return nil
		})
		for i, cmd := range cmds {
			counts[i] = cmd.Val()
		}
		return err
	})
	if !succeeded {
		for i, key := range keys {
			counts[i] = c.memory.increment(countPrefix+key, ttl)
		}
	}
	return counts
}

// read returns the values of counters. It adds the counts in the memory of this node, which were counted while Redis
// rejected writes.
func (c *Counters) read(ctx context.Context, keys ...string) []int64 {
	counts := make([]int64, len(keys))
	c.try(ctx, func(ctx context.Context) error {
		cmds := make([]*redis.StringCmd, len(keys))
		_, err := c.redis.Pipelined(ctx, func(p redis.Pipeliner) error {
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
		counts[i] += c.memory.read(countPrefix + key)
	}
	return counts
}

// reset deletes a counter.
func (c *Counters) reset(ctx context.Context, key string) {
	c.memory.remove(countPrefix + key)
	c.try(ctx, func(ctx context.Context) error { return c.redis.Del(ctx, countPrefix+key).Err() })
}

// putCaptcha stores the hash of a captcha's solution for the given time.
func (c *Counters) putCaptcha(ctx context.Context, key, text string, ttl time.Duration) {
	stored := c.try(ctx, func(ctx context.Context) error {
		return c.redis.Set(ctx, captchaPrefix+key, text, ttl).Err()
	})
	if !stored {
		c.memory.put(captchaPrefix+key, text, ttl)
	}
}

// takeCaptcha returns and deletes the hash of a captcha's solution.
func (c *Counters) takeCaptcha(ctx context.Context, key string) (text string) {
	c.try(ctx, func(ctx context.Context) (err error) {
		text, err = c.redis.GetDel(ctx, captchaPrefix+key).Result()
		return err
	})
	if text != "" {
		return text
	}
	return c.memory.take(captchaPrefix + key)
}

// maxMemoryItems is the maximum number of entries in memory, about 10 MB.
const maxMemoryItems = 65_536

// memoryCounters contains the counters and strings in the memory of one node. It drops expired entries only when it is
// full.
type memoryCounters struct {
	mu    sync.Mutex
	items map[string]*memoryItem
}

type memoryItem struct {
	text  string
	count int64
	until time.Time
}

func (m *memoryCounters) increment(key string, ttl time.Duration) int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	item := m.unexpired(key)
	if item == nil {
		item = m.add(key, ttl)
	}
	item.count++
	return item.count
}

func (m *memoryCounters) read(key string) int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	if item := m.unexpired(key); item != nil {
		return item.count
	}
	return 0
}

func (m *memoryCounters) put(key, text string, ttl time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.add(key, ttl).text = text
}

func (m *memoryCounters) take(key string) (text string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if item := m.unexpired(key); item != nil {
		text = item.text
	}
	delete(m.items, key)
	return text
}

func (m *memoryCounters) remove(key string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.items, key)
}

func (m *memoryCounters) unexpired(key string) *memoryItem {
	if item := m.items[key]; item != nil && time.Now().Before(item.until) {
		return item
	}
	return nil
}

func (m *memoryCounters) add(key string, ttl time.Duration) *memoryItem {
	if m.items == nil {
		m.items = make(map[string]*memoryItem)
	}
	if len(m.items) >= maxMemoryItems {
		m.shrink()
	}
	item := &memoryItem{until: time.Now().Add(ttl)}
	m.items[key] = item
	return item
}

// shrink drops expired entries, and then arbitrary entries until at most half of the maximum is left.
func (m *memoryCounters) shrink() {
	maps.DeleteFunc(m.items, func(key string, _ *memoryItem) bool { return m.unexpired(key) == nil })
	for key := range m.items {
		if len(m.items) <= maxMemoryItems/2 {
			return
		}
		delete(m.items, key)
	}
}
