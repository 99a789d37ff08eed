//go:build bench

package streams

import (
	"context"
	"fmt"
	"strings"
	"time"

	"stampede/app/shop"
)

// SingleGate is the baseline for benchmarks of the gate, not a part of the program: one script call per buy, on all
// connections of the pool.
type SingleGate struct{ conn *connection }

// NewSingleGate makes the baseline gate.
func NewSingleGate(i *Inventory) *SingleGate { return &SingleGate{i.connection} }

// Reserve decides a buy with a separate call, see order.Gate.
func (g *SingleGate) Reserve(b shop.Buy, until time.Time, callback func(shop.GateResult, error)) {
	go func() {
		ctx, cancel := context.WithDeadline(context.Background(), until)
		defer cancel()
		callback(g.reserve(ctx, b))
	}()
}

func (g *SingleGate) reserve(ctx context.Context, b shop.Buy) (shop.GateResult, error) {
	k, err := g.conn.keys(b.Sale.Partition)
	if err != nil {
		return shop.GateResult{}, err
	}
	keys := []string{k.meta, k.orders, k.waiting, k.sale(b.Sale.ID), k.buyers(b.Sale.ID), k.open(b.Sale.ID)}
	reply, err := reserveScript.run(ctx, g.conn.client, keys, g.conn.Epoch(b.Sale.Partition),
		g.conn.backlog,
		b.Sale.ID.String(), 0, 0, 0, int64(b.Order), int64(b.User), int64(b.Qty), b.Key, b.Hash, b.Address)
	if err != nil {
		return shop.GateResult{}, err
	}
	if code := integer(reply[0]); code != codeDone {
		return shop.GateResult{Verdict: shop.Verdict(code)}, g.conn.rejection(b.Sale.Partition, code)
	}
	d := shop.GateResult{
		Verdict: shop.VerdictReserved, Order: b.Order, Done: integer(reply[1]), Free: integer(reply[2]),
		Ticket: integer(reply[3]),
	}
	if len(reply) == 5 {
		return d, nil
	}
	d.Verdict, d.Ticket = shop.Verdict(integer(reply[6])), 0
	if d.Verdict == shop.VerdictRepeated || d.Verdict == shop.VerdictOtherHash {
		ticket, order, _ := strings.Cut(text(reply[7]), ":")
		if d.Order, err = shop.ParseID(order); err != nil {
			return shop.GateResult{}, fmt.Errorf("%w: stored order of key %s: %w", shop.ErrTransient, b.Key, err)
		}
		d.Ticket = number(ticket)
	}
	return d, nil
}
