package outbox

import (
	"stampede/app/shop"
)

// EmailKind is the type of an e-mail.
type EmailKind string

// The kinds of e-mails. Each kind except EmailTaken carries a link or an order.
const (
	EmailActivate EmailKind = "activate" // Link verifies the e-mail address
	EmailTaken    EmailKind = "taken"    // a registration used the address of an existing account
	EmailReset    EmailKind = "reset"    // Link sets a new password
	EmailPaid     EmailKind = "paid"     // Order was paid
	EmailRefunded EmailKind = "refunded" // Order was refunded
	EmailShipped  EmailKind = "shipped"  // Order was shipped
)

// Email is an e-mail to one recipient. Its Link is a secret and must not be logged.
type Email struct {
	Kind EmailKind
	// About identifies the e-mail: two e-mails with the same Kind and About are duplicates. It contains no secret: it
	// is an id, or the hash of the token in the link.
	About string
	To    string // a valid e-mail address
	Name  string // as entered by the user
	Lang  string // en or zh
	Link  string // complete URL, for EmailActivate and EmailReset
	Order *OrderFacts
}

// OrderFacts contains the data of an order in an e-mail.
type OrderFacts struct {
	ID          shop.ID
	ProductName string
	Qty         int
	AmountFen   int64
	Carrier     string `json:",omitempty"` // for EmailShipped, as is Tracking
	Tracking    string `json:",omitempty"`
}
