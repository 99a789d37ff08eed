package payment

import (
	"errors"

	"stampede/app/shop"
)

// GatewayIdentity identifies the account at a payment provider that receives the money of the shop. It is a fact of the
// database: only the gateway that took a payment can close or refund it.
type GatewayIdentity struct {
	Name   string `json:"name"`   // of the provider; "": no gateway
	Mode   string `json:"mode"`   // `production`, or `simulator`, where no real money moves
	App    string `json:"app"`    // id of the shop's app at the provider
	Seller string `json:"seller"` // account that receives the money; "": not configured
}

// Same reports whether both identities are the same account. The app counts only if a seller is not configured.
func (g GatewayIdentity) Same(other GatewayIdentity) bool {
	if g.Name != other.Name || g.Mode != other.Mode {
		return false
	}
	if g.Seller != "" && other.Seller != "" {
		return g.Seller == other.Seller
	}
	return g.App == other.App
}

func (g GatewayIdentity) String() string {
	text := g.Name + " " + g.Mode + ", app " + g.App
	if g.Seller != "" {
		text += ", seller " + g.Seller
	}
	return text
}

// PayVia is the way in which a buyer pays.
type PayVia string

// The ways to pay, as spelled in the protocol.
const (
	ViaPage PayVia = "page" // a page of the gateway in a desktop browser
	ViaWap  PayVia = "wap"  // a page of the gateway in a phone's browser
	ViaApp  PayVia = "app"  // the app of the gateway, opened by the app of the shop with a signed order string
	ViaQR   PayVia = "qr"   // a code on the desktop, scanned with the phone
)

// PayRequest requests a payment from the gateway. The trade number of the shop is the order ID: there is one trade per
// order.
type PayRequest struct {
	Order     shop.ID
	Via       PayVia
	AmountFen int64  // > 0
	Subject   string // shown to the buyer at the gateway
	Mark      Mark
	ExpiresAt shop.Millis // after this instant the gateway accepts no money for the trade
}

// Payment has the address at which the buyer pays. One field is set; PayVia selects it.
type Payment struct {
	URL         string `json:"url,omitempty"`          // page, wap
	OrderString string `json:"order_string,omitempty"` // app
	QR          string `json:"qr,omitempty"`           // text of the code
}

// Payable is a Payment with its time limits.
type Payable struct {
	Payment
	PayBy shop.Millis `json:"pay_by"` // the order's deadline
	// Until is when the gateway stops accepting money, see shop.Order.PaymentEnds. A countdown must show it.
	Until shop.Millis `json:"pay_until"`
}

// TradeState is the state of a trade at the gateway.
type TradeState int

// The states of a trade. TradeAbsent does not prove that no payment follows: a trade starts when the buyer opens the
// gateway with the signed request of the shop, and that is possible until ExpiresAt.
const (
	TradeAbsent  TradeState = iota // the gateway has no such trade
	TradeWaiting                   // the buyer has not paid yet
	TradePaid                      // the shop has the money (Alipay: TRADE_SUCCESS, TRADE_FINISHED)
	TradeClosed                    // final: nothing was paid, or everything was refunded
)

// Trade is the state of one trade from a verified reply or a verified notification of the gateway.
type Trade struct {
	Order       shop.ID
	No          string // the gateway's number; empty while absent
	State       TradeState
	AmountFen   int64
	RefundedFen int64       // as far as the gateway reports it: a query reports only refunds of the whole amount
	PaidAt      shop.Millis // 0: not paid, or not reported
	Mark        Mark        // only in notifications and lists; zero: the trade has no mark of this program
	Refund      string      // number of the refund that a notification reports; "": not reported
}

// RefundRequest requests a refund. Request identifies the refund at the gateway: a repeat does not refund again.
type RefundRequest struct {
	Order     shop.ID
	TradeNo   string
	Request   string
	AmountFen int64
	Reason    string
}

// Errors of a Gateway. After shop.ErrTransient the outcome is unknown: query the trade, or repeat the call with the
// same ID (I6).
var (
	// ErrForged means that a notification is not from the gateway, or not for this shop: invalid signature, app or
	// seller of another shop, certificate of another mode. The shop replies `failure`, and nothing changes.
	ErrForged = errors.New("not a notification of the gateway to this shop")
	// ErrGatewayRefused means a signed, final rejection. A repeat of the request gets the same result.
	ErrGatewayRefused = errors.New("the gateway refuses")
)
