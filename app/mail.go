package app

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// ErrLetterRefused is what a mail server's no to one letter wraps, a no that the next try would bring again: it becomes
// a dead letter, and others go on.
var ErrLetterRefused = errors.New("the mail server refuses the letter")

// DeadMail is a letter that could not be sent. It waits for an operator, who has it sent once more or drops it. The
// link in it is not shown.
type DeadMail struct {
	ID     string     `json:"id"`
	At     Millis     `json:"at"`
	Kind   LetterKind `json:"kind"`
	About  string     `json:"about"`
	To     string     `json:"to"`
	Tries  int        `json:"tries"`
	Reason string     `json:"reason"`
}

// orderMailFor is how long after an order was paid or refunded a mail about it still makes sense. The marks that keep a
// repeat from being a second letter stay longer.
const orderMailFor = 7 * 24 * time.Hour

// OrderMail tells buyers who have an e-mail that their order was paid, or that they got their money back. It takes what
// the back office's stream has, under a group of its own.
type OrderMail struct {
	Users interface {
		// UserByID reads an account in any state. ErrNoRow: a guest, or nobody.
		UserByID(ctx context.Context, id ID) (User, error)
	}
	Mailer Mailer
	Now    func() Millis
}

// Deliver hands over the letter about one posting, if there is somebody to write to. It may be repeated: the letter is
// known by order and state.
func (m *OrderMail) Deliver(ctx context.Context, p OutboxMessage) error {
	if m.Now().Sub(p.At) > orderMailFor { // reposted for a back office that had lost it
		return nil
	}
	kind := LetterPaid
	if p.State == Refunded {
		kind = LetterRefunded
	}
	user, err := m.Users.UserByID(ctx, p.User)
	switch {
	case errors.Is(err, ErrNoRow):
		return nil
	case err != nil:
		return fmt.Errorf("read the buyer of order %s: %w", p.Order, err)
	case user.State != UserActive || user.Email == "":
		return nil
	}
	return m.Mailer.Send(ctx, Letter{
		Kind: kind, About: p.Order.String(), To: user.Email, Name: user.Name, Lang: user.Lang,
		Order: &OrderFacts{ID: p.Order, ProductName: p.ProductName, Qty: p.Qty, AmountFen: p.AmountFen},
	})
}
