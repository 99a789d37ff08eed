package backoffice

import (
	"context"
	"strings"
	"unicode/utf8"

	"stampede/app/journal"
	"stampede/app/shop"
)

// Parcel is what an operator has sent to the buyer of an order.
type Parcel struct {
	Order    shop.ID
	Carrier  string // as people know it
	Tracking string // the carrier's number
}

// Limits of a parcel, in characters. Both and a space between them are what an order tells its buyer.
const (
	longestCarrier  = 24
	longestTracking = 39
)

const trackingLetters = journal.KeyLetters + "./"

// Validate names the part that is missing or cannot be taken.
func (p *Parcel) Validate() error {
	switch {
	case p.Carrier == "" || strings.TrimSpace(p.Carrier) != p.Carrier:
		return shop.Fail(shop.BadRequest, "carrier is missing, or begins or ends with a space")
	case utf8.RuneCountInString(p.Carrier) > longestCarrier || !shop.Printable(p.Carrier):
		return shop.Failf(shop.BadRequest, "carrier must be text of at most %d characters", longestCarrier)
	case p.Tracking == "":
		return shop.Fail(shop.BadRequest, "tracking is missing")
	case len(p.Tracking) > longestTracking || strings.Trim(p.Tracking, trackingLetters) != "":
		return shop.Failf(shop.BadRequest, "tracking must be at most %d characters of A-Z a-z 0-9 _ - . /", longestTracking)
	}
	return nil
}

// Label is what the buyer reads: who carries it, under which number.
func (p *Parcel) Label() string { return p.Carrier + " " + p.Tracking }

// Shipment is a row of the shipments table: the parcel of an order.
type Shipment struct {
	Order     shop.ID     `json:"order"`
	Carrier   string      `json:"carrier"`
	Tracking  string      `json:"tracking"`
	ShippedAt shop.Millis `json:"shipped_at"`
	ShippedBy shop.ID     `json:"shipped_by,omitzero"` // an operator; absent: the command line
	FinishAt  shop.Millis `json:"finish_at,omitempty"` // when the order finishes by itself; absent: it is over
}

// ShipOutcome is what became of a parcel that was entered.
type ShipOutcome string

// The outcomes. Only the first one changes anything.
const (
	ShipDone       ShipOutcome = "shipped"        // the order is shipped now, or its parcel was replaced
	ShipSame       ShipOutcome = "unchanged"      // it is shipped already, with this very parcel
	ShipOther      ShipOutcome = "another_parcel" // it is shipped already, with another one
	ShipRefund     ShipOutcome = "refund_asked"   // its buyer wants the money back, which is to be decided on first
	ShipState      ShipOutcome = "wrong_state"    // it is not paid, or over
	ShipNoOrder    ShipOutcome = "not_found"      // there is no such order
	ShipUnreadable ShipOutcome = "bad_request"    // the line cannot be read
)

// Shipping is how parcels are to be entered.
type Shipping struct {
	By      shop.ID     // the operator; 0: the command line
	At      shop.Millis // now
	Finish  shop.Millis // when the orders finish by themselves
	Replace bool        // an order that is shipped gets the parcel in the place of the one it has
}

// ShippedOrder is what became of one parcel. Of ShipNoOrder there is no order.
type ShippedOrder struct {
	Order   shop.Order
	Outcome ShipOutcome
}

// JudgeShip is the effect of a parcel on an order, by its shipment (nil: none) and whether a refund is asked for.
func JudgeShip(o *shop.Order, sent *Shipment, asked bool, p *Parcel, replace bool) ShipOutcome {
	switch {
	case o.State == shop.Shipped && sent != nil && sent.Carrier == p.Carrier && sent.Tracking == p.Tracking:
		return ShipSame
	case o.State == shop.Shipped && !replace:
		return ShipOther
	case o.State != shop.Paid && o.State != shop.Shipped:
		return ShipState
	case o.State == shop.Paid && asked:
		return ShipRefund
	default:
		return ShipDone
	}
}

// refusal is what an operator hears about one order; nil for what was done.
func (s *ShippedOrder) refusal() *shop.Error {
	switch s.Outcome {
	case ShipDone, ShipSame:
		return nil
	case ShipOther:
		return shop.Fail(shop.WrongState, "the order is shipped already, with another parcel; to correct that, replace it")
	case ShipRefund:
		return shop.Fail(shop.WrongState, "its buyer has asked for the money back: decide on that first")
	case ShipNoOrder:
		return shop.Fail(shop.NotFound, "no such order")
	default:
		return shop.Fail(shop.WrongState, "an order that is "+string(s.Order.State)+" cannot be shipped")
	}
}

// ShipmentStore is the durable truth about what was sent. Errors wrap ErrTransient, ErrPermanent or ErrNoRow.
type ShipmentStore interface {
	Ship(ctx context.Context, how Shipping, parcels []Parcel) ([]ShippedOrder, error)
	LookShip(ctx context.Context, how Shipping, parcels []Parcel) ([]ShippedOrder, error)
	ConfirmReceipt(ctx context.Context, order, user shop.ID) (row shop.Order, asked bool, err error)
	FinishShipped(ctx context.Context, now, later shop.Millis, limit int) (finished []shop.Order, looked int, err error)
	ClaimShipped(ctx context.Context, now shop.Millis, limit int) ([]Shipment, error)
	MarkWritten(ctx context.Context, s Shipment, claimed shop.Millis) error
	Rewrite(ctx context.Context, since shop.Millis) error
	ShipmentOf(ctx context.Context, order shop.ID) (Shipment, error)
}
