package payment

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"time"

	"stampede/app/shop"
)

// ListLag is the time within which the gateway lists a change.
const ListLag = 5 * time.Minute

// listRange is the longest range of one list; the gateway accepts 31 days.
const listRange = 30 * 24 * time.Hour

// Listing compares the gateway's own lists with the orders of the shop. Each row that differs is queried and then
// settled as ever: a list is only a hint. Money with the mark of this shop and without an order gets its order again,
// and is then settled as late money: paid if a unit is free, otherwise refunded.
type Listing struct {
	Payments *PaymentService
	Daily    *DailyReconciliation
	// Window is the longest time from the creation of a trade to its payment: trades are listed by their creation.
	Window time.Duration
	Lag    time.Duration  // ListLag
	Zone   *time.Location // of the gateway's bills
}

// ListingReport has the result of a comparison.
type ListingReport struct {
	From    shop.Millis `json:"from"`
	To      shop.Millis `json:"to"`              // the lists are complete until this instant
	Bills   bool        `json:"bills,omitempty"` // the account may not read the lists; the bills of whole days were used
	Trades  int         `json:"trades"`          // of this shop
	Foreign int         `json:"foreign"`         // rows without the mark of this shop and without an order
	Refunds int         `json:"refunds"`         // of orders of this shop
	Settled int         `json:"settled"`         // trades that differed and were settled
	Written int         `json:"written"`         // orders that all stores had lost
	Booked  int         `json:"booked"`          // refunds that were not known
	// Differences remain after that.
	Differences []PayDifference `json:"differences"`

	agreed   map[shop.ID]bool // orders whose trades agree with the list
	differed map[shop.ID]bool // orders that were settled, or could not be
}

// Compare compares the trades and refunds of [from, to), as far as the gateway lists them, and then again the orders
// that differed. An error means that a store or the gateway failed, and the comparison must be repeated. WrongState:
// the shop has no gateway.
func (l *Listing) Compare(ctx context.Context, from, to shop.Millis) (ListingReport, error) {
	r, err := l.compare(ctx, from, to)
	if err == nil {
		r.Differences, err = l.Daily.differences(ctx, sortedIDs(r.differed))
	}
	return r, err
}

func sortedIDs(ids map[shop.ID]bool) []shop.ID { return slices.Sorted(maps.Keys(ids)) }

func (l *Listing) compare(ctx context.Context, from, to shop.Millis) (ListingReport, error) {
	r := ListingReport{
		From: from, Differences: []PayDifference{}, agreed: make(map[shop.ID]bool), differed: make(map[shop.ID]bool),
	}
	if l.Payments.Gateway == nil {
		return r, errNoGateway
	}
	now, err := l.Payments.Stock.Now(ctx)
	if err != nil {
		return r, fmt.Errorf("read Redis time: %w", err)
	}
	if r.To = min(to, now.Add(-l.Lag)) / 1000 * 1000; r.To <= from { // the gateway uses whole seconds
		r.To = from
		return r, nil
	}
	err = l.compareLists(ctx, &r)
	if errors.Is(err, ErrNotPermitted) {
		err = l.compareBills(ctx, &r, now)
	}
	return r, err
}

func (l *Listing) compareLists(ctx context.Context, r *ListingReport) error {
	gateway := l.Payments.Gateway
	err := eachPage(r.From.Add(-l.Window), r.To, func(from, to shop.Millis, page int) (bool, error) {
		trades, more, err := gateway.SoldTrades(ctx, from, to, page)
		if err == nil {
			err = l.compareTrades(ctx, r, trades)
		}
		return more, err
	})
	if err != nil {
		return err
	}
	return eachPage(r.From, r.To, func(from, to shop.Millis, page int) (bool, error) {
		refunds, more, err := gateway.RefundLog(ctx, from, to, page)
		if err == nil {
			err = l.compareRefunds(ctx, r, refunds)
		}
		return more, err
	})
}

// eachPage reads all pages of a range, in parts of at most listRange.
func eachPage(from, to shop.Millis, read func(from, to shop.Millis, page int) (more bool, err error)) error {
	for ; from < to; from = from.Add(listRange) {
		for page, more := 1, true; more; page++ {
			var err error
			if more, err = read(from, min(to, from.Add(listRange)), page); err != nil {
				return err
			}
		}
	}
	return nil
}

// billDelay is the time after the end of a day after which its bill exists. A day without a bill had no trade.
const billDelay = 36 * time.Hour

// compareBills compares the bills of the days that contain [From, To). It sets To to the end of the last bill.
func (l *Listing) compareBills(ctx context.Context, r *ListingReport, now shop.Millis) error {
	r.Bills, r.Trades, r.Foreign = true, 0, 0
	until := r.To
	r.To = r.From
	day, _ := CalendarDay(r.From.Add(-l.Window).Time().In(l.Zone), l.Zone)
	for ; shop.MillisOf(day) < until; day = day.AddDate(0, 0, 1) {
		trades, refunds, err := l.Payments.Gateway.Bill(ctx, day.Format(time.DateOnly))
		end := shop.MillisOf(day.AddDate(0, 0, 1))
		if errors.Is(err, ErrNoBill) {
			if now.Sub(end) < billDelay {
				return nil
			}
			err = nil
		}
		if err == nil {
			err = l.compareTrades(ctx, r, trades)
		}
		if err == nil {
			err = l.compareRefunds(ctx, r, refunds)
		}
		if err != nil {
			return err
		}
		r.To = max(r.To, min(until, end))
	}
	return nil
}

// ordersOf reads the orders of rows of a list. Rows of other programs have no order.
func ordersOf[T any](ctx context.Context, l *Listing, rows []T, id func(T) shop.ID) (map[shop.ID]*shop.Order, error) {
	known := shop.Where(shop.Mapped(rows, id), func(id shop.ID) bool { return id != 0 })
	orders, err := l.Payments.Orders.OrdersByID(ctx, known)
	if err != nil {
		return nil, fmt.Errorf("read orders: %w", err)
	}
	return shop.ByID(orders), nil
}

func (l *Listing) compareTrades(ctx context.Context, r *ListingReport, rows []ListedTrade) error {
	idOf := func(row ListedTrade) shop.ID { return row.Order }
	orders, err := ordersOf(ctx, l, rows, idOf)
	if err != nil {
		return err
	}
	payments, err := l.Payments.Trades.PaymentsOf(ctx, shop.Mapped(rows, idOf))
	if err != nil {
		return fmt.Errorf("read payments: %w", err)
	}
	received := make(map[string]ReceivedPayment, len(payments))
	for _, p := range payments {
		received[p.TradeNo] = p
	}
	for i := range rows {
		row, o := &rows[i], orders[rows[i].Order]
		if o == nil && (row.Mark.Shop != l.Payments.ShopID || row.Order == 0) {
			r.Foreign++
			continue
		}
		r.Trades++
		if p, known := received[row.No]; agrees(row, o, p, known) {
			r.agreed[row.Order] = true
			continue
		}
		r.differed[row.Order] = true // it is compared again, also if it cannot be settled
		err := l.settle(ctx, r, row, o)
		if errors.Is(err, shop.ErrPermanent) || errors.Is(err, ErrGatewayRefused) {
			slog.ErrorContext(ctx, "a trade in the gateway's list cannot be settled", "order", row.Order, "trade", row.No, "err", err)
			continue
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// agrees reports whether a row fits the records of the shop: nothing was paid, or the payment p is settled and no
// refund is missing. A settled payment without an order: the order was pruned, or its money is refunded.
func agrees(row *ListedTrade, o *shop.Order, p ReceivedPayment, known bool) bool {
	if !known {
		return row.PaidAt == 0 && row.RefundedFen == 0
	}
	return !p.Outcome.IsAnomaly() && (o == nil || row.RefundedFen <= o.RefundedFen)
}

// settle queries the trade of a row that differs, and settles it. o is its order; nil: all stores have lost it.
func (l *Listing) settle(ctx context.Context, r *ListingReport, row *ListedTrade, o *shop.Order) error {
	t, err := l.Payments.Gateway.Query(ctx, row.Order)
	if err != nil {
		return fmt.Errorf("query order %s: %w", row.Order, err)
	}
	if t.No != row.No { // the difference is reported when the order is compared again
		return nil
	}
	t.Mark = row.Mark
	if o == nil && t.State == TradePaid {
		if err := l.write(ctx, r, row, t); err != nil {
			return err
		}
	}
	err = l.Payments.Settle(ctx, t)
	if errors.Is(err, ErrTradeMismatch) {
		return nil
	}
	if err == nil {
		r.Settled++
	}
	return err
}

// write writes the order of a paid trade again, from its mark, as an order that has ended. Nothing is written for an
// unknown sale or for one with pruned orders: the payment is then of an unknown order, and an operator decides.
func (l *Listing) write(ctx context.Context, r *ListingReport, row *ListedTrade, t Trade) error {
	mark := row.Mark
	sale, err := l.Payments.Sale(ctx, mark.Sale)
	if errors.Is(err, shop.ErrNoRow) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read sale %s: %w", mark.Sale, err)
	}
	pruned, err := l.Payments.Lost.IsPruned(ctx, mark.Sale)
	if err != nil || pruned || t.AmountFen%int64(mark.Qty) != 0 {
		return err
	}
	now, err := l.Payments.Stock.Now(ctx)
	if err != nil {
		return fmt.Errorf("read Redis time: %w", err)
	}
	err = l.Payments.Lost.InsertPaid(ctx, shop.Order{
		ID: row.Order, Sale: sale.ID, User: mark.User, Partition: sale.Partition, ProductName: sale.Product.Name,
		Hold: 1, Qty: mark.Qty, PriceFen: t.AmountFen / int64(mark.Qty), AmountFen: t.AmountFen,
		SaleVersion: sale.Version, State: shop.Cancelled, Reason: shop.ReasonRecovered,
		CreatedAt: row.CreatedAt, PayBy: row.CreatedAt.Add(l.Window), CancelledAt: now, InsertedAt: now,
	}, sale.Epoch)
	if err != nil {
		return fmt.Errorf("write order %s: %w", row.Order, err)
	}
	r.Written++
	slog.WarnContext(ctx, "all stores had lost a paid order; it was written again from its payment", "order", row.Order,
		"sale", sale.ID, "user", mark.User, "fen", t.AmountFen)
	return nil
}

// compareRefunds books the refunds that are not known. Refunds of unknown orders, and of payments that did not pay
// their order, are ignored: the buyer has the money.
func (l *Listing) compareRefunds(ctx context.Context, r *ListingReport, rows []ListedRefund) error {
	orders, err := ordersOf(ctx, l, rows, func(row ListedRefund) shop.ID { return row.Order })
	if err != nil {
		return err
	}
	for i := range rows {
		row, o := &rows[i], orders[rows[i].Order]
		if o == nil || o.TradeNo != row.No {
			continue
		}
		r.Refunds++
		if o.RefundedFen == o.AmountFen {
			continue
		}
		booked, err := l.Payments.bookRefund(ctx, RefundRequest{
			Order: o.ID, TradeNo: row.No, Request: row.Request, AmountFen: row.AmountFen,
		}, row.At)
		if err != nil {
			return err
		}
		r.differed[o.ID] = true
		if booked {
			r.Booked++
		}
	}
	return nil
}
