package payment

import (
	"errors"

	"stampede/app/shop"
)

// PayVia is how a buyer wants to pay.
type PayVia string

// The ways to pay, as the protocol spells them.
const (
	ViaPage PayVia = "page" // a page of the gateway in a desktop browser
	ViaWap  PayVia = "wap"  // a page of the gateway in a phone's browser
	ViaApp  PayVia = "app"  // the gateway's app, opened by ours with a signed order string
	ViaQR   PayVia = "qr"   // a code on the desktop, scanned with the phone
)

// PayRequest asks the gateway for a payment. The trade's own number is the order id: there is one trade per order.
type PayRequest struct {
	Order     shop.ID
	Via       PayVia
	AmountFen int64       // > 0
	Subject   string      // what the buyer reads at the gateway
	ExpiresAt shop.Millis // after it the gateway takes no money for this trade any more
}

// Payment is where the buyer pays; one field is set, depending on the way.
type Payment struct {
	URL         string `json:"url,omitempty"`          // page, wap
	OrderString string `json:"order_string,omitempty"` // app
	QR          string `json:"qr,omitempty"`           // the text of the code
}

// Payable is where and until when a buyer pays an order.
type Payable struct {
	Payment
	PayBy shop.Millis `json:"pay_by"` // the order's deadline
	// Until is when the gateway stops taking money, up to longestMargin before PayBy: a countdown has to show it.
	Until shop.Millis `json:"pay_until"`
}

// TradeState is what the gateway says of a trade.
type TradeState int

// The states of a trade. Absent is no proof that nothing will be paid: a trade begins to exist when the buyer comes
// to the gateway with what we signed, and that works until ExpiresAt.
const (
	TradeAbsent  TradeState = iota // the gateway has no such trade
	TradeWaiting                   // it waits for the buyer
	TradePaid                      // the money is ours (Alipay: TRADE_SUCCESS, TRADE_FINISHED)
	TradeClosed                    // over: nothing was paid, or everything was given back
)

// Trade is one trade as the gateway states it, in a verified answer or a verified notification.
type Trade struct {
	Order       shop.ID
	No          string // the gateway's number; empty while absent
	State       TradeState
	AmountFen   int64
	RefundedFen int64
	PaidAt      shop.Millis // 0: not paid, or not told
}

// RefundRequest gives money back. Request identifies the refund at the gateway: a repeat is never a second one.
type RefundRequest struct {
	Order     shop.ID
	TradeNo   string
	Request   string
	AmountFen int64
	Reason    string
}

// Errors of a Gateway, besides ErrTransient (unknown: ask again or repeat with the same identity, I6).
var (
	// ErrForged: a notification that is not the gateway's word to this shop: bad signature, another shop's app or
	// seller, another mode's certificate. It is answered `failure` and changes nothing.
	ErrForged = errors.New("not a notification of the gateway to this shop")
	// ErrGatewayRefused: a signed, final no. Repeating the same request brings the same answer.
	ErrGatewayRefused = errors.New("the gateway refuses")
)
