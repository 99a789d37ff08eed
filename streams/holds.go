package streams

import (
	"context"
	"fmt"
	"time"

	"stampede/app"
)

// returnChunk is how many orders one call of return.lua takes: some ten milliseconds of Redis at most.
const returnChunk = 1000

// Return gives units back, one script per sale, all in one pipeline. It answers which of them did something:
// a second return of the same (order, hold) does nothing, nor does one for a sale that is not in Redis.
func (l *Ledger) Return(ctx context.Context, returns []app.Return) ([]bool, error) {
	results := make([]bool, len(returns))
	bySale := make(map[app.SaleRef][]int, 1)
	for i := range returns {
		bySale[returns[i].Sale] = append(bySale[returns[i].Sale], i)
	}
	var calls []call
	var chunks [][]int
	for sale, at := range bySale {
		k, err := l.keys(sale.Partition)
		if err != nil {
			return nil, err
		}
		keys := []string{k.meta, k.sale(sale.ID), k.buyers(sale.ID), k.open(sale.ID)}
		for start := 0; start < len(at); start += returnChunk {
			chunk := at[start:min(start+returnChunk, len(at))]
			args := append(make([]any, 0, 2+3*len(chunk)), l.Epoch(sale.Partition), restAfterEmpty.Milliseconds())
			for _, i := range chunk {
				args = append(args, int64(returns[i].Order), returns[i].Hold, returns[i].Burn)
			}
			calls, chunks = append(calls, call{keys, args}), append(chunks, chunk)
		}
	}
	replies, err := returnScript.runAll(ctx, l.client, calls)
	if err != nil {
		return nil, fmt.Errorf("return units of %d orders: %w", len(returns), err)
	}
	for c, reply := range replies {
		code := integer(reply[0])
		if code == codeNotLoaded {
			continue
		}
		if err := l.turnedAway(returns[chunks[c][0]].Sale.Partition, code); err != nil {
			return nil, err
		}
		for j, i := range chunks[c] {
			results[i] = integer(reply[1+j]) == 1
		}
	}
	return results, nil
}

// Hold takes units for an existing order. It answers Reserved, Repeated (held under this number before),
// OtherHash (a newer hold is open: this request is late), Limit, SoldOut, Resting (for too long), or why
// the partition cannot tell: NotLoaded, Rebuild.
func (l *Ledger) Hold(ctx context.Context, h app.HoldRequest) (app.Verdict, error) {
	k, err := l.keys(h.Sale.Partition)
	if err != nil {
		return 0, err
	}
	keys := []string{k.meta, k.sale(h.Sale.ID), k.buyers(h.Sale.ID), k.open(h.Sale.ID)}
	for rests := 0; ; rests++ {
		reply, err := holdScript.run(ctx, l.client, keys, l.Epoch(h.Sale.Partition), int64(h.Order), int64(h.User), h.Hold, h.Qty)
		if err != nil {
			return 0, err
		}
		switch code := integer(reply[0]); code {
		case codeDone:
		case codeNotLoaded, codeRebuilding:
			return app.Verdict(code), nil
		default:
			return 0, l.turnedAway(h.Sale.Partition, code)
		}
		verdict := app.Verdict(integer(reply[1]))
		if verdict != app.VerdictResting || rests == maxRests {
			return verdict, nil
		}
		if !sleep(ctx, time.Duration(integer(reply[2]))*time.Millisecond) {
			return 0, moment(ctx.Err())
		}
	}
}

// sleep waits; false when ctx ended first.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
