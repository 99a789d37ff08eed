package backoffice

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"stampede/app/journal"
	"stampede/app/order"
	"stampede/app/outbox"
	"stampede/app/shop"
	"stampede/app/test/fakes"
)

// parcels is a store of one order and its parcel.
type parcels struct {
	ShipmentStore
	*fakes.OneOrder
	sent    *Shipment
	asked   bool
	letters int
}

func (p *parcels) Ship(_ context.Context, how Shipping, list []Parcel) ([]ShippedOrder, error) {
	out := make([]ShippedOrder, len(list))
	for i := range list {
		if list[i].Order != p.Row.ID {
			out[i].Outcome = ShipNoOrder
			continue
		}
		if out[i].Outcome = JudgeShip(&p.Row, p.sent, p.asked, &list[i], how.Replace); out[i].Outcome == ShipDone {
			p.Add("ship")
			p.Row.State, p.Row.Rev, p.Row.Stamped = shop.Shipped, p.Row.Rev+1, true
			p.sent = &Shipment{
				Order: p.Row.ID, Carrier: list[i].Carrier, Tracking: list[i].Tracking,
				ShippedAt: how.At, FinishAt: how.Finish,
			}
			p.letters++
		}
		out[i].Order = p.Row
	}
	return out, p.Falls("ship")
}

func (p *parcels) LookShip(context.Context, Shipping, []Parcel) ([]ShippedOrder, error) {
	return nil, errors.New("looked")
}

func (p *parcels) ConfirmReceipt(_ context.Context, order, user shop.ID) (shop.Order, bool, error) {
	if order != p.Row.ID || user != p.Row.User {
		return shop.Order{}, false, shop.ErrNoRow
	}
	if p.Row.State == shop.Shipped && !p.asked {
		p.flip(shop.Finished)
	}
	return p.Row, p.asked, p.Falls("receipt")
}

func (p *parcels) flip(to shop.OrderState) {
	p.Add("%s", to)
	p.Row.State, p.Row.Rev, p.Row.Stamped = to, p.Row.Rev+1, true
}

func (p *parcels) FinishShipped(_ context.Context, now, _ shop.Millis, _ int) ([]shop.Order, int, error) {
	if p.Row.State != shop.Shipped || p.sent.FinishAt > now {
		return nil, 0, p.Falls("finish")
	}
	p.flip(shop.Finished)
	return []shop.Order{p.Row}, 1, nil
}

func (p *parcels) ClaimShipped(context.Context, shop.Millis, int) ([]Shipment, error) {
	if p.letters == 0 {
		return nil, nil
	}
	return []Shipment{*p.sent}, p.Falls("claim")
}

func (p *parcels) MarkWritten(context.Context, Shipment, shop.Millis) error {
	p.letters--
	return nil
}

func (p *parcels) Rewrite(_ context.Context, since shop.Millis) error {
	p.Add("rewrite since %d", since)
	return nil
}

// mailQueue lost e-mails until that is confirmed.
type mailQueue struct {
	*fakes.Trace
	lost error
}

func (q *mailQueue) Check(context.Context) error { return q.lost }

func (q *mailQueue) Reread(context.Context) error {
	q.Add("reread")
	return nil
}

func (q *mailQueue) Confirm(context.Context, *outbox.LostError) error {
	q.Add("confirm")
	q.lost = nil
	return nil
}

func newTestShipping(state shop.OrderState) (*ShippingDesk, *parcels) {
	tr := &fakes.Trace{}
	book := &fakes.OneOrder{Trace: tr, Row: shop.Order{ID: 1, Sale: 7, User: 9, State: state, Rev: 3, ToldRev: 3}}
	p := &parcels{OneOrder: book}
	inventory := &fakes.Redis{Trace: tr, At: 1_000_000}
	return &ShippingDesk{
		Inventory: inventory, Orders: book, Shipments: p, Effects: effectsOf(
			inventory, book, &fakes.Notifier{Trace: tr},
		),
		Journal: &journal.Journal{Store: &fakes.Acts{}}, FinishAfter: time.Hour,
	}, p
}

// What is shipped is committed first and told after it; the same act again is done once and told again; what cannot be
// shipped says why, and leaves no act.
func TestShippedOrdersAreTold(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		from  shop.OrderState
		asked bool
		says  string // of the refusal
	}{
		{shop.Paid, false, ""},
		{shop.Paid, true, "decide on that first"},
		{shop.Pending, false, "pending cannot be shipped"},
		{shop.Finished, false, "finished cannot be shipped"},
		{shop.Refunding, false, "refunding cannot be shipped"},
	} {
		desk, p := newTestShipping(c.from)
		p.asked = c.asked
		actor := journal.Actor{User: 5, Name: "ada", Key: "key-00001"}
		_, err := desk.Ship(t.Context(), actor, Parcel{1, "SF", "SF-1"}, false)
		if c.says != "" {
			if err == nil || shop.AsError(err).Code != shop.WrongState || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%s: %v", c.from, err)
			}
			fakes.WantSteps(t, p.Trace)
			if rows := desk.Journal.Store.(*fakes.Acts).Rows; len(rows) != 0 {
				t.Errorf("%s: an act %+v", c.from, rows)
			}
			continue
		}
		if err != nil || p.sent.FinishAt != 1_000_000+3_600_000 {
			t.Fatalf("%v, %+v", err, p.sent)
		}
		fakes.WantSteps(t, p.Trace, "ship", "sell 1", "tell 1")
		if o, err := desk.Ship(t.Context(), actor, Parcel{1, "SF", "SF-1"}, false); err != nil || o.State != shop.Shipped {
			t.Errorf("again: %+v, %v", o, err)
		}
		actor.Key = "key-00002"
		_, err = desk.Ship(t.Context(), actor, Parcel{1, "SF", "SF-2"}, false)
		if err == nil || !strings.Contains(err.Error(), "another parcel") {
			t.Errorf("another parcel: %v", err)
		}
	}
	desk, _ := newTestShipping(shop.Paid)
	if _, err := desk.Ship(
		t.Context(), journal.Actor{}, Parcel{2, "SF", "SF-1"}, false,
	); shop.AsError(err).Code != shop.NotFound {
		t.Errorf("no order: %v", err)
	}
}

func TestParcelsAreChecked(t *testing.T) {
	t.Parallel()
	for _, p := range []Parcel{
		{1, "", "SF1"},
		{1, " SF", "SF1"},
		{1, "SF\n", "SF1"},
		{1, strings.Repeat("顺", 25), "SF1"},
		{1, "SF", ""},
		{1, "SF", "=1+1"},
		{1, "SF", "<b>"},
		{1, "SF", "SF 1"},
		{1, "SF", strings.Repeat("1", 40)},
	} {
		if err := p.Validate(); err == nil || shop.AsError(err).Code != shop.BadRequest {
			t.Errorf("%+v: %v", p, err)
		}
	}
	longest := Parcel{1, strings.Repeat("顺", 24), strings.Repeat("9", 39)}
	if err := longest.Validate(); err != nil || len([]rune(longest.Label())) > 64 {
		t.Errorf("%v, %q", err, longest.Label())
	}
}

// The receipt is its buyer's alone, of what is shipped, and told; not while a refund is to be decided on.
func TestReceiptIsTheBuyers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		from  shop.OrderState
		user  shop.ID
		asked bool
		code  shop.Code
		steps []string
	}{
		{shop.Shipped, 9, false, "", []string{"finished", "sell 1", "tell 1"}},
		{shop.Finished, 9, false, "", nil},
		{shop.Shipped, 8, false, shop.NotFound, nil},
		{shop.Shipped, 9, true, shop.WrongState, nil},
		{shop.Paid, 9, false, shop.WrongState, nil},
		{shop.Refunded, 9, false, shop.WrongState, nil},
	} {
		desk, p := newTestShipping(c.from)
		p.asked = c.asked
		state, err := desk.ConfirmReceipt(t.Context(), c.user, 1)
		if (c.code == "") != (err == nil) || err != nil && shop.AsError(err).Code != c.code ||
			err == nil && state != shop.Finished {
			t.Errorf("%s: %s, %v", c.from, state, err)
		}
		fakes.WantSteps(t, p.Trace, c.steps...)
	}
	desk, p := newTestShipping(shop.Shipped)
	p.Fail = "receipt"
	if _, err := desk.ConfirmReceipt(t.Context(), 9, 1); shop.AsError(err).Code != shop.Busy ||
		!errors.Is(err, shop.ErrTransient) {
		t.Errorf("unknown outcome: %v", err)
	}
}

// The buyer gets one e-mail. An order that is not confirmed in time finishes, which is published. Lost e-mails are
// repeated before the loss is confirmed.
func TestFinisherWritesAndFinishes(t *testing.T) {
	t.Parallel()
	desk, p := newTestShipping(shop.Paid)
	fakes.Must(t, fakes.ErrOf(desk.Ship(t.Context(), journal.Actor{Key: "key-00001"}, Parcel{1, "SF", "SF-1"}, false)))
	r := &readers{users: map[shop.ID]shop.User{9: {ID: 9, Email: "a@mail.example", State: shop.UserActive}}}
	inventory := desk.Inventory.(*fakes.Redis)
	f := &Finisher{
		Inventory: inventory, Orders: p.OneOrder, Shipments: p, Effects: desk.Effects,
		Mail:  &outbox.OrderMail{Users: r, Mailer: r, Now: func() shop.Millis { return inventory.At }},
		Queue: &mailQueue{Trace: p.Trace, lost: &outbox.LostError{}},
	}
	p.Steps = nil
	for _, step := range []struct {
		fail    string
		after   time.Duration
		letters int
		state   shop.OrderState
	}{
		{"claim", 0, 0, shop.Shipped},
		{"", 0, 1, shop.Shipped},
		{"", time.Hour - 1, 1, shop.Shipped},
		{"", time.Hour, 1, shop.Finished},
		{"", time.Hour, 1, shop.Finished},
	} {
		p.Fail, inventory.At = step.fail, shop.Millis(1_000_000).Add(step.after)
		if err := f.RunOnce(t.Context()); (err != nil) != (step.fail != "") {
			t.Errorf("%+v: %v", step, err)
		}
		if len(r.sent) != step.letters || p.Row.State != step.state {
			t.Errorf("%+v: %d letters, %s", step, len(r.sent), p.Row.State)
		}
	}
	fakes.WantSteps(t, p.Trace, "reread", "rewrite since -603800000", "confirm", "finished", "sell 1", "tell 1")
}

// effectsOf are the effects on fakes that share a trace.
func effectsOf(inventory order.Redis, orders order.Store, notifier order.Notifier) *order.Effects {
	return &order.Effects{Redis: inventory, Notifier: notifier, Store: orders, Told: &order.Told{Store: orders}}
}

// readers are accounts by id, and a box for the e-mails to them.
type readers struct {
	users map[shop.ID]shop.User
	sent  []outbox.Email
}

func (r *readers) UserByID(_ context.Context, id shop.ID) (shop.User, error) {
	u, ok := r.users[id]
	if !ok {
		return shop.User{}, shop.ErrNoRow
	}
	return u, nil
}

func (r *readers) Send(_ context.Context, mails ...outbox.Email) error {
	r.sent = append(r.sent, mails...)
	return nil
}
