package backoffice

import (
	"strings"
	"unicode/utf8"

	"stampede/app/journal"
	"stampede/app/shop"
	"stampede/app/store"
)

// Limits of a parcel, in characters. The order of the buyer contains carrier and tracking, separated by a space.
const (
	maxCarrier  = 24
	maxTracking = 39
)

const trackingLetters = journal.KeyLetters + "./"

// checkParcel rejects a missing or invalid part of a parcel.
func checkParcel(p *store.Parcel) error {
	switch {
	case p.Carrier == "" || strings.TrimSpace(p.Carrier) != p.Carrier:
		return shop.Fail(shop.BadRequest, "carrier is missing, or starts or ends with a space")
	case utf8.RuneCountInString(p.Carrier) > maxCarrier || !shop.Printable(p.Carrier):
		return shop.Failf(shop.BadRequest, "carrier must be printable text of at most %d characters", maxCarrier)
	case p.Tracking == "":
		return shop.Fail(shop.BadRequest, "tracking is missing")
	case len(p.Tracking) > maxTracking || strings.Trim(p.Tracking, trackingLetters) != "":
		return shop.Failf(shop.BadRequest, "tracking must be at most %d characters of A-Z a-z 0-9 _ - . /", maxTracking)
	}
	return nil
}

// shipRejection returns the reason why an order was not shipped; nil: it was shipped.
func shipRejection(s *store.ShippedOrder) *shop.Error {
	switch s.Outcome {
	case store.ShipDone, store.ShipUnchanged:
		return nil
	case store.ShipAnotherParcel:
		return shop.Fail(shop.WrongState, "the order is already shipped with another parcel; to correct the parcel, set replace")
	case store.ShipRefund:
		return shop.Fail(shop.WrongState, "the buyer has requested a refund: decide on the refund first")
	case store.ShipInDoubt:
		return shop.Fail(shop.WrongState, "the database has lost writes since the order was paid, and the gateway does not "+
			"report its payment as paid and not refunded: see the order in the gateway's console")
	case store.ShipPartRefunded:
		return shop.Failf(shop.WrongState, "%s of %s yuan of the order were refunded: to ship it, enter its parcel "+
			"in the order and set part_refunded", shop.FormatFen(s.Order.RefundedFen), shop.FormatFen(s.Order.AmountFen))
	case store.ShipNoOrder:
		return shop.Fail(shop.NotFound, "no such order")
	default:
		return shop.Fail(shop.WrongState, "an order that is "+string(s.Order.State)+" cannot be shipped")
	}
}
