package app

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"
)

// parcels is a store of one order and its parcel.
type parcels struct {
	ShipmentStore
	*oneOrder
	sent    *Shipment
	asked   bool
	letters int
}

func (p *parcels) Ship(_ context.Context, how Shipping, list []Parcel) ([]ShippedOrder, error) {
	out := make([]ShippedOrder, len(list))
	for i := range list {
		if list[i].Order != p.order.ID {
			out[i].Outcome = ShipNoOrder
			continue
		}
		if out[i].Outcome = JudgeShip(&p.order, p.sent, p.asked, &list[i], how.Replace); out[i].Outcome == ShipDone {
			p.add("ship")
			p.order.State, p.order.Rev, p.order.Stamped = Shipped, p.order.Rev+1, true
			p.sent = &Shipment{
				Order: p.order.ID, Carrier: list[i].Carrier, Tracking: list[i].Tracking,
				ShippedAt: how.At, FinishAt: how.Finish,
			}
			p.letters++
		}
		out[i].Order = p.order
	}
	return out, p.falls("ship")
}

func (p *parcels) LookShip(context.Context, Shipping, []Parcel) ([]ShippedOrder, error) {
	return nil, errors.New("looked")
}

func (p *parcels) ConfirmReceipt(_ context.Context, order, user ID) (Order, bool, error) {
	if order != p.order.ID || user != p.order.User {
		return Order{}, false, ErrNoRow
	}
	if p.order.State == Shipped && !p.asked {
		p.flip(Finished)
	}
	return p.order, p.asked, p.falls("receipt")
}

func (p *parcels) flip(to OrderState) {
	p.add("%s", to)
	p.order.State, p.order.Rev, p.order.Stamped = to, p.order.Rev+1, true
}

func (p *parcels) FinishShipped(_ context.Context, now, _ Millis, _ int) ([]Order, int, error) {
	if p.order.State != Shipped || p.sent.FinishAt > now {
		return nil, 0, p.falls("finish")
	}
	p.flip(Finished)
	return []Order{p.order}, 1, nil
}

func (p *parcels) ClaimShipped(context.Context, Millis, int) ([]Shipment, error) {
	if p.letters == 0 {
		return nil, nil
	}
	return []Shipment{*p.sent}, p.falls("claim")
}

func (p *parcels) MarkWritten(context.Context, Shipment, Millis) error {
	p.letters--
	return nil
}

func (p *parcels) Rewrite(_ context.Context, since Millis) error {
	p.add("rewrite since %d", since)
	return nil
}

// mailQueue lost e-mails until that is confirmed.
type mailQueue struct {
	*trace
	lost error
}

func (q *mailQueue) Check(context.Context) error { return q.lost }

func (q *mailQueue) Reread(context.Context) error {
	q.add("reread")
	return nil
}

func (q *mailQueue) Confirm(context.Context, *LostError) error {
	q.add("confirm")
	q.lost = nil
	return nil
}

func newTestShipping(state OrderState) (*ShippingDesk, *parcels) {
	tr := &trace{}
	book := &oneOrder{trace: tr, order: Order{ID: 1, Sale: 7, User: 9, State: state, Rev: 3, ToldRev: 3}}
	p := &parcels{oneOrder: book}
	inventory := &fakeInventory{trace: tr, now: 1_000_000}
	return &ShippingDesk{
		Inventory: inventory, Orders: book, Shipments: p, Effects: effectsOf(inventory, book, &fakeNotifier{trace: tr}),
		Journal: &Journal{Store: &fakeActs{}}, FinishAfter: time.Hour,
	}, p
}

// What is shipped is committed first and told after it; the same act again is done once and told again; what cannot be
// shipped says why, and leaves no act.
func TestShippedOrdersAreTold(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		from  OrderState
		asked bool
		says  string // of the refusal
	}{
		{Paid, false, ""},
		{Paid, true, "decide on that first"},
		{Pending, false, "pending cannot be shipped"},
		{Finished, false, "finished cannot be shipped"},
		{Refunding, false, "refunding cannot be shipped"},
	} {
		desk, p := newTestShipping(c.from)
		p.asked = c.asked
		actor := Actor{User: 5, Name: "ada", Key: "key-00001"}
		_, err := desk.Ship(t.Context(), actor, Parcel{1, "SF", "SF-1"}, false)
		if c.says != "" {
			if err == nil || AsError(err).Code != WrongState || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%s: %v", c.from, err)
			}
			wantSteps(t, p.trace)
			if rows := desk.Journal.Store.(*fakeActs).rows; len(rows) != 0 {
				t.Errorf("%s: an act %+v", c.from, rows)
			}
			continue
		}
		if err != nil || p.sent.FinishAt != 1_000_000+3_600_000 {
			t.Fatalf("%v, %+v", err, p.sent)
		}
		wantSteps(t, p.trace, "ship", "sell 1", "tell 1")
		if o, err := desk.Ship(t.Context(), actor, Parcel{1, "SF", "SF-1"}, false); err != nil || o.State != Shipped {
			t.Errorf("again: %+v, %v", o, err)
		}
		actor.Key = "key-00002"
		_, err = desk.Ship(t.Context(), actor, Parcel{1, "SF", "SF-2"}, false)
		if err == nil || !strings.Contains(err.Error(), "another parcel") {
			t.Errorf("another parcel: %v", err)
		}
	}
	desk, _ := newTestShipping(Paid)
	if _, err := desk.Ship(t.Context(), Actor{}, Parcel{2, "SF", "SF-1"}, false); AsError(err).Code != NotFound {
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
		if err := p.Validate(); err == nil || AsError(err).Code != BadRequest {
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
		from  OrderState
		user  ID
		asked bool
		code  Code
		steps []string
	}{
		{Shipped, 9, false, "", []string{"finished", "sell 1", "tell 1"}},
		{Finished, 9, false, "", nil},
		{Shipped, 8, false, NotFound, nil},
		{Shipped, 9, true, WrongState, nil},
		{Paid, 9, false, WrongState, nil},
		{Refunded, 9, false, WrongState, nil},
	} {
		desk, p := newTestShipping(c.from)
		p.asked = c.asked
		state, err := desk.ConfirmReceipt(t.Context(), c.user, 1)
		if (c.code == "") != (err == nil) || err != nil && AsError(err).Code != c.code ||
			err == nil && state != Finished {
			t.Errorf("%s: %s, %v", c.from, state, err)
		}
		wantSteps(t, p.trace, c.steps...)
	}
	desk, p := newTestShipping(Shipped)
	p.fail = "receipt"
	if _, err := desk.ConfirmReceipt(t.Context(), 9, 1); AsError(err).Code != Busy || !errors.Is(err, ErrTransient) {
		t.Errorf("unknown outcome: %v", err)
	}
}

// The buyer gets one e-mail. An order that is not confirmed in time finishes, which is published. Lost e-mails are
// repeated before the loss is confirmed.
func TestFinisherWritesAndFinishes(t *testing.T) {
	t.Parallel()
	desk, p := newTestShipping(Paid)
	must(t, errOf(desk.Ship(t.Context(), Actor{Key: "key-00001"}, Parcel{1, "SF", "SF-1"}, false)))
	r := &readers{users: map[ID]User{9: {ID: 9, Email: "a@mail.example", State: UserActive}}}
	inventory := desk.Inventory.(*fakeInventory)
	f := &Finisher{
		Inventory: inventory, Orders: p.oneOrder, Shipments: p, Effects: desk.Effects,
		Mail:  &OrderMail{Users: r, Mailer: r, Now: func() Millis { return inventory.now }},
		Queue: &mailQueue{trace: p.trace, lost: &LostError{}},
	}
	p.steps = nil
	for _, step := range []struct {
		fail    string
		after   time.Duration
		letters int
		state   OrderState
	}{
		{"claim", 0, 0, Shipped},
		{"", 0, 1, Shipped},
		{"", time.Hour - 1, 1, Shipped},
		{"", time.Hour, 1, Finished},
		{"", time.Hour, 1, Finished},
	} {
		p.fail, inventory.now = step.fail, Millis(1_000_000).Add(step.after)
		if err := f.RunOnce(t.Context()); (err != nil) != (step.fail != "") {
			t.Errorf("%+v: %v", step, err)
		}
		if len(r.sent) != step.letters || p.order.State != step.state {
			t.Errorf("%+v: %d letters, %s", step, len(r.sent), p.order.State)
		}
	}
	wantSteps(t, p.trace, "reread", "rewrite since -603800000", "confirm", "finished", "sell 1", "tell 1")
}
