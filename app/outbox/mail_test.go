package outbox

import (
	"context"
	"errors"
	"testing"
	"time"

	"stampede/app/shop"
)

// fakeAccounts contains accounts by id and collects the e-mails to them.
type fakeAccounts struct {
	users map[shop.ID]shop.User
	fail  error
	sent  []Email
}

func (f *fakeAccounts) UserByID(_ context.Context, id shop.ID) (shop.User, error) {
	u, ok := f.users[id]
	if f.fail != nil {
		return shop.User{}, f.fail
	}
	if !ok {
		return shop.User{}, shop.ErrNoRow
	}
	return u, nil
}

func (f *fakeAccounts) Send(_ context.Context, mails ...Email) error {
	f.sent = append(f.sent, mails...)
	return nil
}

// E-mails about recent payments and refunds go only to verified addresses, in the language of the buyer. If the account
// cannot be read, the posting is redelivered.
func TestOrderMailsGoToVerifiedAddresses(t *testing.T) {
	t.Parallel()
	const now = shop.Millis(1_800_000_000_000)
	r := &fakeAccounts{users: map[shop.ID]shop.User{
		1: {ID: 1, Email: "ada@mail.example", Name: "Ada", Lang: "zh", State: shop.UserActive},
		2: {ID: 2, Email: "bob@mail.example", Lang: "en", State: shop.UserPending},
		3: {ID: 3, State: shop.UserDeleted},
	}}
	m := &OrderMail{UserByID: r.UserByID, Mailer: r, Now: func() shop.Millis { return now }}
	messageFor := func(user shop.ID, state shop.OrderState, ago time.Duration) Message {
		return Message{
			Order: 70 + user, State: state, User: user, At: now.Add(-ago), ProductName: "Lamp", Qty: 2, AmountFen: 9800,
		}
	}
	for _, p := range []Message{
		messageFor(1, shop.Paid, 0), messageFor(
			1, shop.Refunded, 6*24*time.Hour,
		), messageFor(1, shop.Paid, 8*24*time.Hour), messageFor(2, shop.Paid, 0),
		messageFor(3, shop.Paid, 0), messageFor(4, shop.Paid, 0),
	} {
		if err := m.Deliver(t.Context(), p); err != nil {
			t.Errorf("posting %+v: got error %v", p, err)
		}
	}
	if len(r.sent) != 2 || r.sent[0].Kind != EmailPaid || r.sent[1].Kind != EmailRefunded {
		t.Fatalf("got e-mails %+v, want one about the payment and one about the refund", r.sent)
	}
	l := r.sent[0]
	want := OrderFacts{ID: 71, ProductName: "Lamp", Qty: 2, AmountFen: 9800}
	if l.To != "ada@mail.example" || l.Lang != "zh" || l.About != "71" || l.Name != "Ada" || *l.Order != want {
		t.Errorf("got e-mail %+v about order %+v, want order %+v", l, l.Order, want)
	}
	o := &shop.Order{ID: 71, State: shop.Shipped, User: 1, ProductName: "Lamp", Qty: 2, AmountFen: 9800}
	for state, emails := range map[shop.OrderState]int{shop.Shipped: 1, shop.Finished: 0, shop.Refunding: 0} {
		o.State, r.sent = state, nil
		if err := m.Shipped(t.Context(), o, now-5, "顺丰", "SF-1"); err != nil || len(r.sent) != emails {
			t.Errorf("parcel of an order in state %s: got %d e-mails, error %v; want %d e-mails", state, len(r.sent), err, emails)
		}
		if emails > 0 && (r.sent[0].Kind != EmailShipped || r.sent[0].Order.Tracking != "SF-1") {
			t.Errorf("got e-mail %+v, want kind shipped with tracking number SF-1", r.sent[0])
		}
	}
	r.fail = shop.ErrTransient
	if err := m.Deliver(t.Context(), messageFor(1, shop.Paid, 0)); !errors.Is(err, shop.ErrTransient) {
		t.Errorf("unreadable accounts: got %v, want ErrTransient", err)
	}
}
