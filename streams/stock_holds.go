package streams

import (
	"context"
	"slices"
	"time"

	"stampede/app/shop"
)

// holdsChunk is the maximum number of orders per call of a script on holds: some ten milliseconds of Redis.
const holdsChunk = 1000

// Return gives units back to the stock and returns which holds changed. It does nothing for a hold that was returned
// before, for sold units, and for a sale that is not in Redis. With the error PartitionsUnreachable, holds in the
// unreachable partitions may be unchanged.
func (s Stock) Return(ctx context.Context, returns []shop.Return) ([]bool, error) {
	each := func(i int) (shop.SaleRef, []any) {
		r := &returns[i]
		return r.Sale, []any{int64(r.Order), r.Hold, int64(r.User), r.Burn}
	}
	done, err := s.runOnHolds(ctx, returnScript, len(returns), []any{returnCooldown.Milliseconds()}, each)
	return done, wrapped(err, "return units of %d orders", len(returns))
}

// Sell moves units from held to sold and returns which holds changed. It does nothing for a hold that was sold before,
// and for a sale that is not in Redis. With the error PartitionsUnreachable, holds in the unreachable partitions may be
// unchanged.
func (s Stock) Sell(ctx context.Context, sold []shop.SoldHold) ([]bool, error) {
	return s.runOnSoldHolds(ctx, sellScript, sold)
}

// Withdraw removes units of refunded orders from the sale permanently; they still count to the limit. Otherwise it is
// like Sell.
func (s Stock) Withdraw(ctx context.Context, sold []shop.SoldHold) ([]bool, error) {
	return s.runOnSoldHolds(ctx, withdrawScript, sold)
}

func (s Stock) runOnSoldHolds(ctx context.Context, lua *script, sold []shop.SoldHold) ([]bool, error) {
	done, err := s.runOnHolds(ctx, lua, len(sold), nil, func(i int) (shop.SaleRef, []any) {
		return sold[i].Sale, []any{int64(sold[i].Order), sold[i].Hold}
	})
	return done, wrapped(err, "%s units of %d orders", lua.name, len(sold))
}

// runOnHolds runs a script on n holds, one call per sale and holdsChunk holds, in one pipeline per server. head has the
// common arguments after the epoch; each(i) returns the sale and the arguments of hold i. The result is true for each
// hold for which the script returned 1. An unreachable partition affects only its own holds; the error names it.
func (s Stock) runOnHolds(
	ctx context.Context, lua *script, n int, head []any, each func(i int) (shop.SaleRef, []any),
) ([]bool, error) {
	bySale := make(map[shop.SaleRef][]int, 1)
	var partitions []int
	for i := range n {
		sale, _ := each(i)
		if _, err := s.keys(sale.Partition); err != nil {
			return nil, err
		}
		if !slices.Contains(partitions, sale.Partition) {
			partitions = append(partitions, sale.Partition)
		}
		bySale[sale] = append(bySale[sale], i)
	}
	type done struct{ at []int } // indexes for which the script returned 1
	groups, err := readPartitions(ctx, s.connection, partitions, serverCallTimeout, func(
		ctx context.Context, subset []int,
	) (d done, err error) {
		var calls []call
		var chunks [][]int
		for sale, at := range bySale {
			if !slices.Contains(subset, sale.Partition) {
				continue
			}
			k := &s.parts[sale.Partition].keys
			keys := []string{k.meta, k.sale(sale.ID), k.buyers(sale.ID), k.open(sale.ID)}
			for chunk := range slices.Chunk(at, holdsChunk) {
				args := append([]any{s.Epoch(sale.Partition)}, head...)
				for _, i := range chunk {
					_, hold := each(i)
					args = append(args, hold...)
				}
				calls, chunks = append(calls, call{keys, args}), append(chunks, chunk)
			}
		}
		replies, errs := lua.runEach(ctx, s.client, calls)
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
			if err := s.rejection(sale.Partition, code); err != nil {
				failed[sale.Partition] = err
				continue
			}
			s.sawChanges(sale.Partition, calls[c].args[0].(int64), reply)
			for j, i := range chunks[c] {
				if integer(reply[2+j]) == 1 {
					d.at = append(d.at, i)
				}
			}
		}
		return d, partialError(failed, len(failed) == len(subset))
	})
	results := make([]bool, n)
	for _, group := range groups {
		for _, i := range group.at {
			results[i] = true
		}
	}
	return results, err
}

// Hold takes units for an existing order. It returns VerdictReserved, VerdictRepeated (held under this number before),
// VerdictOtherHash (a newer hold is open: this request is late), VerdictLimit, VerdictSoldOut, VerdictCooldown (still,
// after maxCooldowns waits), VerdictNotLoaded or VerdictRecovering.
func (s Stock) Hold(ctx context.Context, h shop.HoldRequest) (shop.Verdict, error) {
	k, err := s.keys(h.Sale.Partition)
	if err != nil {
		return 0, err
	}
	keys := []string{k.meta, k.sale(h.Sale.ID), k.buyers(h.Sale.ID), k.open(h.Sale.ID)}
	for cooldowns := 0; ; cooldowns++ {
		epoch := s.Epoch(h.Sale.Partition)
		reply, err := holdScript.run(ctx, s.client, keys, epoch, int64(h.Order), int64(h.User), h.Hold, h.Qty)
		if err != nil {
			return 0, err
		}
		switch code := integer(reply[0]); code {
		case codeDone:
		case codeNotLoaded, codeRecovering:
			return shop.Verdict(code), nil
		default:
			return 0, s.rejection(h.Sale.Partition, code)
		}
		s.sawChanges(h.Sale.Partition, epoch, reply)
		verdict := shop.Verdict(integer(reply[2]))
		if verdict != shop.VerdictCooldown || cooldowns == maxCooldowns {
			return verdict, nil
		}
		if !shop.Sleep(ctx, time.Duration(integer(reply[3]))*time.Millisecond) {
			return 0, transient(ctx.Err())
		}
	}
}
