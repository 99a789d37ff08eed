package store

import (
	"context"

	"github.com/uptrace/bun"

	"stampede/app/payment"
	"stampede/app/shop"
)

// Reports has the lists and sums that only operators read. A Replica can serve them.
type Reports struct{ *session }

// OrderSearch selects a page of all orders, the newest first, by the fields that are not zero.
type OrderSearch struct {
	ID     shop.ID // only this order
	State  shop.OrderState
	Sale   shop.ID
	User   shop.ID
	Before shop.ID // 0: from the newest
	Limit  int
}

// UserSearch selects a page of accounts that are not deleted. At most one of Email and Name is set.
type UserSearch struct {
	Email  string    // prefix in lower case; sorted by email
	Name   string    // whole name; the newest first
	Role   shop.Role // only accounts with this role; ignored with Email or Name
	Before shop.ID   // continue after this account; 0: from the first
	Limit  int
}

// PaymentSearch selects a page of payments that the gateway reported, the newest first, by the fields that are not
// zero.
type PaymentSearch struct {
	Outcome payment.Outcome
	Order   shop.ID
	Before  string // continue after this trade; "": from the newest
	Limit   int
}

// FindOrders returns one page of orders, the newest first, along the most selective index, and whether more follow.
func (s Reports) FindOrders(ctx context.Context, q OrderSearch) (page []shop.Order, more bool, err error) {
	page, err = s.Orders().readOrders(ctx, "search for orders", func(sel *bun.SelectQuery) *bun.SelectQuery {
		if q.ID == 0 && q.User == 0 && q.Sale == 0 {
			sel = sel.Where("sale_id NOT IN (SELECT id FROM sales WHERE hidden = 1)")
		}
		return findOrders(sel, q)
	})
	page, more = trimPage(page, q.Limit)
	return page, more, err
}

// findOrders builds the query. It names the index, because MySQL does not always choose the right index;
// SQLite ignores the hint. orders_due is sorted by deadline, which is nearly the order of ids.
func findOrders(sel *bun.SelectQuery, q OrderSearch) *bun.SelectQuery {
	sel = whereSet(sel.Limit(int64(q.Limit)+1), "id = ?", q.ID)
	sel = whereSet(whereSet(sel, "user_id = ?", q.User), "sale_id = ?", q.Sale)
	sel = whereSet(sel, "state = ?", q.State)
	switch {
	case q.ID != 0:
	case q.User != 0:
		sel = sel.ForceIndex("orders_key")
	case q.Sale != 0:
		sel = sel.ForceIndex("orders_sale")
	case q.State != "":
		if q.Before != 0 {
			const at = "(SELECT pay_by FROM orders WHERE id = ?)"
			sel = sel.Where("pay_by <= "+at, q.Before).Where("(pay_by < "+at+" OR id < ?)", q.Before, q.Before)
		}
		return sel.ForceIndex("orders_due").Order("pay_by DESC", "id DESC")
	}
	return whereSet(sel, "id < ?", q.Before).Order("id DESC")
}

// FindUsers returns one page of accounts, and whether more follow.
func (s Reports) FindUsers(ctx context.Context, q UserSearch) (page []shop.User, more bool, err error) {
	var rows []userRow
	if err := findUsers(s.db.NewSelect().Model(&rows), q).Scan(ctx); err != nil {
		return nil, false, wrap("search for users", err)
	}
	page, more = trimPage(convert(rows, (*userRow).user), q.Limit)
	return page, more, nil
}

// afterEmails sorts after every character of an email.
const afterEmails = "\x7f"

func findUsers(sel *bun.SelectQuery, q UserSearch) *bun.SelectQuery {
	sel = sel.Limit(int64(q.Limit) + 1)
	if q.Email != "" { // deleted accounts have no email
		sel = sel.ForceIndex("users_email").Order("email")
		sel = whereASCII(sel, "email >= ? AND email < ?", q.Email, q.Email+afterEmails)
		return whereSet(sel, "email > (SELECT email FROM users WHERE id = ?)", q.Before)
	}
	switch {
	case q.Name != "":
		sel = sel.ForceIndex("users_name").Where("name = ?", q.Name)
	case q.Role != "": // without an index: operators are few and rarely listed
		sel = sel.Where("role = ?", q.Role)
	}
	return whereSet(sel, "id < ?", q.Before).Where("state <> ?", shop.UserDeleted).Order("id DESC")
}

// FindPayments returns one page of payments, the newest first, and whether more follow.
func (s Reports) FindPayments(
	ctx context.Context, q PaymentSearch,
) (page []payment.ReceivedPayment, more bool, err error) {
	var rows []paymentRow
	if err := findPayments(s.db.NewSelect().Model(&rows), q).Scan(ctx); err != nil {
		return nil, false, wrap("search for payments", err)
	}
	page, more = trimPage(convert(rows, (*paymentRow).received), q.Limit)
	return page, more, nil
}

func findPayments(sel *bun.SelectQuery, q PaymentSearch) *bun.SelectQuery {
	sel = sel.Limit(int64(q.Limit) + 1)
	by, index := "paid_at", "payments_paid"
	switch {
	case q.Order != 0:
		sel, index = whereSet(sel.Where("order_id = ?", q.Order), "outcome = ?", q.Outcome), "payments_order"
	case q.Outcome != "":
		sel, by, index = sel.Where("outcome = ?", q.Outcome), "seen_at", "payments_outcome"
	}
	if q.Before != "" {
		at := "(SELECT " + by + " FROM payments WHERE trade_no = ?)"
		sel = whereASCII(sel, by+" <= "+at, q.Before)
		sel = whereASCII(sel, "("+by+" < "+at+" OR trade_no < ?)", q.Before, q.Before)
	}
	return sel.ForceIndex(index).Order(by+" DESC", "trade_no DESC")
}

// Payment reads the payment with a trade number. ErrNoRow: no such payment.
func (s Reports) Payment(ctx context.Context, tradeNo string) (payment.ReceivedPayment, error) {
	var row paymentRow
	err := whereASCII(s.db.NewSelect().Model(&row), "trade_no = ?", tradeNo).Scan(ctx)
	return row.received(), wrap("read a payment", err)
}
