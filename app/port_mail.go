package app

import "context"

// LetterKind is what a mail is about.
type LetterKind string

// The kinds of letters. Each but LetterTaken carries a link or an order.
const (
	LetterActivate LetterKind = "activate" // Link proves that the e-mail is the reader's
	LetterTaken    LetterKind = "taken"    // somebody wanted to register with this e-mail, which has an account
	LetterReset    LetterKind = "reset"    // Link sets a new password
	LetterPaid     LetterKind = "paid"     // Order was paid
	LetterRefunded LetterKind = "refunded" // the money of Order was given back
	LetterShipped  LetterKind = "shipped"  // Order is on its way
)

// Letter is a mail to one person. Its Link is a secret: it reaches no log.
type Letter struct {
	Kind LetterKind
	// About makes it the same letter again: two letters of a kind about the same thing are one, sent twice by a repeat.
	// It tells nothing: an id, or the hash of what the link proves.
	About string
	To    string // a checked e-mail
	Name  string // as its bearer typed it
	Lang  string // en or zh
	Link  string // whole, for LetterActivate and LetterReset
	Order *OrderFacts
}

// OrderFacts is what a letter tells of an order.
type OrderFacts struct {
	ID          ID
	ProductName string
	Qty         int
	AmountFen   int64
	Carrier     string `json:",omitempty"` // for LetterShipped, with its number
	Tracking    string `json:",omitempty"`
}

// Mailer takes letters over to be sent: once Send has answered nil, each of them is sent at least once, also after a
// crash. It waits for no mail server.
type Mailer interface {
	Send(ctx context.Context, letters ...Letter) error
}
