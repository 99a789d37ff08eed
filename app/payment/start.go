package payment

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync/atomic"
	"time"

	"stampede/app/order"
	"stampede/app/shop"
)

// PaymentService starts and settles payments, ends trades at the gateway, and resolves late money.
type PaymentService struct {
	Gateway Gateway // nil: the shop takes no payments
	ShopID  string  // in the mark of each trade
	Stock   Stock
	// Waiting lists the buyer's reservations that have no row yet.
	Waiting func(ctx context.Context, user shop.ID) ([]shop.Reservation, error)
	Trades  Trades
	Refunds Refunds
	Orders  Orders
	Lost    LostOrders
	Sale    func(ctx context.Context, id shop.ID) (shop.Sale, error)
	Effects *order.Effects
	// Margin is the time between the end of payments at the gateway and the deadline of the order, see shop.PayMargin.
	Margin time.Duration
	// MayCall admits a gateway call for a QR payment of the user, or fails with RateLimited; nil: no limit.
	MayCall func(user shop.ID) error

	payables payables
	counts   PayCounts
}

// PayCounts counts payment events on this node.
type PayCounts struct {
	Opened     atomic.Int64 // pay requests that returned a payment
	PaidTrades atomic.Int64 // verified paid trades, including repeats
	Revived    atomic.Int64 // ended orders that a late payment changed to paid
	Refunded   atomic.Int64 // late payments refunded
	Anomalies  atomic.Int64 // trades that do not fit their order; an operator must check them
	Closed     atomic.Int64 // orders ended after the gateway had closed their trade
	Unknown    atomic.Int64 // closes without a reply
}

// TakesPayments reports whether the shop takes payments. If not, Pay returns an error, and no order has an opened
// trade.
func (p *PaymentService) TakesPayments() bool { return p.Gateway != nil }

// Counts returns the counters for metrics.
func (p *PaymentService) Counts() *PayCounts { return &p.counts }

// ErrTradeMismatch means that a trade does not match its order. Nothing has changed, and an operator must check the
// trade.
var ErrTradeMismatch = errors.New("the trade does not match its order")

// Pay returns the address and the time limit for paying the order. A repeat, even with another way to pay, uses the
// same trade. Only the buyer of a pending order can pay it, until Margin before its deadline. Busy: the outcome is
// unknown, retry. Pay reads the row even if it has a stored payment, because the order may have been paid or
// cancelled.
func (p *PaymentService) Pay(ctx context.Context, user, order shop.ID, via PayVia) (Payable, error) {
	if !p.TakesPayments() {
		return Payable{}, shop.Fail(shop.UnknownOp, "this shop accepts no payments")
	}
	if !slices.Contains([]PayVia{ViaPage, ViaWap, ViaApp, ViaQR}, via) {
		return Payable{}, shop.Fail(shop.BadRequest, "via must be page, wap, app or qr")
	}
	now, err := p.Stock.Now(ctx)
	if err != nil {
		return Payable{}, shop.Unavailable("Redis time", err)
	}
	row, err := p.Trades.OpenTrade(ctx, order, user, now, p.Margin)
	if errors.Is(err, shop.ErrNoRow) {
		return Payable{}, p.noRow(ctx, user, order)
	}
	if err != nil {
		return Payable{}, shop.UnknownOutcome("open the trade of order "+order.String(), err)
	}
	if err := p.checkPayable(row, now); err != nil {
		return Payable{}, err
	}
	if stored, ok := p.payables.find(order, via); ok {
		p.counts.Opened.Add(1)
		return stored, nil
	}
	if via == ViaQR && p.MayCall != nil {
		if err := p.MayCall(user); err != nil {
			return Payable{}, err
		}
	}
	payment, err := p.Gateway.Pay(ctx, PayRequest{
		Order: order, Via: via, AmountFen: row.AmountFen, Subject: row.ProductName,
		Mark:      Mark{Shop: p.ShopID, Sale: row.Sale, User: row.User, Qty: row.Qty},
		ExpiresAt: shop.MillisOf(p.tradeEnds(row).Time().Truncate(time.Second)), // the gateway uses whole seconds
	})
	switch {
	case errors.Is(err, ErrGatewayRefused):
		slog.WarnContext(ctx, "the gateway refused a payment", "order", order, "via", via, "err", err)
		return Payable{}, shop.Fail(shop.WrongState, "the payment gateway refused this payment; read the order again")
	case err != nil:
		return Payable{}, shop.UnknownOutcome("start the payment of order "+order.String(), err)
	}
	p.counts.Opened.Add(1)
	payable := Payable{Payment: payment, PayBy: row.PayBy, Until: row.PaymentEnds()}
	p.payables.store(order, via, payable, now)
	return payable, nil
}

// tradeEnds returns when the gateway stops accepting money for the order.
func (p *PaymentService) tradeEnds(o shop.Order) shop.Millis { return o.PayBy.Add(-p.Margin) }

// checkPayable returns why the order cannot be paid; nil if it can.
func (p *PaymentService) checkPayable(o shop.Order, now shop.Millis) error {
	switch {
	case o.State == shop.Expired, o.State == shop.Pending && p.tradeEnds(o) <= now:
		return shop.Fail(shop.OrderExpired, "the payment deadline has passed")
	case o.State != shop.Pending:
		return shop.Fail(shop.WrongState, "an order that is "+string(o.State)+" cannot be paid")
	}
	return nil
}

// noRow distinguishes a reservation, which gets its row soon, from a missing order or another user's order.
func (p *PaymentService) noRow(ctx context.Context, user, order shop.ID) error {
	waiting, err := p.Waiting(ctx, user)
	for _, r := range waiting {
		if r.Order == order {
			return shop.FailBusy("the order is still being written; try again", shop.BusyRetry)
		}
	}
	if err != nil {
		return shop.Unavailable("the reservations", err)
	}
	// The reservation may have become a row and left the waiting list between the two reads.
	row, err := p.Orders.Order(ctx, order)
	switch {
	case errors.Is(err, shop.ErrNoRow):
		return p.checking(ctx, user, order)
	case err != nil:
		return shop.Unavailable("the order", err)
	case row.User != user:
		return shop.Fail(shop.NotFound, "no such order")
	}
	return shop.FailBusy("the order has just been written; try again", shop.BusyRetry)
}

// checking returns why an order without a row and without a reservation cannot be paid: an operator has to settle its
// problem, or it does not exist.
func (p *PaymentService) checking(ctx context.Context, user, order shop.ID) error {
	orders, err := p.Orders.Checking(ctx, user)
	switch {
	case err != nil:
		return shop.Unavailable("the order", err)
	case slices.ContainsFunc(orders, func(o shop.Order) bool { return o.ID == order }):
		return shop.FailChecking()
	}
	return shop.Fail(shop.NotFound, "no such order")
}
