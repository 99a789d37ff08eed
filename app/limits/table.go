package limits

import (
	"hash/maphash"
	"maps"
	"sync"
	"time"
)

const (
	// shards keep processors from waiting for each other; a power of two.
	shards = 16
	// bucketsKept bounds the memory of a table: about 4 MB.
	bucketsKept = 65_536
)

// Table has a token bucket for each key, and forgets those that are full. A nil one lets everything pass. Under a flood
// of keys it forgets others as well: their owners get a full bucket, and memory does not grow.
type Table[K comparable] struct {
	steps steps
	now   func() int64 // nanoseconds of a clock that never goes back
	seed  maphash.Seed
	shard [shards]shard[K]
}

type shard[K comparable] struct {
	mu      sync.Mutex
	buckets map[K]int64
}

// NewTable answers nil for a pace without a limit.
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

// Take takes a token of the key, or answers how long to wait for one.
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
	return t.takeBy(key, now, t.steps)
}

// takeBy is Take for a table whose keys have paces of their own.
func (t *Table[K]) takeBy(key K, now int64, by steps) (wait time.Duration) {
	s := t.of(key)
	s.mu.Lock()
	defer s.mu.Unlock()
	next, wait := by.take(s.buckets[key], now)
	if wait == 0 {
		s.set(key, next, now)
	}
	return wait
}

// GiveBack undoes a Take: what it was for is refused by somebody else.
func (t *Table[K]) GiveBack(key K) {
	if t == nil {
		return
	}
	t.giveBackBy(key, t.steps)
}

func (t *Table[K]) giveBackBy(key K, by steps) {
	s := t.of(key)
	s.mu.Lock()
	defer s.mu.Unlock()
	if bucket, known := s.buckets[key]; known {
		s.buckets[key] = bucket - by.every
	}
}

// Wait is how long Take would refuse now; it takes nothing.
func (t *Table[K]) Wait(key K) time.Duration {
	if t == nil {
		return 0
	}
	s := t.of(key)
	s.mu.Lock()
	defer s.mu.Unlock()
	_, wait := t.steps.take(s.buckets[key], t.now())
	return wait
}

// Hold makes Take refuse for so long.
func (t *Table[K]) Hold(key K, wait time.Duration) {
	now := t.now()
	s := t.of(key)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.set(key, now+t.steps.slack+int64(wait), now)
}

func (t *Table[K]) of(key K) *shard[K] { return &t.shard[maphash.Comparable(t.seed, key)%shards] }

// set stores a bucket. If the shard is at its bound, it forgets buckets that are full again, and, under a flood of
// keys, any others until half are left. Callers hold mu.
func (s *shard[K]) set(key K, bucket, now int64) {
	if _, known := s.buckets[key]; !known && len(s.buckets) >= bucketsKept/shards {
		s.shrink(now)
	}
	s.buckets[key] = bucket
}

func (s *shard[K]) shrink(now int64) {
	maps.DeleteFunc(s.buckets, func(_ K, bucket int64) bool { return bucket <= now })
	for key := range s.buckets {
		if len(s.buckets) <= bucketsKept/shards/2 {
			break
		}
		delete(s.buckets, key)
	}
}

// bucket is a single token bucket whose pace may change while it is used. A nil one lets everything pass.
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

// setPace changes the pace from now on; what was taken stays taken.
func (b *bucket) setPace(p Pace) {
	if b == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.steps = p.steps()
}
