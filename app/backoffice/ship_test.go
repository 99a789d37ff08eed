package backoffice

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"stampede/app/outbox"
	"stampede/app/payment"
	"stampede/app/shop"
	"stampede/app/store"
	"stampede/app/test/fakes"
)

var parcel = store.Parcel{Order: 1, Carrier: "SF", Tracking: "SF-1"}

// mailQueue reports lost e-mails until the loss is confirmed.
type mailQueue struct {
	*fakes.Trace
	lost error
}

func (q *mailQueue) Check(context.Context) error { return q.lost }

func (q *mailQueue) RepeatRecent(context.Context) error {
	q.Add("reread")
	return nil
}

func (q *mailQueue) Confirm(context.Context, *outbox.LostError) error {
	q.Add("confirm")
	q.lost = nil
	return nil
}

func (w *world) shipping() *ShippingService {
	return &ShippingService{
		Store: w.Store, RedisTime: w.redis.Now, Effects: w.effects(),
		FinishAfter: 14 * 24 * time.Hour,
	}
}

// A shipment is committed first and published afterwards. A repeat commits nothing and publishes again. A rejected
// shipment returns the reason and leaves no operation.
func TestShipmentsArePublishedAfterTheCommit(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for i, state := range []shop.OrderState{shop.Paid, shop.Paid, shop.Pending, shop.Finished, shop.Refunding} {
		w.order(shop.ID(i+1), 9, state)
	}
	request := payment.BuyerRefundRequest{Order: 2, User: 9, Text: "late", At: 1}
	fakes.Must(t, fakes.ErrOf(w.Refunds().RequestRefund(w.ctx, request)))
	w.startTrace()
	service, actor := w.shipping(), ada()
	fakes.Must(t, fakes.ErrOf(service.Ship(w.ctx, actor, parcel, store.Shipping{})))
	fakes.WantSteps(t, w.redis.Trace, "RunOperation", "sell 1", "publish 1")
	sent, err := w.Store.Shipments().ShipmentOf(w.ctx, 1)
	if want := w.redis.At.Add(service.FinishAfter); err != nil || sent.FinishAt != want {
		t.Errorf("got %+v, %v; want FinishAt %d", sent, err, want)
	}
	o, err := service.Ship(w.ctx, actor, parcel, store.Shipping{})
	if err != nil || o.State != shop.Shipped || len(w.journalRows()) != 1 {
		t.Errorf("repeat: got %+v, %v, %d journal rows; want shipped and 1 row", o, err, len(w.journalRows()))
	}
	w.redis.Steps = nil
	for id, message := range map[shop.ID]string{
		1: "another parcel", 2: "decide on the refund first", 3: "pending cannot be shipped", 4: "finished cannot be shipped",
		5: "refunding cannot be shipped", 6: "no such order",
	} {
		_, err := service.Ship(w.ctx, ada(), store.Parcel{Order: id, Carrier: "SF", Tracking: "SF-2"}, store.Shipping{})
		want := shop.WrongState
		if id == 6 {
			want = shop.NotFound
		}
		if err == nil || shop.AsError(err).Code != want || !strings.Contains(err.Error(), message) {
			t.Errorf("order %s: got %v, want %s with %q", id, err, want, message)
		}
	}
	if fakes.WantSteps(t, w.redis.Trace); len(w.journalRows()) != 1 {
		t.Errorf("after rejections: got the journal rows %+v, want 1 row", w.journalRows())
	}
}

func TestInvalidParcelsAreRejected(t *testing.T) {
	t.Parallel()
	for _, p := range [][2]string{
		{"", "SF1"},
		{" SF", "SF1"},
		{"SF\n", "SF1"},
		{strings.Repeat("顺", 25), "SF1"},
		{"SF", ""},
		{"SF", "=1+1"},
		{"SF", "<b>"},
		{"SF", "SF 1"},
		{"SF", strings.Repeat("1", 40)},
	} {
		err := checkParcel(&store.Parcel{Order: 1, Carrier: p[0], Tracking: p[1]})
		if err == nil || shop.AsError(err).Code != shop.BadRequest {
			t.Errorf("%q: got %v, want bad_request", p, err)
		}
	}
	maxParcel := store.Parcel{Order: 1, Carrier: strings.Repeat("顺", 24), Tracking: strings.Repeat("9", 39)}
	if err := checkParcel(&maxParcel); err != nil || len([]rune(maxParcel.Label())) > 64 {
		t.Errorf("the longest parcel: got %v, label %q; want at most 64 characters", err, maxParcel.Label())
	}
}

// Only the buyer can confirm the receipt, and only of a shipped order without an undecided refund. The confirmation is
// published.
func TestOnlyTheBuyerConfirmsTheReceipt(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for i, state := range []shop.OrderState{shop.Shipped, shop.Shipped, shop.Paid, shop.Refunded, shop.Shipped} {
		w.order(shop.ID(i+1), 9, state)
	}
	request := payment.BuyerRefundRequest{Order: 2, User: 9, Text: "late", At: 1}
	fakes.Must(t, fakes.ErrOf(w.Refunds().RequestRefund(w.ctx, request)))
	w.startTrace()
	service := w.shipping()
	for _, c := range []struct {
		order, user shop.ID
		code        shop.Code
		message     string
		steps       []string
	}{
		{1, 8, shop.NotFound, "no such order", nil},
		{1, 9, "", "", []string{"ConfirmReceipt", "sell 1", "publish 1"}},
		{1, 9, "", "", []string{"ConfirmReceipt", "sell 1", "Touch", "publish 1"}}, // until marked as published
		{2, 9, shop.WrongState, "money back", []string{"ConfirmReceipt"}},
		{3, 9, shop.WrongState, "paid cannot", []string{"ConfirmReceipt"}},
		{4, 9, shop.WrongState, "refunded cannot", []string{"ConfirmReceipt"}},
	} {
		w.redis.Steps = nil
		state, err := service.ConfirmReceipt(w.ctx, c.user, c.order)
		if (c.code == "") != (err == nil) || err == nil && state != shop.Finished ||
			err != nil && (shop.AsError(err).Code != c.code || !strings.Contains(err.Error(), c.message)) {
			t.Errorf("order %s of user %s: got the state %s, %v; want the code %q", c.order, c.user, state, err, c.code)
		}
		fakes.WantSteps(t, w.redis.Trace, c.steps...)
	}
	w.fail = "Shipments.ConfirmReceipt"
	if _, err := service.ConfirmReceipt(w.ctx, 9, 5); shop.AsError(err).Code != shop.Busy ||
		!errors.Is(err, shop.ErrTransient) {
		t.Errorf("an unknown outcome: got %v, want busy", err)
	}
}

// The buyer gets one e-mail. An order that is not confirmed in time finishes, and this is published. The lost e-mails
// of the last week are repeated before the loss is confirmed.
func TestFinisherSendsEmailsAndFinishesOrders(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.user(9, "a@mail.example", "Ann")
	w.order(1, 9, shop.Paid)
	service, mailer := w.shipping(), &fakeMailer{}
	fakes.Must(t, fakes.ErrOf(service.Ship(w.ctx, ada(), parcel, store.Shipping{})))
	w.startTrace()
	queue := &mailQueue{Trace: w.redis.Trace}
	f := &FinisherJob{
		Store: w.Store, RedisTime: w.redis.Now, Effects: service.Effects, Queue: queue,
		Mail: &outbox.OrderMail{
			UserByID: w.Accounts().UserByID, Mailer: mailer, Now: func() shop.Millis { return w.redis.At },
		},
	}
	repeated := []string{"reread", "RescheduleEmails", "confirm"}
	written := []string{"ClaimShipped", "MarkEmailSent"}
	for _, step := range []struct {
		fail  string
		lost  error
		after time.Duration
		mails int
		state shop.OrderState
		steps []string
	}{
		{fail: "Shipments.ClaimShipped", state: shop.Shipped},
		{mails: 1, state: shop.Shipped, steps: written},
		{state: shop.Shipped, mails: 1},
		{
			lost: &outbox.LostError{}, after: outbox.OrderMailMaxAge, mails: 2, state: shop.Shipped,
			steps: slices.Concat(repeated, written),
		},
		{
			lost: &outbox.LostError{}, after: outbox.OrderMailMaxAge + 1e6, mails: 2, state: shop.Shipped,
			steps: repeated,
		},
		{after: service.FinishAfter - 1e6, mails: 2, state: shop.Shipped},
		{after: service.FinishAfter, mails: 2, state: shop.Finished, steps: []string{"FinishShipped", "sell 1", "publish 1"}},
		{after: service.FinishAfter, mails: 2, state: shop.Finished},
	} {
		w.redis.Steps, w.redis.At = nil, shop.Millis(1_000_000).Add(step.after)
		w.fail, queue.lost = step.fail, step.lost
		if err := f.RunOnce(w.ctx); (err != nil) != (step.fail != "") {
			t.Errorf("step %+v: got the error %v, want an error: %v", step, err, step.fail != "")
		}
		o, err := w.Orders().Order(w.ctx, 1)
		if err != nil || len(mailer.sent) != step.mails || o.State != step.state {
			t.Errorf("step %+v: got %d e-mails, the state %s, %v; want %d and %s", step, len(mailer.sent), o.State, err, step.mails, step.state)
		}
		fakes.WantSteps(t, w.redis.Trace, step.steps...)
	}
}

// fakeMailer collects e-mails.
type fakeMailer struct{ sent []outbox.Email }

func (m *fakeMailer) Send(_ context.Context, mails ...outbox.Email) error {
	m.sent = append(m.sent, mails...)
	return nil
}
