package store_test

import (
	"errors"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"stampede/app/shop"
)

// P1, I1, I5: for any sequence of inserts, repeats, expiries, cancellations and revivals, every row has the state that
// a simple model predicts. The guard counts exactly the units of the rows that hold units.
func TestOrdersFollowTheModel(t *testing.T) {
	onBothShops(t, func(t *testing.T, h *testShop) {
		product := shop.Product{ID: nextID(), Name: "Teapot"}
		h.must(h.AddProducts(h.ctx, []shop.Product{product}))
		rapid.Check(t, func(rt *rapid.T) {
			m := &model{
				T: rt, h: h, units: rapid.Int64Range(0, 12).Draw(rt, "units"), rows: make(map[shop.ID]*shop.Order),
			}
			sale := shop.Sale{ID: nextID(), Slot: h.slot, Product: product, Initial: m.units, Limit: 99, Cap: 99}
			m.must(h.AddSales(h.ctx, []shop.Sale{sale}))
			m.must(h.MarkLoaded(h.ctx, sale.ID, h.epoch, 1))
			m.sale = sale.ID
			rt.Repeat(map[string]func(*rapid.T){
				"insert": m.insert, "expire": m.expire, "cancel": m.cancel, "revive": m.revive,
			})
			m.check()
		})
	})
}

type model struct {
	*rapid.T
	h     *testShop
	sale  shop.ID
	units int64
	ids   []shop.ID // in the order of creation
	rows  map[shop.ID]*shop.Order
}

func (m *model) must(err error) {
	m.Helper()
	if err != nil {
		m.fail("a result", "unexpected error: %v", err)
	}
}

// fail ends the sequence. Its message must be the same for each replay of the sequence, otherwise rapid cannot shrink
// it. Texts with ids therefore go into the log.
func (m *model) fail(label, format string, args ...any) {
	m.Helper()
	m.Logf(format, args...)
	m.Fatalf("%s differs from the model", label)
}

func (m *model) taken() int64 {
	n := int64(0)
	for _, o := range m.rows {
		if o.HoldsUnits() {
			n += int64(o.Qty)
		}
	}
	return n
}

// existingOrder draws an existing order; nil: none exists yet.
func (m *model) existingOrder() *shop.Order {
	if len(m.ids) == 0 {
		return nil
	}
	return m.rows[rapid.SampledFrom(m.ids).Draw(m.T, "order")]
}

// insert writes up to four rows, including some that exist.
func (m *model) insert(*rapid.T) {
	var batch, fresh []shop.Order
	for range rapid.IntRange(1, 4).Draw(m.T, "rows") {
		if old := m.existingOrder(); old != nil && rapid.Bool().Draw(m.T, "again") {
			again := *old
			again.State = shop.Pending // the entry does not contain the current state
			batch = append(batch, again)
			continue
		}
		o := m.h.order(m.sale, rapid.IntRange(1, 3).Draw(m.T, "qty"))
		o.State = rapid.SampledFrom(
			[]shop.OrderState{shop.Pending, shop.Pending, shop.Cancelled, shop.Refused},
		).Draw(m.T,
			"state")
		batch, fresh = append(batch, o), append(fresh, o)
	}
	free := m.units - m.taken()
	got, err := m.h.Insert(m.h.ctx, m.h.epoch, batch)
	m.must(err)
	for _, o := range fresh { // ticket numbers increase in the order of creation
		if n := int64(o.Qty); o.State == shop.Pending && n <= free {
			free -= n
		} else if o.State == shop.Pending {
			o.State, o.Reason, o.PayBy = shop.Refused, shop.ReasonGuard, 0
		}
		o.Rev = 1
		m.rows[o.ID] = &o
		m.ids = append(m.ids, o.ID)
	}
	for _, in := range got {
		isFresh := slices.ContainsFunc(fresh, func(o shop.Order) bool { return o.ID == in.Order.ID })
		if in.Fresh != isFresh || in.Order.State != m.rows[in.Order.ID].State {
			m.fail("I1: a row", "order %s: fresh %v, %s", in.Order.ID, in.Fresh, in.Order.State)
		}
	}
}

func (m *model) expire(*rapid.T) {
	now := payBy - rapid.SampledFrom([]shop.Millis{0, 1}).Draw(m.T, "early")
	due := make(map[shop.ID]bool)
	for range rapid.IntRange(0, 3).Draw(m.T, "due") {
		if o := m.existingOrder(); o != nil {
			due[o.ID] = true
		}
	}
	requested := make([]shop.ID, 0, len(due))
	for id := range due {
		requested = append(requested, id)
		if o := m.rows[id]; o.State == shop.Pending && o.PayBy <= now {
			o.State, o.CancelledAt, o.Rev = shop.Expired, now, o.Rev+1
		}
	}
	_, err := m.h.Expire(m.h.ctx, requested, now)
	m.must(err)
}

func (m *model) cancel(*rapid.T) {
	o := m.existingOrder()
	if o == nil {
		return
	}
	if rapid.Bool().Draw(m.T, "another user") {
		if _, err := m.h.Cancel(m.h.ctx, o.ID, o.User+1, payBy); !errors.Is(err, shop.ErrNoRow) {
			m.fail("a cancellation", "another user cancelled order %s: %v", o.ID, err)
		}
		return
	}
	if o.State == shop.Pending {
		o.State, o.CancelledAt, o.Rev = shop.Cancelled, payBy, o.Rev+1
	}
	_, err := m.h.Cancel(m.h.ctx, o.ID, o.User, payBy)
	m.must(err)
}

func (m *model) revive(*rapid.T) {
	o := m.existingOrder()
	if o == nil {
		return
	}
	enoughUnits := int64(o.Qty) <= m.units-m.taken()
	claimed, err := m.h.ClaimHold(m.h.ctx, o.ID, shop.Refused)
	if o.State != shop.Refused {
		if !errors.Is(err, shop.ErrNoRow) {
			m.fail("a claim", "claimed order %s, which is %s: %v", o.ID, o.State, err)
		}
		return
	}
	m.must(err)
	o.Hold++
	_, err = m.h.Revive(m.h.ctx, claimed, m.h.epoch, opens+20, payBy)
	switch {
	case enoughUnits:
		m.must(err)
		o.State, o.Reason, o.PayBy, o.Rev = shop.Pending, "", payBy, o.Rev+1
	case !errors.Is(err, shop.ErrPermanent):
		m.fail("P1: a revival", "revived order %s without units: %v", o.ID, err)
	}
}

func (m *model) check() {
	totals, err := m.h.SaleTotals(m.h.ctx, m.sale)
	m.must(err)
	if want := m.taken(); totals.Taken != want || totals.HeldUnits != want || want > m.units {
		m.fail("I5: the guard counter", "taken %d, held %d, model %d of %d", totals.Taken, totals.HeldUnits, want, m.units)
	}
	rows, err := m.h.OrdersByID(m.h.ctx, m.ids)
	m.must(err)
	if len(rows) != len(m.ids) {
		m.fail("I1: the rows", "%d rows, want %d", len(rows), len(m.ids))
	}
	for _, row := range rows {
		want := m.rows[row.ID]
		if row.State != want.State || row.Rev != want.Rev || row.Hold != want.Hold || row.Reason != want.Reason ||
			row.PayBy != want.PayBy || row.CancelledAt != want.CancelledAt {
			m.fail("I1: the rows", "row %+v\nmodel %+v", row, *want)
		}
	}
}
