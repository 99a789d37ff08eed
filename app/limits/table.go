package limits

import (
	"hash/maphash"
	"maps"
	"math"
	"slices"
	"sync"
	"time"

	"stampede/app/shop"
)

const (
	shards     = 16     // reduce contention; a power of two
	maxBuckets = 65_536 // per table: about 4 MB
)

// Table has a token bucket for each key and drops full buckets. A nil table admits all calls. Under a flood of keys it
// also drops other buckets, the fullest first. The keys of dropped buckets start with a full bucket again. Memory
// therefore stays bounded.
type Table[K comparable] struct {
	steps steps
	now   func() int64 // nanoseconds of a monotonic clock
	seed  maphash.Seed
	shard [shards]shard[K]
}

type shard[K comparable] struct {
	mu      sync.Mutex
	buckets map[K]int64
}

// NewTable returns nil if the pace sets no limit.
func NewTable[K comparable](p Pace) *Table[K] {
	if p.Rate <= 0 {
		return nil
	}
	t := &Table[K]{steps: p.steps(), now: sinceStart(), seed: maphash.MakeSeed()}
	for i := range t.shard {
		t.shard[i].buckets = make(map[K]int64)
	}
	return t
}

func sinceStart() func() int64 {
	start := time.Now()
	return func() int64 { return int64(time.Since(start)) }
}

// Take takes a token of the key. Without a free token it takes none and returns the wait until the next one.
func (t *Table[K]) Take(key K) (wait time.Duration) {
	if t == nil {
		return 0
	}
	return t.takeAt(key, t.now())
}

func (t *Table[K]) takeAt(key K, now int64) (wait time.Duration) {
	if t == nil {
		return 0
	}
	return t.takeWith(key, now, t.steps)
}

// takeWith is Take with a pace for this key.
func (t *Table[K]) takeWith(key K, now int64, pace steps) (wait time.Duration) {
	s := t.shardOf(key)
	s.mu.Lock()
	defer s.mu.Unlock()
	next, wait := pace.take(s.buckets[key], now)
	if wait == 0 {
		s.set(key, next, now)
	}
	return wait
}

// GiveBack undoes a Take.
func (t *Table[K]) GiveBack(key K) {
	if t != nil {
		t.giveBackWith(key, t.steps)
	}
}

func (t *Table[K]) giveBackWith(key K, pace steps) {
	s := t.shardOf(key)
	s.mu.Lock()
	defer s.mu.Unlock()
	if bucket, known := s.buckets[key]; known {
		s.buckets[key] = bucket - pace.every
	}
}

// Wait returns the wait until Take succeeds for the key; 0: now. It takes no token.
func (t *Table[K]) Wait(key K) time.Duration {
	if t == nil {
		return 0
	}
	s := t.shardOf(key)
	s.mu.Lock()
	defer s.mu.Unlock()
	_, wait := t.steps.take(s.buckets[key], t.now())
	return wait
}

// Hold makes Take reject for the given wait.
func (t *Table[K]) Hold(key K, wait time.Duration) {
	now := t.now()
	s := t.shardOf(key)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.set(key, now+t.steps.slack+int64(wait), now)
}

func (t *Table[K]) shardOf(key K) *shard[K] { return &t.shard[maphash.Comparable(t.seed, key)%shards] }

// set stores a bucket. A full shard first drops full buckets and, under a flood, the fullest until half are left.
// Callers hold mu.
func (s *shard[K]) set(key K, bucket, now int64) {
	if _, known := s.buckets[key]; !known && len(s.buckets) >= maxBuckets/shards {
		s.shrink(now)
	}
	s.buckets[key] = bucket
}

func (s *shard[K]) shrink(now int64) {
	maps.DeleteFunc(s.buckets, func(_ K, bucket int64) bool { return bucket <= now })
	if surplus := len(s.buckets) - maxBuckets/shards/2; surplus > 0 {
		last := slices.Sorted(maps.Values(s.buckets))[surplus-1]
		maps.DeleteFunc(s.buckets, func(_ K, bucket int64) bool { return bucket <= last })
	}
}

// bucket is a single token bucket with a variable pace. A nil bucket admits all calls.
type bucket struct {
	mu    sync.Mutex
	steps steps
	level int64
}

func (b *bucket) takeAt(now int64) (wait time.Duration) {
	if b == nil {
		return 0
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.level, wait = b.steps.take(b.level, now)
	return wait
}

// setPace changes the pace and keeps the taken tokens.
func (b *bucket) setPace(p Pace) {
	if b == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.steps = p.steps()
}

// Pace limits a rate: Burst at once, and after that Rate in each period.
type Pace struct {
	Rate   int // in each period; 0: no limit
	Period time.Duration
	Burst  int
}

// Shared returns the part of the pace for one of the given number of nodes.
func (p Pace) Shared(nodes int) Pace {
	if nodes <= 1 || p.Rate <= 0 {
		return p
	}
	p.Burst = max(1, p.Burst/nodes)
	p.Period *= time.Duration(nodes)
	return p
}

// steps are a pace in nanoseconds. A bucket is one number: the instant at which it is full again (generic cell rate
// algorithm), so a full bucket need not be stored.
type steps struct {
	every int64 // between two tokens
	slack int64 // how far ahead of now a bucket may be when one more token is taken
}

func (p Pace) steps() steps {
	every := max(1, p.Period.Nanoseconds()/int64(p.Rate))
	return steps{every: every, slack: every * int64(max(1, p.Burst)-1)}
}

// take returns the bucket after one token was taken, or the wait until a token can be taken.
func (s steps) take(bucket, now int64) (next int64, wait time.Duration) {
	bucket = max(bucket, now)
	if early := bucket - now - s.slack; early > 0 {
		return bucket, time.Duration(early)
	}
	return bucket + s.every, 0
}

// RateLimitError returns the error for a rejected call; the wait is rounded up to milliseconds.
func RateLimitError(message string, wait time.Duration) *shop.Error {
	e := shop.Fail(shop.RateLimited, message)
	e.RetryMS = int64(math.Ceil(float64(wait) / float64(time.Millisecond)))
	return e
}
