package app

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// Gatherer brings units to the portion of a buyer that has too few, while others have some, and says when none has any:
// it is asked before anybody hears that a spread sale is sold out.
//
//	too few at home ── some elsewhere ──▶ move to here ──▶ try again
//	       └── nothing anywhere: all were read between two looks at the moves, and none was under way ──▶ sold out
//
// Callers for the same portion share one turn; the next one begins after they have asked.
type Gatherer struct {
	Mover     *Mover
	Inventory Inventory
	Ensure    func(ctx context.Context, sale ID) error // loads what was never in Redis

	mu    sync.Mutex
	busy  map[gathering]*gatherQueue
	turns sync.WaitGroup
}

// gathering is what callers share.
type gathering struct {
	home ID
	qty  int64
}

// gatherQueue is there while a turn is under way.
type gatherQueue struct {
	next *gathered // for who has come since it began; nil: nobody has
}

type gathered struct {
	done  chan struct{}
	empty bool
	err   error
}

const (
	// gatherWithin is how long a buyer waits for units to come from other portions, before the answer is busy.
	gatherWithin = 1500 * time.Millisecond
	// gatherTries bounds one turn: others may take what was moved, or move it on.
	gatherTries = 50
	// gatherPause lets units rest, and others finish.
	gatherPause = 20 * time.Millisecond
)

// errScattered means that units were about, but none stayed: who asked tries again.
var errScattered = fmt.Errorf("%w: units are on their way between portions", ErrTransient)

// Gather returns when home may have as many units, or when all portions together have fewer (empty). Any error means
// that nobody knows.
func (g *Gatherer) Gather(ctx context.Context, sale *Sale, home SaleRef, qty int64) (empty bool, err error) {
	turn := g.join(ctx, sale, home, gathering{home.ID, qty})
	select {
	case <-turn.done:
		return turn.empty, turn.err
	case <-ctx.Done():
		return false, fmt.Errorf("%w: wait for units: %w", ErrTransient, ctx.Err())
	}
}

// Close waits until no turn is under way.
func (g *Gatherer) Close() { g.turns.Wait() }

// join waits for a turn that has not begun yet: what one has read before somebody asked says nothing to them.
func (g *Gatherer) join(ctx context.Context, sale *Sale, home SaleRef, key gathering) *gathered {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.busy == nil {
		g.busy = make(map[gathering]*gatherQueue)
	}
	q := g.busy[key]
	if q == nil {
		q = &gatherQueue{}
		g.busy[key] = q
		g.turns.Go(func() { g.run(context.WithoutCancel(ctx), sale, home, key, q) })
	}
	if q.next == nil {
		q.next = &gathered{done: make(chan struct{})}
	}
	return q.next
}

// run takes turns until nobody waits for one.
func (g *Gatherer) run(ctx context.Context, sale *Sale, home SaleRef, key gathering, q *gatherQueue) {
	for {
		g.mu.Lock()
		turn := q.next
		q.next = nil
		if turn == nil {
			delete(g.busy, key)
			g.mu.Unlock()
			return
		}
		g.mu.Unlock()
		within, cancel := context.WithTimeout(ctx, gatherWithin)
		turn.empty, turn.err = g.turn(within, sale, home, key.qty)
		cancel()
		close(turn.done)
	}
}

func (g *Gatherer) turn(ctx context.Context, sale *Sale, home SaleRef, qty int64) (empty bool, err error) {
	for range gatherTries {
		arrived, empty, err := g.step(ctx, sale, home, qty)
		if err != nil || arrived || empty {
			return empty, err
		}
		if !Sleep(ctx, gatherPause) {
			break
		}
	}
	return false, errScattered
}

// All brings as many units home as it can, all of them if there are fewer.
func (g *Gatherer) All(ctx context.Context, sale *Sale, home SaleRef, units int64) error {
	ctx, cancel := context.WithTimeout(ctx, gatherWithin)
	defer cancel()
	for {
		look, err := g.look(ctx, sale, home)
		if err != nil {
			return err
		}
		if !look.loaded || look.here >= units || look.here == look.sum {
			return nil
		}
		if _, err := g.Mover.Move(ctx, sale.ID, look.richest, home, units-look.here); err != nil {
			return err
		}
		if ctx.Err() != nil {
			return errScattered
		}
	}
}

// look is what the portions have, read one after the other.
type look struct {
	loaded    bool // all of them
	here, sum int64
	most      int64 // of the richest other one
	richest   SaleRef
}

func (g *Gatherer) look(ctx context.Context, sale *Sale, home SaleRef) (l look, err error) {
	refs := sale.Refs()
	counters, err := g.Inventory.Counters(ctx, refs)
	if err != nil {
		return l, fmt.Errorf("read the portions of sale %s: %w", sale.ID, err)
	}
	l.loaded = true
	for i, c := range counters {
		if !c.Loaded {
			l.loaded = false
			return l, g.Ensure(ctx, c.Sale)
		}
		l.sum += c.Stock
		switch {
		case c.Sale == home.ID:
			l.here = c.Stock
		case c.Stock > l.most:
			l.most, l.richest = c.Stock, refs[i]
		}
	}
	return l, nil
}

// step looks once, and moves once.
func (g *Gatherer) step(
	ctx context.Context, sale *Sale, home SaleRef, qty int64,
) (arrived, empty bool, err error) {
	before, err := g.move(ctx, sale)
	if err != nil {
		return false, false, err
	}
	look, err := g.look(ctx, sale, home)
	switch {
	case err != nil || !look.loaded:
		return false, false, err
	case look.here >= qty:
		return true, false, nil
	case look.sum < qty:
		after, err := g.move(ctx, sale)
		if err == nil && !before.settledLike(after) {
			_, err = g.Mover.finish(ctx, after)
			return false, false, err
		}
		return false, err == nil, err
	}
	// Half of the difference, so that neither has to ask again soon; but as many as are asked for, if they are there.
	units := max(qty-look.here, (look.most-look.here)/2)
	moved, err := g.Mover.Move(ctx, sale.ID, look.richest, home, units)
	return err == nil && look.here+moved >= qty, false, err
}

func (g *Gatherer) move(ctx context.Context, sale *Sale) (Move, error) {
	m, err := g.Mover.Store.Move(ctx, sale.ID)
	if err != nil {
		return m, fmt.Errorf("read the moves of sale %s: %w", sale.ID, err)
	}
	return m, nil
}

// Hold takes units for an order that exists (see Inventory.Hold), after bringing them to its portion if they are
// elsewhere. A nil Gatherer holds what is there.
func (g *Gatherer) Hold(
	ctx context.Context, inventory Inventory, sales SaleStore, h HoldRequest, of ID,
) (Verdict, error) {
	verdict, err := inventory.Hold(ctx, h)
	if g == nil || err != nil || verdict != VerdictSoldOut {
		return verdict, err
	}
	sale, err := sales.Sale(ctx, of)
	if err != nil || !sale.Spread() {
		return verdict, err
	}
	empty, err := g.Gather(ctx, &sale, h.Sale, int64(h.Qty))
	if err != nil || empty {
		return verdict, err
	}
	if verdict, err = inventory.Hold(ctx, h); err == nil && verdict == VerdictSoldOut {
		err = errScattered
	}
	return verdict, err
}
