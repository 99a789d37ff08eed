package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"

	"stampede/streams"
)

const (
	firstRestart = 100 * time.Millisecond
	lastRestart  = 10 * time.Second
	// soundAfter is how long a duty must have run for its next failure to count as a first one.
	soundAfter = time.Minute
)

// duties are the goroutines of a node. Each has an owner here, and wait returns only after the last one has ended.
type duties struct {
	ctx context.Context
	wg  sync.WaitGroup
}

// start runs a duty until ctx ends. One that fails, or panics, is started again after a pause: what it left undone
// is done by its next run, or by another node.
func (d *duties) start(name string, run func(ctx context.Context) error) {
	d.wg.Go(func() {
		pause := firstRestart
		for d.ctx.Err() == nil {
			began := time.Now()
			err := safely(d.ctx, run)
			if d.ctx.Err() != nil {
				if err != nil && !errors.Is(err, context.Canceled) {
					slog.Warn("a duty ended badly at the shutdown", "duty", name, "err", err)
				}
				return
			}
			if time.Since(began) > soundAfter {
				pause = firstRestart
			}
			slog.Error("a duty ended; starting it again", "duty", name, "err", err, "pause", pause)
			select {
			case <-d.ctx.Done():
			case <-time.After(pause):
				pause = min(2*pause, lastRestart)
			}
		}
	})
}

func safely(ctx context.Context, run func(ctx context.Context) error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v\n%s", r, debug.Stack())
		}
	}()
	return run(ctx)
}

// startDuties starts what this node does in the background. What every node needs to know comes first; then what
// its roles ask for. Any number of nodes may have the same role.
func (w *works) startDuties(d *duties, c *Config) {
	d.start("node lease", w.lease.Run)
	d.start("memory", giveBack)
	d.start("timetable", w.timetable.Run)
	d.start("partitions", w.rebuild.Run)
	d.start("stale partitions", w.lookAfterStale)
	d.start("told", w.told.Run)
	if w.stores.embedded != nil {
		d.start("embedded Redis", w.stores.embedded.run)
	}
	if c.Roles.API {
		d.start("hub", w.hub.Run)
		d.start("pulse", w.pulse.Run)
		d.start("sold-out flags", w.soldOut.Run)
	}
	if c.Roles.Worker {
		d.start("warm up", w.warmer.Run)
		for p := range c.Partitions {
			for _, consumer := range w.consumers(p) {
				d.start(fmt.Sprintf("consumer %d", p), consumer.Run)
			}
		}
	}
	if c.Roles.Sweeper {
		d.start("reconciler", w.reconciler.Run)
		d.start("trimmer", streams.NewTrimmer(w.ledger).Run)
		d.start("lag keeper", streams.NewLagKeeper(w.ledger).Run)
		for p := range c.Partitions {
			d.start(fmt.Sprintf("sweeper %d", p), streams.NewSweeper(w.ledger, p, w.expirer).Run)
		}
	}
	w.money.start(d, c)
	w.office.start(d, c)
	if w.keeper != nil {
		d.start("schedule", w.keeper.Run)
	}
}
