package app

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Balancer is the duty that keeps the portions of open spread sales alike, so that few buyers meet an empty one, and
// that finishes moves which a crash has left. Any number of nodes may do it: a sale has one move at a time.
type Balancer struct {
	Catalogue *Catalogue
	Inventory Inventory
	Mover     *Mover
	Clock     *Clock
}

const (
	balanceEvery = time.Second
	// balanceLeast is how many units a move must be worth for the duty; fewer are moved for who asks (Gatherer).
	balanceLeast = 8
)

// Run balances until ctx ends.
func (b *Balancer) Run(ctx context.Context) error {
	return Repeat(ctx, balanceEvery, "balance portions", b.RunOnce)
}

// RunOnce finishes what was left, and makes one move in each sale that needs it.
func (b *Balancer) RunOnce(ctx context.Context) error {
	failed := []error{b.Mover.FinishAll(ctx)}
	now := b.Clock.Now()
	slots, err := b.Catalogue.Today(ctx, now)
	if err != nil {
		return errors.Join(append(failed, err)...)
	}
	for _, slot := range slots {
		if slot.Phase != Open {
			continue
		}
		sales, err := b.Catalogue.SalesOfSlot(ctx, slot.ID)
		failed = append(failed, err)
		for _, s := range sales {
			if s.Spread() && PhaseAt(now, s.OpensAt, s.ClosesAt) == Open {
				failed = append(failed, b.balance(ctx, s))
			}
		}
	}
	return errors.Join(failed...)
}

// balance moves half of the difference between the richest portion and the poorest, if that has less than half of the
// average.
func (b *Balancer) balance(ctx context.Context, s *Sale) error {
	refs := s.Refs()
	counters, err := b.Inventory.Counters(ctx, refs)
	if err != nil {
		return fmt.Errorf("read the portions of sale %s: %w", s.ID, err)
	}
	richest, poorest, sum := 0, 0, int64(0)
	for i, c := range counters {
		if !c.Loaded {
			return nil
		}
		sum += c.Stock
		if c.Stock > counters[richest].Stock {
			richest = i
		}
		if c.Stock < counters[poorest].Stock {
			poorest = i
		}
	}
	units := (counters[richest].Stock - counters[poorest].Stock) / 2
	if units < balanceLeast || 2*counters[poorest].Stock*int64(len(refs)) >= sum {
		return nil
	}
	_, err = b.Mover.Move(ctx, s.ID, refs[richest], refs[poorest], units)
	return err
}
