package recovery

import (
	"context"
	"fmt"
	"time"

	"stampede/app/shop"
)

const (
	auditTries = 5
	auditPause = 300 * time.Millisecond
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
	Redis Redis
	Store Store
}

// Sale audits one sale. A failure counts only if it persists over auditTries reads, because the two stores are read at
// different instants.
func (a *Auditor) Sale(ctx context.Context, id shop.ID) (AuditReport, error) {
	var report AuditReport
	for try := range auditTries {
		if try > 0 && !shop.Sleep(ctx, auditPause) {
			return report, ctx.Err()
		}
		var err error
		if report, err = a.auditOnce(ctx, id); err != nil || len(report.Failures) == 0 {
			return report, err
		}
	}
	return report, nil
}

func (a *Auditor) auditOnce(ctx context.Context, id shop.ID) (AuditReport, error) {
	sale, err := a.Store.Sale(ctx, id)
	if err != nil {
		return AuditReport{}, fmt.Errorf("read sale %s: %w", id, err)
	}
	redis, err := a.Redis.Audit(ctx, sale.Ref())
	if err != nil {
		return AuditReport{}, fmt.Errorf("audit sale %s in Redis: %w", id, err)
	}
	totals, err := a.Store.SaleTotals(ctx, id)
	if err != nil {
		return AuditReport{}, fmt.Errorf("audit sale %s in the database: %w", id, err)
	}
	r := AuditReport{
		Sale: id, Product: sale.Product.Name, Loaded: redis.Loaded, Waiting: redis.Tickets - redis.Done,
		Failures: []string{},
		Redis:    AuditColumn{redis.Initial, redis.Added, redis.Stock, redis.Held, redis.Sold, redis.Withdrawn},
		Database: AuditColumn{
			Initial: totals.Sale.Initial, Added: totals.Sale.Added, Held: totals.HeldUnits, Sold: totals.SoldUnits,
			Withdrawn: totals.Withdrawn + totals.RefundedUnits,
			Stock:     totals.Sale.Initial + totals.Sale.Added - totals.Withdrawn - totals.Taken,
		},
	}
	r.checkDatabase(totals)
	if redis.Loaded {
		r.checkRedis(sale.Limit, redis)
		r.compareStores(redis, pendingWithdrawalUnits(&redis, totals.Pending))
		return r, a.checkHolds(ctx, &r, redis)
	}
	if sale.Epoch == 0 && totals.Orders > 0 {
		r.addFailure("the sale was never loaded into Redis but has %d orders", totals.Orders)
	}
	return r, nil
}

func (r *AuditReport) addFailure(format string, args ...any) {
	r.Failures = append(r.Failures, fmt.Sprintf(format, args...))
}

// checkBalance checks the stock equation of one store.
func (r *AuditReport) checkBalance(side string, c AuditColumn) {
	if c.Initial+c.Added != c.Stock+c.Held+c.Sold+c.Withdrawn || c.Stock < 0 || c.Held < 0 {
		r.addFailure("%s: initial %d + added %d ≠ stock %d + held %d + sold %d + withdrawn %d",
			side, c.Initial, c.Added, c.Stock, c.Held, c.Sold, c.Withdrawn)
	}
}

func (r *AuditReport) checkDatabase(t shop.SaleTotals) {
	r.checkBalance("database", r.Database)
	if units := t.HeldUnits + t.SoldUnits + t.RefundedUnits; t.Taken != units {
		r.addFailure("database: the guard counts %d units taken, the rows hold %d", t.Taken, units)
	}
	if len(t.OverLimit) > 0 {
		r.addFailure("database: %d buyers are over the limit, first %s", len(t.OverLimit), t.OverLimit[0])
	}
	if t.Duplicates > 0 {
		r.addFailure("database: %d orders repeat a key of their buyer", t.Duplicates)
	}
	if t.WithoutPayment > 0 {
		r.addFailure("database: %d orders are paid without a payment", t.WithoutPayment)
	}
}

func (r *AuditReport) checkRedis(limit int, s shop.SaleAudit) {
	r.checkBalance("redis", r.Redis)
	var held int64
	for _, h := range s.Holds {
		held += int64(h.Qty)
	}
	if held != s.Held+s.Sold {
		r.addFailure("redis: holds add up to %d units, held + sold is %d", held, s.Held+s.Sold)
	}
	for user, units := range s.Units {
		if units > int64(limit) || units < 0 {
			r.addFailure("redis: buyer %s counts %d units, the limit is %d", user, units, limit)
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
// is in progress, both must have the same units, except for units that operators are withdrawing.
func (r *AuditReport) compareStores(s shop.SaleAudit, beingWithdrawn int64) {
	if r.Redis.Stock > r.Database.Stock {
		r.addFailure("redis has %d units free, the database only %d", r.Redis.Stock, r.Database.Stock)
	}
	if r.Waiting != 0 {
		return
	}
	if r.Redis.Held != r.Database.Held || r.Redis.Sold != r.Database.Sold {
		r.addFailure("drained, but redis holds %d and sold %d, the database holds %d and sold %d",
			r.Redis.Held, r.Redis.Sold, r.Database.Held, r.Database.Sold)
	}
	if r.Redis.Stock+s.Burnt+beingWithdrawn != r.Database.Stock {
		r.addFailure("drained, but redis has %d free, %d burnt and %d that are being withdrawn, the database %d free",
			r.Redis.Stock, s.Burnt, beingWithdrawn, r.Database.Stock)
	}
}

// checkHolds checks that every hold in Redis belongs to an order that holds units or to a reservation in progress.
func (a *Auditor) checkHolds(ctx context.Context, r *AuditReport, s shop.SaleAudit) error {
	ids := shop.Mapped(s.Holds, func(h shop.OpenHold) shop.ID { return h.Order })
	rows, err := a.Store.OrdersByID(ctx, ids)
	if err != nil {
		return fmt.Errorf("read orders of sale %s: %w", r.Sale, err)
	}
	orders := shop.ByID(rows)
	noRow := int64(0)
	for _, h := range s.Holds {
		o, ok := orders[h.Order]
		switch {
		case !ok:
			noRow++
		case !o.HoldsUnits():
			r.addFailure("redis holds %d units for order %s, which is %s", h.Qty, h.Order, o.State)
		case h.Sold != o.State.Sold():
			r.addFailure("redis counts %d units of order %s as %s, which is %s", h.Qty, h.Order, heldOrSold(h), o.State)
		}
	}
	if noRow > r.Waiting {
		r.addFailure("redis holds units for %d orders without a row, but only %d reservations are under way", noRow, r.Waiting)
	}
	return nil
}

func heldOrSold(h shop.OpenHold) string {
	if h.Sold {
		return "sold"
	}
	return "held"
}
