package account

import (
	"context"
	"sync"
	"time"

	"stampede/app"
)

// budget bounds how much of a core something dear takes: a bucket of processor time that fills by itself and is paid
// from afterwards, with what was measured. Work is done while the bucket is not below zero.
type budget struct {
	share float64       // of a core
	most  time.Duration // that is saved up
	now   func() time.Time

	mu    sync.Mutex
	level time.Duration
	at    time.Time
}

func newBudget(share float64, most time.Duration, now func() time.Time) *budget {
	return &budget{share: share, most: most, now: now, level: most, at: now()}
}

// wait is how long until there is something in the bucket.
func (b *budget) wait() time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.fill()
	if b.level >= 0 {
		return 0
	}
	return time.Duration(float64(-b.level)/b.share) + time.Millisecond
}

// left is what is in the bucket; below zero nothing may be done.
func (b *budget) left() time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.fill()
	return b.level
}

// pay takes out what was used.
func (b *budget) pay(used time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.fill()
	b.level -= used
}

// fill adds what has come since. Callers hold mu.
func (b *budget) fill() {
	now := b.now()
	b.level = min(b.most, b.level+time.Duration(float64(now.Sub(b.at))*b.share))
	b.at = now
}

// spend does the work when its turn has come, which it waits for, and pays for it. It takes one core at a time from a
// caller that has the turn; what the work took by the clock counts, so that a machine with nothing to spare does less.
func (b *budget) spend(ctx context.Context, work func()) error {
	for pause := b.wait(); pause > 0; pause = b.wait() {
		if !app.Sleep(ctx, pause) {
			return ctx.Err()
		}
	}
	began := b.now()
	work()
	b.pay(b.now().Sub(began))
	return nil
}
