package outbox

import (
	"context"
	"errors"
	"fmt"
	"time"

	"stampede/app/shop"
)

// QuarantinedEmail is an e-mail that could not be sent. Its link is not shown.
type QuarantinedEmail struct {
	ID     string      `json:"id"`
	At     shop.Millis `json:"at"`
	Kind   EmailKind   `json:"kind"`
	About  string      `json:"about"`
	To     string      `json:"to"`
	Tries  int         `json:"tries"`
	Reason string      `json:"reason"`
}

// OrderMailFor is how long after an order was paid or refunded a mail about it still makes sense. The marks that keep a
// repeat from being a second e-mail stay longer.
const OrderMailFor = 7 * 24 * time.Hour

// OrderMail sends e-mails about paid, refunded and shipped orders to buyers who have an e-mail. Payments and refunds
// come from the back office's stream, under a group of its own; shipments from the Finisher.
type OrderMail struct {
	Users interface {
		// UserByID reads an account in any state. ErrNoRow: a guest, or nobody.
		UserByID(ctx context.Context, id shop.ID) (shop.User, error)
	}
	Mailer Mailer
	Now    func() shop.Millis
}

// Deliver hands over the e-mail about one posting, if there is somebody to write to. It may be repeated: the e-mail is
// known by order and state.
func (m *OrderMail) Deliver(ctx context.Context, p Message) error {
	if m.Now().Sub(p.At) > OrderMailFor { // reposted for a back office that had lost it
		return nil
	}
	kind := EmailPaid
	if p.State == shop.Refunded {
		kind = EmailRefunded
	}
	return m.write(ctx, p.User, kind, p.Order.String(),
		OrderFacts{ID: p.Order, ProductName: p.ProductName, Qty: p.Qty, AmountFen: p.AmountFen})
}

// Shipped hands over the e-mail about a parcel, if there is somebody to write to and the order is still on its way. It
// may be repeated: the e-mail is known by the order and the instant at which the parcel was entered.
func (m *OrderMail) Shipped(ctx context.Context, o *shop.Order, shipped shop.Millis, carrier, tracking string) error {
	if o.State != shop.Shipped || m.Now().Sub(shipped) > OrderMailFor {
		return nil
	}
	return m.write(ctx, o.User, EmailShipped, fmt.Sprintf("%s-%d", o.ID, shipped), OrderFacts{
		ID: o.ID, ProductName: o.ProductName, Qty: o.Qty, AmountFen: o.AmountFen, Carrier: carrier, Tracking: tracking,
	})
}

// write hands an e-mail over, unless the buyer has no e-mail that was proven.
func (m *OrderMail) write(ctx context.Context, buyer shop.ID, kind EmailKind, about string, facts OrderFacts) error {
	user, err := m.Users.UserByID(ctx, buyer)
	switch {
	case errors.Is(err, shop.ErrNoRow):
		return nil
	case err != nil:
		return fmt.Errorf("read the buyer of order %s: %w", facts.ID, err)
	case user.State != shop.UserActive || user.Email == "":
		return nil
	}
	return m.Mailer.Send(ctx, Email{
		Kind: kind, About: about, To: user.Email, Name: user.Name, Lang: user.Lang, Order: &facts,
	})
}
