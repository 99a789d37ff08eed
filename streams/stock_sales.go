package streams

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"stampede/app/shop"
)

// holdsPage is the approximate number of holds per step of a scan.
const holdsPage = 1000

// Create writes a sale that was never loaded. The new sale is unarmed and has no orders. An existing sale does not
// change (I7), unless it is unarmed and has an older version.
func (s Stock) Create(ctx context.Context, epoch int64, state shop.SaleState) error {
	args := append([]any{epoch, state.Sale.Version}, saleFields(state)...)
	_, err := s.run(ctx, createScript, state.Sale.Partition, saleKeys(state.Sale.ID), args...)
	return err
}

// saleFields returns the field, value pairs of an unarmed sale hash.
func saleFields(s shop.SaleState) []any {
	fields := []any{
		"price", s.Sale.PriceFen, "version", s.Sale.Version,
		"opens", int64(s.Sale.OpensAt), "closes", int64(s.Sale.ClosesAt), "limit", s.Sale.Limit, "cap", s.Sale.Cap,
		"initial", s.Sale.Initial, "added", s.Sale.Added,
		"stock", s.Stock, "held", s.Held, "sold", s.Sold, "withdrawn", s.Withdrawn, "burnt", 0,
		"tickets", s.Tickets, "done", s.Tickets, "paused", s.Sale.Paused, "armed", 0, "rest_until", 0, "moves", 0,
	}
	if s.BlockedReason != "" {
		fields = append(fields, "stuck", s.BlockedReason)
	}
	for _, a := range s.Withdrawals { // settled: a late call of take_out finds the decision
		fields = append(fields, outField+strconv.FormatInt(a.ID, 10), a.Taken)
	}
	return fields
}

// outField is the prefix of a sale's fields with the units that withdrawals have taken, by operation id.
const outField = "out:"

// Arm allows an existing sale to sell. ErrLost: it is not in Redis.
func (s Stock) Arm(ctx context.Context, epoch int64, sale shop.SaleRef) error {
	_, err := s.run(ctx, armScript, sale.Partition, saleKeys(sale.ID), epoch)
	return err
}

// Retire deletes the keys of a closed sale; false: it is open, has holds or has unsettled tickets.
func (s Stock) Retire(ctx context.Context, sale shop.SaleRef) (bool, error) {
	keys := func(k *partitionKeys) []string { return append(saleKeys(sale.ID)(k), k.watching(sale.ID)) }
	reply, err := s.run(ctx, retireScript, sale.Partition, keys, s.Epoch(sale.Partition))
	return err == nil && integer(reply[0]) == codeDone, err
}

// Audit reads a sale's numbers, buyers and open holds at one instant.
func (s Stock) Audit(ctx context.Context, sale shop.SaleRef) (shop.SaleAudit, error) {
	k, err := s.keys(sale.Partition)
	if err != nil {
		return shop.SaleAudit{}, err
	}
	reply, err := auditScript.run(ctx, s.client, []string{k.sale(sale.ID), k.buyers(sale.ID), k.open(sale.ID)})
	if err != nil {
		return shop.SaleAudit{}, err
	}
	hash, buyers, open := fieldsOf(list(reply[0])), list(reply[1]), list(reply[2])
	values := make([]any, len(counterFields))
	for i, f := range counterFields {
		values[i] = hash[f]
	}
	audit := shop.SaleAudit{
		Counters: counters(sale.ID, values), Burnt: number(text(hash["burnt"])),
		Units: make(map[shop.ID]int64, len(buyers)/2), WithdrawnUnits: make(map[int64]int64),
	}
	for name, value := range hash {
		if operation, isWithdrawal := strings.CutPrefix(name, outField); isWithdrawal {
			audit.WithdrawnUnits[number(operation)] = number(text(value))
		}
	}
	for i := 0; i+1 < len(buyers); i += 2 {
		user, err := shop.ParseID(text(buyers[i]))
		if err != nil {
			return shop.SaleAudit{}, fmt.Errorf("%w: buyer: %w", shop.ErrPermanent, err)
		}
		units, _, _ := strings.Cut(text(buyers[i+1]), "|")
		audit.Units[user] = number(units)
	}
	for i := 0; i+1 < len(open); i += 2 {
		hold, err := parseHold(text(open[i]), text(open[i+1]))
		if err != nil {
			return shop.SaleAudit{}, err
		}
		audit.Holds = append(audit.Holds, hold)
	}
	return audit, nil
}

// Holds scans the open holds of a sale. The next cursor is 0 at the end.
func (s Stock) Holds(ctx context.Context, sale shop.SaleRef, cursor uint64) ([]shop.OpenHold, uint64, error) {
	k, err := s.keys(sale.Partition)
	if err != nil {
		return nil, 0, err
	}
	pairs, next, err := s.client.HScan(ctx, k.open(sale.ID), cursor, "", holdsPage).Result()
	if err != nil {
		return nil, 0, fmt.Errorf("scan holds of sale %s: %w", sale.ID, transient(err))
	}
	holds := make([]shop.OpenHold, 0, len(pairs)/2)
	for i := 0; i+1 < len(pairs); i += 2 {
		hold, err := parseHold(pairs[i], pairs[i+1])
		if err != nil {
			return nil, 0, err
		}
		holds = append(holds, hold)
	}
	return holds, next, nil
}

// parseHold parses a field of a sale's open hash: order → hold:qty, see lua/hold_of.lua.
func parseHold(order, value string) (shop.OpenHold, error) {
	value, sold := strings.CutSuffix(value, soldMark)
	parts := strings.Split(value, ":")
	id, err := shop.ParseID(order)
	if err != nil || len(parts) != 2 {
		return shop.OpenHold{}, fmt.Errorf("%w: hold %q of order %q", shop.ErrPermanent, value, order)
	}
	return shop.OpenHold{Order: id, Hold: number(parts[0]), Qty: int(number(parts[1])), Sold: sold}, nil
}

// number parses a decimal that a script has written; anything else is 0.
func number(s string) int64 {
	n, _ := strconv.ParseInt(s, 10, 64)
	return n
}

// SetTerms sets price, limits, window, pause and added units, unless Redis has a newer version. ErrLost: the sale is
// not in Redis.
func (s Stock) SetTerms(ctx context.Context, sale *shop.Sale) error {
	epoch := s.Epoch(sale.Partition)
	reply, err := s.run(ctx, termsScript, sale.Partition, saleKeys(sale.ID), epoch, sale.Version, sale.PriceFen,
		sale.Limit, sale.Cap, int64(sale.OpensAt), int64(sale.ClosesAt), sale.Paused, sale.Added,
		returnCooldown.Milliseconds())
	if err != nil {
		return wrapped(err, "set the terms of sale %s", sale.ID)
	}
	s.sawChanges(sale.Partition, epoch, reply)
	return nil
}

// Terms reads the current terms of a sale: those that SetTerms sets, and the initial units. ErrLost: it is not in
// Redis.
func (s Stock) Terms(ctx context.Context, sale shop.SaleRef) (shop.SaleTerms, error) {
	terms := shop.SaleTerms{ID: sale.ID}
	k, err := s.keys(sale.Partition)
	if err != nil {
		return terms, err
	}
	values, err := s.client.HMGet(ctx, k.sale(sale.ID), "version", "price", "limit", "cap", "opens", "closes", "paused",
		"initial", "added").Result()
	if err != nil {
		return terms, fmt.Errorf("read the terms of sale %s: %w", sale.ID, transient(err))
	}
	if values[0] == nil {
		return terms, fmt.Errorf("%w: sale %s is not in Redis", shop.ErrLost, sale.ID)
	}
	n := func(i int) int64 { return number(text(values[i])) }
	terms.Version, terms.PriceFen, terms.Limit, terms.Cap = n(0), n(1), int(n(2)), int(n(3))
	terms.OpensAt, terms.ClosesAt, terms.Paused = shop.Millis(n(4)), shop.Millis(n(5)), n(6) == 1
	terms.Initial, terms.Added = n(7), n(8)
	return terms, nil
}

// WithdrawUnits takes free units, at most the given number, once per operation. A repeated call returns the number
// taken before. epoch is the epoch of that decision. ErrLost: the sale is not in Redis.
func (s Stock) WithdrawUnits(
	ctx context.Context, sale shop.SaleRef, operation, units int64,
) (taken, epoch int64, err error) {
	if _, err := s.keys(sale.Partition); err != nil {
		return 0, 0, err
	}
	epoch = s.Epoch(sale.Partition) // read once: the script decides under the epoch that is returned
	reply, err := s.run(ctx, takeOutScript, sale.Partition, saleKeys(sale.ID), epoch, operation, units)
	if err != nil {
		return 0, 0, fmt.Errorf("take units out of sale %s: %w", sale.ID, err)
	}
	s.sawChanges(sale.Partition, epoch, reply)
	return integer(reply[2]), epoch, nil
}
