package wsclient

import (
	"encoding/json"

	"stampede/app/shop"
)

// The answers to buy, pay and watch are order.Receipt, payment.Payable and catalog.WatchView; those to unwatch and seen
// say nothing.

// Welcome answers hello.
type Welcome struct {
	Now          shop.Millis        `json:"now"`
	Version      int                `json:"version"`
	Session      string             `json:"session"`
	User         *User              `json:"user,omitempty"` // nil without a token
	Cursor       string             `json:"cursor"`
	Missed       []OrderEvent       `json:"missed"`
	Reset        bool               `json:"reset,omitempty"` // the cursor was of no use
	Reservations []shop.Reservation `json:"reservations"`    // those without a row
}

// User is whom a token names.
type User struct {
	ID   shop.ID `json:"id"`
	Name string  `json:"name"`
	Role string  `json:"role"`
}

// Renewed answers renew.
type Renewed struct {
	Expires shop.Millis `json:"expires"`
}

// RoundTrip answers time.
type RoundTrip struct {
	T0  json.Number `json:"t0"`
	Now shop.Millis `json:"now"`
}

// State answers cancel and refund: what the order is by now.
type State struct {
	State shop.OrderState `json:"state"`
}

// Page answers orders, the newest first.
type Page struct {
	Orders []shop.Order `json:"orders"`
	More   bool         `json:"more"`
}
