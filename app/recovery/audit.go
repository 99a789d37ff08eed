package recovery

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"stampede/app/shop"
	"stampede/app/store"
	"stampede/streams"
)

const (
	auditTries = 3
	// auditPause is longer than any effect of a committed change takes on a healthy shop (one second, P5).
	auditPause = 2 * time.Second
)

// AuditReport is the result of an audit of one sale.
type AuditReport struct {
	Sale     shop.ID     `json:"sale"`
	Product  string      `json:"product"`
	Redis    AuditColumn `json:"redis"`
	Database AuditColumn `json:"database"`
	Loaded   bool        `json:"loaded"`
	Waiting  int64       `json:"waiting"` // tickets not settled yet; 0: drained
	Failures []string    `json:"failures"`

	found []failure // the failures with their identity
}

// failure is a failed check. Two reads of a sale have found the same failure if check and subject are equal; numbers
// and states in the text may differ.
type failure struct {
	check   string  // format of the text
	subject shop.ID // order or buyer; 0: the sale
	text    string
}

// AuditColumn has the numbers of one store. Initial + Added = Stock + Held + Sold + Withdrawn.
type AuditColumn struct {
	Initial   int64 `json:"initial"`
	Added     int64 `json:"added"`
	Stock     int64 `json:"stock"`
	Held      int64 `json:"held"`
	Sold      int64 `json:"sold"`
	Withdrawn int64 `json:"withdrawn"`
}

// Auditor checks the stock equation. Each store is read at one instant (one Redis script, one MySQL snapshot) and must
// balance exactly. Free units in Redis must not exceed those in MySQL (I2). When no reservation of the sale is in
// progress, the free units of both stores must be equal, except for burnt units and unfinished withdrawals.
type Auditor struct {
	Store *store.Store
	Redis *streams.Inventory
}

// AuditSale audits one sale, see AuditSales.
func (a *Auditor) AuditSale(ctx context.Context, id shop.ID) (AuditReport, error) {
	reports, err := a.AuditSales(ctx, id)
	if err != nil {
		return AuditReport{}, err
	}
	return reports[0], nil
}

// AuditSales audits the sales in the given order. The two stores are read at different instants, so sales with failures
// are read again, together, after auditPause. A failure is reported only if every read has found it. NotFound: no such
// sale.
func (a *Auditor) AuditSales(ctx context.Context, ids ...shop.ID) ([]AuditReport, error) {
	return auditRepeatedly(ctx, ids, a.auditOnce)
}

func auditRepeatedly(
	ctx context.Context, ids []shop.ID, audit func(context.Context, shop.ID) (AuditReport, error),
) ([]AuditReport, error) {
	reports := make([]AuditReport, len(ids))
	suspicious := make([]int, len(ids)) // indexes of reports
	for i := range suspicious {
		suspicious[i] = i
	}
	for try := 0; try < auditTries && len(suspicious) > 0; try++ {
		if try > 0 && !shop.Sleep(ctx, auditPause) {
			return nil, ctx.Err()
		}
		for _, i := range suspicious {
			again, err := audit(ctx, ids[i])
			if err != nil {
				return nil, err
			}
			if try > 0 {
				again.keepRepeated(reports[i].found)
			}
			reports[i] = again
		}
		suspicious = slices.DeleteFunc(suspicious, func(i int) bool { return len(reports[i].found) == 0 })
	}
	for i := range reports {
		reports[i].Failures = shop.Mapped(reports[i].found, func(f failure) string { return f.text })
	}
	return reports, nil
}

// keepRepeated removes the failures that are not among the earlier ones.
func (r *AuditReport) keepRepeated(earlier []failure) {
	r.found = slices.DeleteFunc(r.found, func(f failure) bool {
		same := func(e failure) bool { return e.check == f.check && e.subject == f.subject }
		return !slices.ContainsFunc(earlier, same)
	})
}

// saleReadings has the values that an audit compares.
type saleReadings struct {
	sale   shop.Sale
	redis  shop.SaleAudit // read before the database
	after  shop.Counters  // of Redis, read again after the database if there were differences
	totals shop.SaleTotals
	rows   []shop.Order // of the holds in Redis
}

// auditOnce audits a sale without a pause.
func (a *Auditor) auditOnce(ctx context.Context, id shop.ID) (AuditReport, error) {
	s, err := a.readSale(ctx, id)
	if err != nil {
		return AuditReport{}, err
	}
	r := s.audit()
	if len(r.found) == 0 || !r.Loaded {
		return r, nil
	}
	again, err := a.Redis.Stock().HoldsMark(ctx, s.sale.Ref()) // perhaps the sale has changed meanwhile
	if err != nil {
		return r, fmt.Errorf("audit sale %s in Redis again: %w", id, err)
	}
	s.after = again.Counters
	s.after.Epoch = s.redis.Epoch // Audit does not read the epoch
	return s.audit(), nil
}

func (a *Auditor) readSale(ctx context.Context, id shop.ID) (s saleReadings, err error) {
	if s.sale, err = a.Store.Sales().Sale(ctx, id); errors.Is(err, shop.ErrNoRow) {
		return s, shop.Fail(shop.NotFound, "no such sale: "+id.String())
	}
	if err != nil {
		return s, fmt.Errorf("read sale %s: %w", id, err)
	}
	if s.redis, err = a.Redis.Stock().Audit(ctx, s.sale.Ref()); err != nil {
		return s, fmt.Errorf("audit sale %s in Redis: %w", id, err)
	}
	if s.totals, err = a.Store.Sales().SaleTotals(ctx, id); err != nil {
		return s, fmt.Errorf("audit sale %s in the database: %w", id, err)
	}
	if !s.redis.Loaded {
		return s, nil
	}
	ids := shop.Mapped(s.redis.Holds, func(h shop.OpenHold) shop.ID { return h.Order })
	if s.rows, err = a.Store.Orders().OrdersByID(ctx, ids); err != nil {
		return s, fmt.Errorf("read orders of sale %s: %w", id, err)
	}
	s.after = s.redis.Counters
	return s, nil
}

// audit checks the readings.
func (s *saleReadings) audit() AuditReport {
	redis, totals := &s.redis, &s.totals
	r := AuditReport{
		Sale: s.sale.ID, Product: s.sale.Product.Name, Loaded: redis.Loaded, Waiting: redis.Tickets - redis.Done,
		Redis: AuditColumn{redis.Initial, redis.Added, redis.Stock, redis.Held, redis.Sold, redis.Withdrawn},
		Database: AuditColumn{
			Initial: totals.Sale.Initial, Added: totals.Sale.Added, Held: totals.HeldUnits, Sold: totals.SoldUnits,
			Withdrawn: totals.Withdrawn + totals.RefundedUnits,
			Stock:     totals.Sale.Initial + totals.Sale.Added - totals.Withdrawn - totals.Taken,
		},
	}
	r.checkDatabase(*totals)
	if redis.Loaded {
		r.checkRedis(s.sale.Limit, *redis)
		r.compareStores(s)
		r.checkHolds(s)
	} else if s.sale.Epoch == 0 && totals.Orders > 0 {
		r.addFailure(0, "the sale was never loaded into Redis but has %d orders", totals.Orders)
	}
	return r
}

func (r *AuditReport) addFailure(subject shop.ID, format string, args ...any) {
	r.found = append(r.found, failure{format, subject, fmt.Sprintf(format, args...)})
}

// checkBalance checks the stock equation of one store.
func (r *AuditReport) checkBalance(side string, c AuditColumn) {
	if c.Initial+c.Added != c.Stock+c.Held+c.Sold+c.Withdrawn || c.Stock < 0 || c.Held < 0 {
		r.addFailure(0, "%s: initial %d + added %d ≠ stock %d + held %d + sold %d + withdrawn %d",
			side, c.Initial, c.Added, c.Stock, c.Held, c.Sold, c.Withdrawn)
	}
}

func (r *AuditReport) checkDatabase(t shop.SaleTotals) {
	r.checkBalance("database", r.Database)
	if units := t.HeldUnits + t.SoldUnits + t.RefundedUnits; t.Taken != units {
		r.addFailure(0, "database: the guard counts %d units taken, the rows hold %d", t.Taken, units)
	}
	if len(t.OverLimit) > 0 {
		r.addFailure(0, "database: %d buyers are over the limit, first %s", len(t.OverLimit), t.OverLimit[0])
	}
	if t.Duplicates > 0 {
		r.addFailure(0, "database: %d orders repeat a key of their buyer", t.Duplicates)
	}
	if t.WithoutPayment > 0 {
		r.addFailure(0, "database: %d orders are paid without a payment", t.WithoutPayment)
	}
}

func (r *AuditReport) checkRedis(limit int, s shop.SaleAudit) {
	r.checkBalance("redis", r.Redis)
	var held int64
	for _, h := range s.Holds {
		held += int64(h.Qty)
	}
	if held != s.Held+s.Sold {
		r.addFailure(0, "redis: holds add up to %d units, held + sold is %d", held, s.Held+s.Sold)
	}
	for user, units := range s.Units {
		if units > int64(limit) || units < 0 {
			r.addFailure(user, "redis: buyer %s counts %d units, the limit is %d", user, units, limit)
		}
	}
}

// pendingWithdrawalUnits returns how many units Redis has taken out for pending withdrawals that the database does not
// count yet.
func pendingWithdrawalUnits(s *shop.SaleAudit, pending []int64) (units int64) {
	for _, id := range pending {
		units += s.WithdrawnUnits[id]
	}
	return units
}

// compareStores compares the two stores. Redis must never have more free units than the database. When no reservation
// is in progress, both must have the same units, except for units that operators are withdrawing. If the sale has
// changed between the two readings of Redis, only the smaller number of free units is compared: Redis had at least that
// number free when the database was read.
func (r *AuditReport) compareStores(s *saleReadings) {
	if free := min(s.redis.Stock, s.after.Stock); free > r.Database.Stock {
		r.addFailure(0, "redis has %d units free, the database only %d", free, r.Database.Stock)
	}
	if r.Waiting != 0 || s.redis.Counters != s.after {
		return
	}
	if r.Redis.Held != r.Database.Held || r.Redis.Sold != r.Database.Sold {
		r.addFailure(0, "drained, but redis holds %d and sold %d, the database holds %d and sold %d",
			r.Redis.Held, r.Redis.Sold, r.Database.Held, r.Database.Sold)
	}
	burnt, beingWithdrawn := s.redis.Burnt, pendingWithdrawalUnits(&s.redis, s.totals.Pending)
	if r.Redis.Stock+burnt+beingWithdrawn != r.Database.Stock {
		r.addFailure(0, "drained, but redis has %d free, %d burnt and %d that are being withdrawn, the database %d free",
			r.Redis.Stock, burnt, beingWithdrawn, r.Database.Stock)
	}
}

// checkHolds checks that every hold in Redis belongs to an order that holds units or to a reservation in progress.
func (r *AuditReport) checkHolds(s *saleReadings) {
	orders := shop.ByID(s.rows)
	noRow := int64(0)
	for _, h := range s.redis.Holds {
		o, ok := orders[h.Order]
		switch {
		case !ok:
			noRow++
		case !o.HoldsUnits():
			r.addFailure(o.ID, "redis holds %d units for order %s, which is %s", h.Qty, h.Order, o.State)
		case h.Sold != o.State.Sold():
			r.addFailure(o.ID, "redis counts %d units of order %s as %s, which is %s", h.Qty, h.Order, heldOrSold(h), o.State)
		}
	}
	if noRow > r.Waiting {
		r.addFailure(0, "redis holds units for %d orders without a row, but only %d reservations are under way", noRow, r.Waiting)
	}
}

func heldOrSold(h shop.OpenHold) string {
	if h.Sold {
		return "sold"
	}
	return "held"
}
