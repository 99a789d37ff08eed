package streams

import (
	"cmp"
	"context"
	"fmt"

	"github.com/redis/go-redis/v9"

	"stampede/app/shop"
)

// counterFields are the fields of a sale that Counters reads, in the order that counters expects.
var counterFields = []string{
	"stock", "held", "sold", "withdrawn", "initial", "added", "tickets", "done", "paused", "version", "stuck",
}

// counters decodes the values of counterFields; a sale without stock is not in Redis.
func counters(sale shop.ID, values []any) shop.Counters {
	c := shop.Counters{Sale: sale}
	if len(values) != len(counterFields) || values[0] == nil {
		return c
	}
	n := func(i int) int64 { return number(text(values[i])) }
	c.Loaded = true
	c.Stock, c.Held, c.Sold, c.Withdrawn, c.Initial, c.Added = n(0), n(1), n(2), n(3), n(4), n(5)
	c.Tickets, c.Done, c.Paused, c.Version = n(6), n(7), n(8) == 1, n(9)
	c.Stuck = text(values[10])
	c.Paused = c.Paused || c.Stuck != ""
	return c
}

// Counters reads the numbers of the sales, in the given order. With the error PartitionsUnreachable, the results of
// sales in the unreachable partitions have only the sale id. Each partition's epoch is read before the numbers of its
// sales, in one pipeline per server. Watching is read at most once a second per sale.
func (s Stock) Counters(ctx context.Context, sales []shop.SaleRef) ([]shop.Counters, error) {
	if len(sales) == 0 {
		return nil, nil
	}
	at := make(map[int][]int) // partition → indexes of its sales
	var partitions []int
	for i, sale := range sales {
		if _, err := s.keys(sale.Partition); err != nil {
			return nil, err
		}
		if at[sale.Partition] == nil {
			partitions = append(partitions, sale.Partition)
		}
		at[sale.Partition] = append(at[sale.Partition], i)
	}
	type part struct {
		at       []int
		counters []shop.Counters
	}
	parts, err := readPartitions(ctx, s.connection, partitions, tickReplyWait, func(
		ctx context.Context, subset []int,
	) (p part, err error) {
		var refs []shop.SaleRef
		for _, partition := range subset {
			for _, i := range at[partition] {
				p.at, refs = append(p.at, i), append(refs, sales[i])
			}
		}
		p.counters, err = s.countersOf(ctx, refs)
		return p, err
	})
	if err != nil {
		err = fmt.Errorf("read counters of %d sales: %w", len(sales), err)
	}
	if len(parts) == 0 {
		return nil, err
	}
	result := make([]shop.Counters, len(sales))
	for i, sale := range sales {
		result[i].Sale = sale.ID
	}
	for _, p := range parts {
		for j, i := range p.at {
			result[i] = p.counters[j]
		}
	}
	return result, err
}

// countersOf reads the counters of the sales in one pipeline.
func (s Stock) countersOf(ctx context.Context, sales []shop.SaleRef) ([]shop.Counters, error) {
	cmds := make([]*redis.SliceCmd, len(sales))
	epochs := make(map[int]*redis.SliceCmd, min(len(sales), len(s.parts)))
	_, err := s.client.Pipelined(ctx, func(p redis.Pipeliner) error {
		for i, sale := range sales {
			if epochs[sale.Partition] == nil {
				epochs[sale.Partition] = p.HMGet(ctx, s.parts[sale.Partition].keys.meta, "epoch")
			}
			cmds[i] = p.HMGet(ctx, s.parts[sale.Partition].keys.sale(sale.ID), counterFields...)
		}
		return nil
	})
	failed := s.failedReads(sales, cmds, epochs, err)
	if len(failed) == len(epochs) {
		return nil, partialError(failed, true)
	}
	s.readWatching(ctx, sales)
	result := make([]shop.Counters, len(sales))
	for i, sale := range sales {
		result[i].Sale = sale.ID
		if failed[sale.Partition] != nil {
			continue
		}
		result[i] = counters(sale.ID, cmds[i].Val())
		result[i].Epoch = number(text(epochs[sale.Partition].Val()[0]))
		result[i].Watching = s.viewers.of(sale)
	}
	return result, partialError(failed, false)
}

// failedReads returns the partitions with failed reads. err is the error of the pipeline.
func (s Stock) failedReads(
	sales []shop.SaleRef, cmds []*redis.SliceCmd, epochs map[int]*redis.SliceCmd, err error,
) map[int]error {
	if err == nil {
		return nil
	}
	failed := make(map[int]error)
	for i, sale := range sales {
		if err := cmp.Or(epochs[sale.Partition].Err(), cmds[i].Err()); err != nil {
			failed[sale.Partition] = transient(err)
		}
	}
	return failed
}

// markFields are the fields of a HoldsMark: counterFields and two more.
var markFields = append(append([]string{}, counterFields...), "burnt", "moves")

// HoldsMark reads the numbers of a sale and the fields that change with each of its holds, at one instant.
func (s Stock) HoldsMark(ctx context.Context, sale shop.SaleRef) (shop.HoldsMark, error) {
	k, err := s.keys(sale.Partition)
	if err != nil {
		return shop.HoldsMark{}, err
	}
	epoch := s.Epoch(sale.Partition)
	values, err := s.client.HMGet(ctx, k.sale(sale.ID), markFields...).Result()
	if err != nil {
		return shop.HoldsMark{}, fmt.Errorf("read the numbers of sale %s: %w", sale.ID, transient(err))
	}
	n := len(counterFields)
	mark := shop.HoldsMark{
		Counters: counters(sale.ID, values[:n]), Burnt: number(text(values[n])), HoldChanges: number(text(values[n+1])),
	}
	mark.Epoch = epoch
	return mark, nil
}

// Correct sets the counters of a sale to the sums of its holds. It returns false and changes nothing if a hold has
// changed since the mark. ErrPermanent: the figures violate the stock equation.
func (s Stock) Correct(ctx context.Context, sale shop.SaleRef, c shop.Correction) (bool, error) {
	reply, err := s.run(ctx, correctScript, sale.Partition, saleKeys(sale.ID), c.At.Epoch, c.At.Tickets,
		c.At.HoldChanges,
		c.At.Withdrawn, c.Held, c.Sold, c.Stock, returnCooldown.Milliseconds())
	if err != nil {
		return false, fmt.Errorf("correct sale %s: %w", sale.ID, err)
	}
	s.sawChanges(sale.Partition, c.At.Epoch, reply)
	return integer(reply[2]) == 1, nil
}
