package streams

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"stampede/app"
)

// holdsPage is how many holds a step of a scan reads, about.
const holdsPage = 1000

// Create writes a sale that was never loaded, unarmed; an existing one is left as it is (I7). The orders of the
// state are not looked at: what was never loaded has none.
func (l *Inventory) Create(ctx context.Context, epoch int64, s app.SaleState) error {
	args := append([]any{epoch, s.Sale.Version}, saleFields(s)...)
	_, err := l.run(ctx, createScript, s.Sale.Partition, saleKeys(s.Sale.ID), args...)
	return err
}

// saleFields are the field, value pairs of a sale hash, unarmed.
func saleFields(s app.SaleState) []any {
	fields := []any{
		"price", s.Sale.PriceFen, "version", s.Sale.Version,
		"opens", int64(s.Sale.OpensAt), "closes", int64(s.Sale.ClosesAt), "limit", s.Sale.Limit, "cap", s.Sale.Cap,
		"initial", s.Sale.Initial, "added", s.Sale.Added,
		"stock", s.Stock, "held", s.Held, "sold", s.Sold, "withdrawn", s.Withdrawn, "burnt", 0,
		"tickets", s.Tickets, "done", s.Tickets, "paused", s.Sale.Paused, "armed", 0, "rest_until", 0, "moves", 0,
	}
	if s.Stuck != "" {
		fields = append(fields, "stuck", s.Stuck)
	}
	for _, a := range s.Acts { // settled: a late call of take_out finds that it was decided
		fields = append(fields, outField+strconv.FormatInt(a.ID, 10), a.Taken)
	}
	return fields
}

// outField begins the fields of a sale hash that say what withdrawals of operators have taken, by their numbers.
const outField = "out:"

// Arm lets an existing sale sell. ErrLost: there is no such sale in Redis.
func (l *Inventory) Arm(ctx context.Context, epoch int64, sale app.SaleRef) error {
	_, err := l.run(ctx, armScript, sale.Partition, saleKeys(sale.ID), epoch)
	return err
}

// Retire deletes the keys of a closed sale of which nothing is left; false when something is.
func (l *Inventory) Retire(ctx context.Context, sale app.SaleRef) (bool, error) {
	keys := func(k *partitionKeys) []string { return append(saleKeys(sale.ID)(k), k.watching(sale.ID)) }
	reply, err := l.run(ctx, retireScript, sale.Partition, keys, l.Epoch(sale.Partition))
	return err == nil && integer(reply[0]) == codeDone, err
}

// Audit reads a sale in one script: its numbers, its buyers and its open holds in one instant.
func (l *Inventory) Audit(ctx context.Context, sale app.SaleRef) (app.SaleAudit, error) {
	k, err := l.keys(sale.Partition)
	if err != nil {
		return app.SaleAudit{}, err
	}
	reply, err := auditScript.run(ctx, l.client, []string{k.sale(sale.ID), k.buyers(sale.ID), k.open(sale.ID)})
	if err != nil {
		return app.SaleAudit{}, err
	}
	hash, buyers, open := fieldsOf(list(reply[0])), list(reply[1]), list(reply[2])
	values := make([]any, len(counterFields))
	for i, f := range counterFields {
		values[i] = hash[f]
	}
	seen := app.SaleAudit{
		Counters: counters(sale.ID, values), Burnt: number(text(hash["burnt"])),
		Units: make(map[app.ID]int64, len(buyers)/2), Out: make(map[int64]int64),
	}
	for name, value := range hash {
		if act, is := strings.CutPrefix(name, outField); is {
			seen.Out[number(act)] = number(text(value))
		}
	}
	for i := 0; i+1 < len(buyers); i += 2 {
		user, err := app.ParseID(text(buyers[i]))
		if err != nil {
			return app.SaleAudit{}, fmt.Errorf("%w: buyer: %w", app.ErrPermanent, err)
		}
		units, _, _ := strings.Cut(text(buyers[i+1]), "|")
		seen.Units[user] = number(units)
	}
	for i := 0; i+1 < len(open); i += 2 {
		hold, err := parseHold(text(open[i]), text(open[i+1]))
		if err != nil {
			return app.SaleAudit{}, err
		}
		seen.Holds = append(seen.Holds, hold)
	}
	return seen, nil
}

// Holds walks through the open holds of a sale; the next cursor is 0 at the end.
func (l *Inventory) Holds(ctx context.Context, sale app.SaleRef, cursor uint64) ([]app.OpenHold, uint64, error) {
	k, err := l.keys(sale.Partition)
	if err != nil {
		return nil, 0, err
	}
	pairs, next, err := l.client.HScan(ctx, k.open(sale.ID), cursor, "", holdsPage).Result()
	if err != nil {
		return nil, 0, fmt.Errorf("scan holds of sale %s: %w", sale.ID, transient(err))
	}
	holds := make([]app.OpenHold, 0, len(pairs)/2)
	for i := 0; i+1 < len(pairs); i += 2 {
		hold, err := parseHold(pairs[i], pairs[i+1])
		if err != nil {
			return nil, 0, err
		}
		holds = append(holds, hold)
	}
	return holds, next, nil
}

// parseHold reads a field of a sale's open hash: order → hold:qty, see lua/hold_of.lua.
func parseHold(order, value string) (app.OpenHold, error) {
	value, sold := strings.CutSuffix(value, soldMark)
	parts := strings.Split(value, ":")
	id, err := app.ParseID(order)
	if err != nil || len(parts) != 2 {
		return app.OpenHold{}, fmt.Errorf("%w: hold %q of order %q", app.ErrPermanent, value, order)
	}
	return app.OpenHold{Order: id, Hold: number(parts[0]), Qty: int(number(parts[1])), Sold: sold}, nil
}

// number reads a decimal that a script of this package has written; anything else is 0.
func number(s string) int64 {
	n, _ := strconv.ParseInt(s, 10, 64)
	return n
}
