package outbox

import (
	"context"
	"errors"
	"fmt"
	"time"

	"stampede/app/shop"
)

// QuarantinedEmail is an e-mail that could not be sent, without its link.
type QuarantinedEmail struct {
	ID     string      `json:"id"`
	At     shop.Millis `json:"at"`
	Kind   EmailKind   `json:"kind"`
	About  string      `json:"about"`
	To     string      `json:"to"`
	Tries  int         `json:"tries"`
	Reason string      `json:"reason"`
}

// OrderMailMaxAge is the maximum age of a payment, refund or shipment for which an e-mail is sent. The marks that
// prevent duplicate e-mails are kept longer.
const OrderMailMaxAge = 7 * 24 * time.Hour

// OrderMail sends e-mails about paid, refunded and shipped orders to buyers with an e-mail address. Payments and
// refunds come from the back office's stream, through a separate consumer group; shipments come from the Finisher.
type OrderMail struct {
	// UserByID reads an account in any state. ErrNoRow: a guest or an unknown id.
	UserByID func(ctx context.Context, id shop.ID) (shop.User, error)
	Mailer   Mailer
	Now      func() shop.Millis
}

// Deliver enqueues the e-mail about one posting, if the buyer has an e-mail address. Deliver is idempotent: order and
// state identify the e-mail.
func (m *OrderMail) Deliver(ctx context.Context, p Message) error {
	if m.Now().Sub(p.At) > OrderMailMaxAge { // an old posting that was appended again
		return nil
	}
	kind := EmailPaid
	if p.State == shop.Refunded {
		kind = EmailRefunded
	}
	return m.enqueue(ctx, p.User, kind, p.Order.String(),
		OrderFacts{ID: p.Order, ProductName: p.ProductName, Qty: p.Qty, AmountFen: p.AmountFen})
}

// Shipped enqueues the e-mail about a parcel, if the buyer has an e-mail address and the order is still in the state
// `shipped`. Shipped is idempotent: the order and the time of the shipment identify the e-mail.
func (m *OrderMail) Shipped(ctx context.Context, o *shop.Order, shipped shop.Millis, carrier, tracking string) error {
	if o.State != shop.Shipped || m.Now().Sub(shipped) > OrderMailMaxAge {
		return nil
	}
	return m.enqueue(ctx, o.User, EmailShipped, fmt.Sprintf("%s-%d", o.ID, shipped), OrderFacts{
		ID: o.ID, ProductName: o.ProductName, Qty: o.Qty, AmountFen: o.AmountFen, Carrier: carrier, Tracking: tracking,
	})
}

// enqueue enqueues an e-mail, unless the buyer has no verified e-mail address.
func (m *OrderMail) enqueue(ctx context.Context, buyer shop.ID, kind EmailKind, about string, facts OrderFacts) error {
	user, err := m.UserByID(ctx, buyer)
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
