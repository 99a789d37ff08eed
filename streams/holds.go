package streams

import (
	"context"
	"fmt"
	"slices"
	"time"

	"stampede/app"
)

// holdsChunk is how many orders one call of return.lua or sell.lua takes: some ten milliseconds of Redis at most.
const holdsChunk = 1000

// Return gives units back. It answers which of them did something: a second return of the same (order, hold) does
// nothing, nor does one for a sale that is not in Redis or for units that are sold.
func (l *Inventory) Return(ctx context.Context, returns []app.Return) ([]bool, error) {
	each := func(i int) (app.SaleRef, []any) {
		r := &returns[i]
		return r.Sale, []any{int64(r.Order), r.Hold, int64(r.User), r.Burn}
	}
	done, err := l.onHolds(ctx, returnScript, len(returns), []any{restAfterEmpty.Milliseconds()}, each)
	if err != nil {
		return nil, fmt.Errorf("return units of %d orders: %w", len(returns), err)
	}
	return done, nil
}

// Sell moves units from held to sold. It answers which of them did something: a second sale of the same (order, hold)
// does nothing, nor does one for a sale that is not in Redis.
func (l *Inventory) Sell(ctx context.Context, sold []app.SoldHold) ([]bool, error) {
	return l.onSold(ctx, sellScript, sold)
}

// Withdraw takes the units of refunded orders out of the sale for good. A repeated call does as little as one of Sell.
func (l *Inventory) Withdraw(ctx context.Context, sold []app.SoldHold) ([]bool, error) {
	return l.onSold(ctx, withdrawScript, sold)
}

func (l *Inventory) onSold(ctx context.Context, s *script, sold []app.SoldHold) ([]bool, error) {
	done, err := l.onHolds(ctx, s, len(sold), nil, func(i int) (app.SaleRef, []any) {
		return sold[i].Sale, []any{int64(sold[i].Order), sold[i].Hold}
	})
	if err != nil {
		return nil, fmt.Errorf("%s units of %d orders: %w", s.name, len(sold), err)
	}
	return done, nil
}

// onHolds runs a script that changes n holds, one call per sale, in one pipeline per server. head is what the script
// wants after the epoch, each what it wants per hold. The answer tells for which of them the script answered 1. A
// partition that cannot be reached keeps the holds of others from nothing; the error names it.
func (l *Inventory) onHolds(
	ctx context.Context, s *script, n int, head []any, each func(i int) (app.SaleRef, []any),
) ([]bool, error) {
	bySale := make(map[app.SaleRef][]int, 1)
	var partitions []int
	for i := range n {
		sale, _ := each(i)
		if _, err := l.keys(sale.Partition); err != nil {
			return nil, err
		}
		if !slices.Contains(partitions, sale.Partition) {
			partitions = append(partitions, sale.Partition)
		}
		bySale[sale] = append(bySale[sale], i)
	}
	type done struct{ at []int } // for which the script answered 1
	groups, err := apart(ctx, l, partitions, askedFor, func(ctx context.Context, some []int) (d done, err error) {
		var calls []call
		var chunks [][]int
		for sale, at := range bySale {
			if !slices.Contains(some, sale.Partition) {
				continue
			}
			k := &l.parts[sale.Partition].keys
			keys := []string{k.meta, k.sale(sale.ID), k.buyers(sale.ID), k.open(sale.ID)}
			for chunk := range slices.Chunk(at, holdsChunk) {
				args := append([]any{l.Epoch(sale.Partition)}, head...)
				for _, i := range chunk {
					_, hold := each(i)
					args = append(args, hold...)
				}
				calls, chunks = append(calls, call{keys, args}), append(chunks, chunk)
			}
		}
		replies, errs := s.runEach(ctx, l.client, calls)
		failed := make(map[int]error)
		for c, reply := range replies {
			sale, _ := each(chunks[c][0])
			if errs[c] != nil {
				failed[sale.Partition] = errs[c]
				continue
			}
			code := integer(reply[0])
			if code == codeNotLoaded {
				continue
			}
			if err := l.turnedAway(sale.Partition, code); err != nil {
				failed[sale.Partition] = err
				continue
			}
			for j, i := range chunks[c] {
				if integer(reply[1+j]) == 1 {
					d.at = append(d.at, i)
				}
			}
		}
		return d, awayUnlessAll(failed, len(failed) == len(some))
	})
	results := make([]bool, n)
	for _, group := range groups {
		for _, i := range group.at {
			results[i] = true
		}
	}
	return results, err
}

// Hold takes units for an existing order. It answers Reserved, Repeated (held under this number before),
// OtherHash (a newer hold is open: this request is late), Limit, SoldOut, Resting (for too long), or why
// the partition cannot tell: NotLoaded, Recovering.
func (l *Inventory) Hold(ctx context.Context, h app.HoldRequest) (app.Verdict, error) {
	k, err := l.keys(h.Sale.Partition)
	if err != nil {
		return 0, err
	}
	keys := []string{k.meta, k.sale(h.Sale.ID), k.buyers(h.Sale.ID), k.open(h.Sale.ID)}
	for rests := 0; ; rests++ {
		reply, err := holdScript.run(ctx, l.client, keys, l.Epoch(h.Sale.Partition), int64(h.Order), int64(h.User),
			h.Hold, h.Qty)
		if err != nil {
			return 0, err
		}
		switch code := integer(reply[0]); code {
		case codeDone:
		case codeNotLoaded, codeRecovering:
			return app.Verdict(code), nil
		default:
			return 0, l.turnedAway(h.Sale.Partition, code)
		}
		verdict := app.Verdict(integer(reply[1]))
		if verdict != app.VerdictCooldown || rests == maxCooldowns {
			return verdict, nil
		}
		if !app.Sleep(ctx, time.Duration(integer(reply[2]))*time.Millisecond) {
			return 0, transient(ctx.Err())
		}
	}
}
