package wsclient

import (
	"encoding/json"

	"stampede/app/shop"
)

// The replies to buy, pay and watch are order.Receipt, payment.Payable and catalog.WatchView. The replies to unwatch
// and seen are empty.

// Welcome is the reply to hello.
type Welcome struct {
	Now          shop.Millis        `json:"now"`
	Version      int                `json:"version"`
	Session      string             `json:"session"`
	User         *User              `json:"user,omitempty"` // nil without a token
	Cursor       string             `json:"cursor"`
	Missed       []OrderEvent       `json:"missed"`
	Reset        bool               `json:"reset,omitempty"` // the cursor was not usable
	Reservations []shop.Reservation `json:"reservations"`    // reservations without a row
}

// User is the user of a token.
type User struct {
	ID   shop.ID `json:"id"`
	Name string  `json:"name"`
	Role string  `json:"role"`
}

// Renewed is the reply to renew.
type Renewed struct {
	Expires shop.Millis `json:"expires"`
}

// RoundTrip is the reply to time.
type RoundTrip struct {
	T0  json.Number `json:"t0"`
	Now shop.Millis `json:"now"`
}

// State is the reply to cancel and refund: the current state of the order.
type State struct {
	State shop.OrderState `json:"state"`
}

// Page is the reply to orders, newest first.
type Page struct {
	Orders []shop.Order `json:"orders"`
	More   bool         `json:"more"`
}
