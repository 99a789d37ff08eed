package recovery

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"

	"stampede/app/shop"
	"stampede/app/test/fakes"
)

// validReadings returns a sale of 10 units: 3 held by two orders, 1 burnt, no operation in progress.
func validReadings() saleReadings {
	sale := shop.Sale{ID: 7, Initial: 10, Limit: 2, Epoch: 1}
	return saleReadings{
		sale: sale,
		redis: shop.SaleAudit{
			Counters: shop.Counters{Loaded: true, Initial: 10, Stock: 6, Held: 3, Withdrawn: 1, Tickets: 3, Done: 3},
			Burnt:    1,
			Holds:    []shop.OpenHold{{Order: 1, Hold: 1, Qty: 2}, {Order: 2, Hold: 1, Qty: 1}},
			Units:    map[shop.ID]int64{5: 2, 6: 1},
		},
		totals: shop.SaleTotals{Sale: sale, Taken: 3, HeldUnits: 3, Orders: 3, PendingRows: 2},
		rows:   []shop.Order{{ID: 1, State: shop.Pending}, {ID: 2, State: shop.Pending}},
	}
}

// P1, P4, I1, I2: the audit accepts valid stores, and reports each defect by name.
func TestAuditFindsEveryKindOfDefect(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change   func(*saleReadings)
		wantText string // "": must pass
	}{
		"valid stores":         {func(*saleReadings) {}, ""},
		"unit lost in redis":   {func(s *saleReadings) { s.redis.Stock-- }, "redis: initial"},
		"unit twice in redis":  {func(s *saleReadings) { s.redis.Stock++ }, "redis: initial"},
		"stock returned twice": {func(s *saleReadings) { s.redis.Stock++; s.redis.Held-- }, "holds add up to 3"},
		"more free than the database": {func(s *saleReadings) {
			s.redis.Stock, s.redis.Withdrawn = 7, 0
			s.totals.Taken, s.totals.HeldUnits = 4, 4
		}, "redis has 7 units free, the database only 6"},
		"hold without units":      {func(s *saleReadings) { s.redis.Holds = s.redis.Holds[:1] }, "holds add up"},
		"guard above the rows":    {func(s *saleReadings) { s.totals.Taken++ }, "the guard counts 4"},
		"buyer over limit, redis": {func(s *saleReadings) { s.redis.Units[5] = 3 }, "buyer 5 counts 3"},
		"buyer over limit, db":    {func(s *saleReadings) { s.totals.OverLimit = []shop.ID{5} }, "1 buyers are over the limit"},
		"duplicate key":           {func(s *saleReadings) { s.totals.Duplicates = 1 }, "1 orders repeat a key"},
		"paid without a payment":  {func(s *saleReadings) { s.totals.WithoutPayment = 1 }, "1 orders are paid without a payment"},
		"hold of an ended order":  {func(s *saleReadings) { s.rows[1].State = shop.Expired }, "which is expired"},
		"paid but not sold":       {func(s *saleReadings) { s.rows[1].State = shop.Paid }, "counts 1 units of order 2 as held, which is paid"},
		"sold but not paid":       {func(s *saleReadings) { s.redis.Holds[1].Sold = true }, "as sold, which is pending"},
		"hold without a row":      {func(s *saleReadings) { s.rows = s.rows[:1] }, "without a row"},
		"reservation in progress": {func(s *saleReadings) {
			s.redis.Done, s.rows = 2, s.rows[:1]
			s.totals.Taken, s.totals.HeldUnits = 2, 2
		}, ""},
		"never loaded but sold": {func(s *saleReadings) { s.redis = shop.SaleAudit{}; s.sale.Epoch = 0 }, "never loaded"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wantFailure(t, c.wantText, func(s *saleReadings, _ int) { c.change(s) })
		})
	}
}

// wantFailure audits the valid readings with a change and checks that a failure contains the text; "": there is no
// failure. n is the number of earlier reads.
func wantFailure(t *testing.T, text string, change func(s *saleReadings, n int)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		n := 0
		auditOnce := func(context.Context, shop.ID) (AuditReport, error) {
			s := validReadings()
			if change(&s, n); s.after == (shop.Counters{}) {
				s.after = s.redis.Counters
			}
			n++
			return s.audit(), nil
		}
		reports, err := auditRepeatedly(t.Context(), []shop.ID{7}, auditOnce)
		fakes.Must(t, err)
		if got := strings.Join(reports[0].Failures, "\n"); (got == "") != (text == "") || !strings.Contains(got, text) {
			t.Errorf("got failures %q, want them to contain %q", got, text)
		}
	})
}

// Two seconds between the reads are enough for the effects of every committed change. So the audit reports a difference
// of an order only if the next read finds the same order again, and a difference of a sale only if it persists.
func TestAuditReportsOnlyLastingDifferences(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change   func(s *saleReadings, n int)
		wantText string // "": must pass
	}{
		"another order ends during each read": {func(s *saleReadings, n int) {
			ended, pending := shop.ID(10+2*n), shop.ID(11+2*n)
			s.redis.Holds[0].Order, s.redis.Holds[1].Order = ended, pending
			s.rows = []shop.Order{{ID: ended, State: shop.Expired}, {ID: pending, State: shop.Pending}}
		}, ""},
		"one order stays ended": {func(s *saleReadings, n int) {
			s.redis.Holds[0].Order = shop.ID(10 + 2*n)
			s.rows = []shop.Order{{ID: s.redis.Holds[0].Order, State: shop.Expired}, {ID: 2, State: shop.Expired}}
		}, "redis holds 1 units for order 2, which is expired"},
		"units return after a second": {func(s *saleReadings, n int) {
			if n < 2 {
				s.rows[0].State = shop.Expired
			}
		}, ""},
		"a buy during each read": {func(s *saleReadings, n int) { // the database is read after the buy
			s.redis.Stock, s.redis.Held = int64(6-n), int64(3+n)
			s.redis.Holds[1].Qty = 1 + n
			s.totals.Taken, s.totals.HeldUnits = s.redis.Held+1, s.redis.Held+1
			s.after = s.redis.Counters
			s.after.Stock, s.after.Held = s.redis.Stock-1, s.redis.Held+1
		}, ""},
		"a buy during each read, and a unit too many": {func(s *saleReadings, n int) {
			s.redis.Stock, s.redis.Held, s.redis.Withdrawn = int64(8-n), int64(2+n), 0
			s.redis.Holds[0].Qty, s.redis.Holds[1].Qty = 1, 1+n
			s.totals.Taken, s.totals.HeldUnits = s.redis.Held+2, s.redis.Held+2
			s.after = s.redis.Counters
			s.after.Stock, s.after.Held = s.redis.Stock-1, s.redis.Held+1
		}, "units free, the database only"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wantFailure(t, c.wantText, c.change)
		})
	}
}
