package outbox

import (
	"stampede/app/shop"
)

// EmailKind is what a mail is about.
type EmailKind string

// The kinds of e-mails. Each but EmailTaken carries a link or an order.
const (
	EmailActivate EmailKind = "activate" // Link proves that the e-mail is the reader's
	EmailTaken    EmailKind = "taken"    // somebody wanted to register with this e-mail, which has an account
	EmailReset    EmailKind = "reset"    // Link sets a new password
	EmailPaid     EmailKind = "paid"     // Order was paid
	EmailRefunded EmailKind = "refunded" // the money of Order was given back
	EmailShipped  EmailKind = "shipped"  // Order is on its way
)

// Email is a mail to one person. Its Link is a secret: it reaches no log.
type Email struct {
	Kind EmailKind
	// About makes it the same e-mail again: two e-mails of a kind about the same thing are one, sent twice by a repeat.
	// It tells nothing: an id, or the hash of what the link proves.
	About string
	To    string // a checked e-mail
	Name  string // as its bearer typed it
	Lang  string // en or zh
	Link  string // whole, for EmailActivate and EmailReset
	Order *OrderFacts
}

// OrderFacts is what an e-mail tells of an order.
type OrderFacts struct {
	ID          shop.ID
	ProductName string
	Qty         int
	AmountFen   int64
	Carrier     string `json:",omitempty"` // for EmailShipped, with its number
	Tracking    string `json:",omitempty"`
}
