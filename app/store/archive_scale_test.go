package store_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"stampede/app"
	"stampede/app/store"
)

const (
	// atScale is how many orders the suite moves; STAMPEDE_ARCHIVE_ORDERS says another number, and then figures are
	// printed (deploy/scripts/archive.sh).
	atScale     = 600
	scaleSales  = 20
	scaleMonths = 6
	scaleBuyers = 4 // that write side by side
	scaleBatch  = 100
	// scaleRounds with the move, and as many without, of so long or so many batches.
	scaleRounds  = 3
	scaleRound   = 8 * time.Second
	scaleBatches = 1
)

// timed notes how long each transaction of a move took, which bounds how long it kept its rows locked.
type timed struct {
	*store.Store

	mu   sync.Mutex
	took []time.Duration
}

func (s *timed) MoveOrders(ctx context.Context, step app.ArchiveStep) (app.ArchiveDone, error) {
	began := time.Now()
	done, err := s.Store.MoveOrders(ctx, step)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.took = append(s.took, time.Since(began))
	return done, err
}

// scale is a shop with many orders of long ago and one sale that sells.
type scale struct {
	*shop
	n     int
	long  bool
	live  app.ID
	store *timed
}

// Many orders move while others are bought, in a run that is stopped and begun again; afterwards each is in one table,
// every sale balances, nothing names anybody, and months can go.
func TestArchiveAtScale(t *testing.T) {
	if n, err := strconv.Atoi(os.Getenv("STAMPEDE_ARCHIVE_ORDERS")); err == nil {
		archiveAtScale(t, onMariaDB(t), n, true)
		return
	}
	onBoth(t, func(t *testing.T, s *store.Store) { archiveAtScale(t, s, atScale, false) })
}

func archiveAtScale(t *testing.T, s *store.Store, n int, long bool) {
	units := make([]int64, scaleSales+1)
	for i := range units {
		units[i] = int64(n) + 50_000_000
	}
	c := &scale{shop: newShop(t, s, units...), n: n, long: long, store: &timed{Store: s}}
	if long {
		c.ctx = t.Context() // as long as it takes
	}
	c.live, c.sales = c.sales[scaleSales], c.sales[:scaleSales]
	c.fill()
	c.sizes("filled")
	c.readers("before")

	var quiet, moving []float64
	var moved, blanked int64
	for range scaleRounds {
		quiet = append(quiet, c.buys())
		ctx, stop := context.WithCancel(c.ctx)
		var g errgroup.Group
		g.Go(func() error {
			done, err := c.run(ctx, false)
			moved, blanked = moved+done.Moved, blanked+done.Blanked
			return err
		})
		moving = append(moving, c.buys())
		stop()
		if err := g.Wait(); err != nil && !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
	}
	began := time.Now()
	done, err := c.run(c.ctx, true)
	c.must(err)
	took := time.Since(began)
	c.say("buys/s without the move %.0f, beside it %.0f: ratio of the medians %.2f", quiet, moving,
		median(moving)/median(quiet))
	slices.Sort(c.store.took)
	k := c.store.took
	c.say("%d orders moved and %d blanked beside buys; then %d and %d in %v; a transaction took %v, p99 %v, at most %v",
		moved, blanked, done.Moved, done.Blanked, took.Round(time.Millisecond), k[len(k)/2].Round(time.Microsecond),
		k[len(k)*99/100].Round(time.Microsecond), k[len(k)-1].Round(time.Microsecond))
	c.sizes("moved")
	c.readers("after")
	c.check()
	c.drop()
}

// fill writes the orders as buys do, and makes them old.
func (c *scale) fill() {
	c.t.Helper()
	began := time.Now()
	var g errgroup.Group
	g.SetLimit(scaleBuyers)
	for from := 0; from < c.n; from += 500 {
		g.Go(func() error {
			rows := make([]app.Order, 0, 500)
			for i := from; i < min(from+500, c.n); i++ {
				o := c.order(c.sales[i*scaleSales/c.n], 1)
				o.ID = inMonth(app.Month(202602+i*scaleMonths/c.n), 1000+i)
				o.User = app.ID(1 + i%(c.n/4+1)) // each has about four
				rows = append(rows, o)
			}
			_, err := c.Insert(c.ctx, c.epoch, rows)
			return err
		})
	}
	c.must(g.Wait())
	old := c.clock().At.Add(-2000 * time.Hour)
	for month := app.Month(202602); month < 202602+scaleMonths; month++ { // the driver ends what takes half a minute
		first, end := inMonth(month, 0), inMonth(month.Next(), 0)
		for _, statement := range becomeOld {
			_, err := c.DB().ExecContext(c.ctx, statement+" AND id >= ? AND id < ?", first, end)
			c.must(err)
		}
		c.stampWhere("id >= ? AND id < ?", "?", old, first, end) // SQLite stamps what gets another state
	}
	_, err := c.DB().ExecContext(c.ctx, "UPDATE sales SET taken ="+
		" (SELECT COUNT(*) FROM orders WHERE sale_id = sales.id AND state = 'finished')")
	c.must(err)
	for _, sale := range c.sales {
		c.close(sale)
	}
	c.say("%d orders of %d sales written in %v", c.n, len(c.sales), time.Since(began).Round(time.Second))
}

// becomeOld has four of five orders paid, sent and received, and the fifth expired.
var becomeOld = []string{
	"UPDATE orders SET state = 'finished', rev = 4, trade_no = CAST(id AS CHAR), paid_at = created_at + 60000," +
		" trade_opened = created_at, tracking = CAST(id AS CHAR), changed_at = changed_at WHERE id % 10 < 8",
	"UPDATE orders SET state = 'expired', rev = 2, cancelled_at = pay_by, changed_at = changed_at WHERE id % 10 >= 8",
	"INSERT INTO payments (trade_no, order_id, amount_fen, paid_at, seen_at, outcome, unsettled_since)" +
		" SELECT trade_no, id, amount_fen, paid_at, paid_at, 'taken', NULL FROM orders WHERE paid_at > 0",
	"INSERT INTO trades (order_id, opened_at, expires_at, check_at) SELECT id, trade_opened, pay_by, NULL FROM orders" +
		" WHERE paid_at > 0",
	"INSERT INTO shipments (order_id, carrier, tracking, shipped_at, shipped_by, finish_at, mail_at)" +
		" SELECT id, 'SF', tracking, paid_at, 7, NULL, NULL FROM orders WHERE paid_at > 0",
	"INSERT INTO outbox (order_id, rev, state, at, next_at) SELECT id, 2, 'paid', paid_at, NULL FROM orders" +
		" WHERE paid_at > 0",
}

// run moves what is due, with the pauses that leave the database to buys; anyway: without them, and blanks first.
func (c *scale) run(ctx context.Context, anyway bool) (app.Archived, error) {
	a := c.archivist()
	if a.Anyway = anyway; !anyway {
		a.PersonalAfter = 0
	}
	a.Store = c.store
	return a.RunOnce(ctx)
}

// buys writes orders of the live sale and answers how many a second.
func (c *scale) buys() float64 {
	c.t.Helper()
	var written atomic.Int64
	began := time.Now()
	var g errgroup.Group
	for range scaleBuyers {
		g.Go(func() error {
			for i := 0; c.long && time.Since(began) < scaleRound || !c.long && i < scaleBatches; i++ {
				rows := c.orders(scaleBatch, c.live, 1)
				for i := range rows {
					rows[i].ID += inMonth(202609, 0)
				}
				if _, err := c.Insert(c.ctx, c.epoch, rows); err != nil {
					return err
				}
				written.Add(scaleBatch)
			}
			return nil
		})
	}
	c.must(g.Wait())
	return float64(written.Load()) / time.Since(began).Seconds()
}

// readers measures a buyer's page and one order.
func (c *scale) readers(when string) {
	c.t.Helper()
	const times = 200
	var pages, ones []time.Duration
	for i := range times {
		user := app.ID(1 + i*7%(c.n/4))
		began := time.Now()
		page, _, err := c.OrdersOf(c.ctx, app.OrdersQuery{User: user, Limit: 20})
		c.must(err)
		pages = append(pages, time.Since(began))
		if len(page) < 3 {
			c.t.Fatalf("%s: buyer %s has %d orders", when, user, len(page))
		}
		began = time.Now()
		c.read(page[len(page)-1].ID)
		ones = append(ones, time.Since(began))
	}
	slices.Sort(pages)
	slices.Sort(ones)
	c.say("%s: a buyer's page takes %v (p99 %v), one order %v", when, pages[times/2].Round(time.Microsecond),
		pages[times*99/100].Round(time.Microsecond), ones[times/2].Round(time.Microsecond))
}

// sizes says how large the tables are on disk.
func (c *scale) sizes(when string) {
	c.t.Helper()
	if !c.long {
		return
	}
	for _, table := range []string{"orders", "orders_archive"} {
		_, err := c.DB().ExecContext(c.ctx, "ANALYZE TABLE "+table)
		c.must(err)
		var bytes, free int64
		err = c.DB().NewRaw("SELECT SUM(data_length + index_length), SUM(data_free) FROM information_schema.tables"+
			" WHERE table_schema = DATABASE() AND table_name = ?", table).Scan(c.ctx, &bytes, &free)
		c.must(err)
		c.say("%s: %s has %.0f MB, and %.0f MB free within", when, table, float64(bytes)/1e6, float64(free)/1e6)
	}
}

// check proves that nothing was lost and nothing says anything of anybody.
func (c *scale) check() {
	c.t.Helper()
	var archived, old int
	c.must(c.DB().NewRaw("SELECT COUNT(*) FROM orders_archive").Scan(c.ctx, &archived))
	c.must(c.DB().NewRaw("SELECT COUNT(*) FROM orders WHERE sale_id <> ?", c.live).Scan(c.ctx, &old))
	if archived != c.n || old != 0 {
		c.t.Errorf("%d orders in the archive, %d left, want %d and none", archived, old, c.n)
	}
	finished := int64(0)
	sales := slices.Clone(c.sales)
	if !c.long { // there more than a million orders are bought in one sale, which no sale has
		sales = append(sales, c.live)
	}
	for _, sale := range sales {
		t := c.totals(sale)
		if t.Taken != t.HeldUnits+t.SoldUnits+t.GoneUnits || t.Moneyless > 0 || t.Duplicates > 0 {
			c.t.Errorf("sale %s does not balance: %+v", sale, t)
		}
		finished += t.SoldUnits
	}
	if finished == 0 || finished > int64(c.n) {
		c.t.Errorf("%d units are sold", finished)
	}
	for _, query := range []string{
		"SELECT COUNT(*) FROM orders_archive WHERE address IS NOT NULL OR tracking <> ''",
		"SELECT COUNT(*) FROM shipments WHERE tracking <> ''",
	} {
		var left int
		c.must(c.DB().NewRaw(query).Scan(c.ctx, &left))
		if left > 0 {
			c.t.Errorf("%d rows: %s", left, query)
		}
	}
	if c.long {
		for _, q := range []app.OrdersQuery{{User: 5, Limit: 20}, {User: 5, Limit: 20, Before: inMonth(202605, 0)}} {
			for _, statement := range store.ExplainOrdersOf(c.Store, q) {
				wantNoScan(c.shop, "a buyer's page", statement, true)
			}
		}
	}
}

// drop lets half of the months go.
func (c *scale) drop() {
	c.t.Helper()
	began := time.Now()
	now := c.clock().At
	months, err := c.PlanDrop(c.ctx, 202605, now, false)
	c.must(err)
	planned := time.Since(began)
	c.must(errOf(c.dropAll(c.ctx, 200)))
	gone := int64(0)
	for _, m := range months {
		gone += m.Orders
	}
	var left int64
	c.must(c.DB().NewRaw("SELECT COUNT(*) FROM orders_archive").Scan(c.ctx, &left))
	if gone == 0 || left+gone != int64(c.n) {
		c.t.Errorf("%d orders are gone, %d left, of %d", gone, left, c.n)
	}
	for _, sale := range c.sales {
		if t := c.totals(sale); t.Taken != t.SoldUnits {
			c.t.Errorf("sale %s does not balance: %+v", sale, t)
		}
	}
	c.say("%d orders dropped: %v to look what they add up to, %v to drop them, what hangs on them and the months", gone,
		planned.Round(time.Millisecond), (time.Since(began) - planned).Round(time.Millisecond))
}

// say prints a figure of the long form.
func (c *scale) say(format string, args ...any) {
	if c.long {
		fmt.Printf("archive: "+format+"\n", args...)
	}
}
