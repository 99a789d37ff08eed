package store

import (
	"context"

	"github.com/uptrace/bun"

	"stampede/app/payment"
	"stampede/app/shop"
)

// OrderSearch pages through everybody's orders, newest first, by the fields that are not zero.
type OrderSearch struct {
	ID     shop.ID // this one alone
	State  shop.OrderState
	Sale   shop.ID
	User   shop.ID
	Before shop.ID // 0: from the newest
	Limit  int
}

// UserSearch pages through accounts that are not deleted. Of Email and Name at most one is asked for.
type UserSearch struct {
	Email  string    // the beginning of it, in lower case: in the order of e-mails
	Name   string    // the whole of it: the newest first
	Role   shop.Role // only accounts with it, where neither Email nor Name is asked for
	Before shop.ID   // go on behind this account; 0: from the first
	Limit  int
}

// PaymentSearch pages through what the gateway says it took, the newest first, by the fields that are not zero.
type PaymentSearch struct {
	Outcome payment.Outcome
	Order   shop.ID
	Before  string // go on behind this trade; "": from the newest
	Limit   int
}

// FindOrders pages through orders, newest first, along the most selective index.
func (s *Store) FindOrders(ctx context.Context, q OrderSearch) (page []shop.Order, more bool, err error) {
	page, err = s.readBoth(ctx, "search for orders", orderOf(q), q.Limit+1,
		func(sel *bun.SelectQuery, _ string) *bun.SelectQuery {
			if q.ID == 0 && q.User == 0 && q.Sale == 0 {
				sel = sel.Where("sale_id NOT IN (SELECT id FROM sales WHERE hidden = 1)")
			}
			return findOrders(sel, q)
		})
	page, more = cut(page, q.Limit)
	return page, more, err
}

// orderOf is how a search is sorted.
func orderOf(q OrderSearch) string {
	if q.ID == 0 && q.User == 0 && q.Sale == 0 && q.State != "" {
		return "pay_by DESC, id DESC"
	}
	return "id DESC"
}

// findOrders is the query for one of the tables. It names the index, which MySQL does not always find; SQLite ignores
// it. orders_due sorts by deadline, which is nearly the order of ids.
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
			const at = "COALESCE((SELECT pay_by FROM orders WHERE id = ?), (SELECT pay_by FROM orders_archive WHERE id = ?))"
			sel = sel.Where("pay_by <= "+at, q.Before, q.Before).
				Where("(pay_by < "+at+" OR id < ?)", q.Before, q.Before, q.Before)
		}
		return sel.ForceIndex("orders_due").OrderExpr(orderOf(q))
	}
	return whereSet(sel, "id < ?", q.Before).Order("id DESC")
}

// FindUsers pages through accounts.
func (s *Store) FindUsers(ctx context.Context, q UserSearch) (page []shop.User, more bool, err error) {
	var rows []userRow
	if err := findUsers(s.db.NewSelect().Model(&rows), q).Scan(ctx); err != nil {
		return nil, false, wrap("search for users", err)
	}
	page, more = cut(convert(rows, (*userRow).user), q.Limit)
	return page, more, nil
}

// afterEmails is behind every character of an e-mail.
const afterEmails = "\x7f"

func findUsers(sel *bun.SelectQuery, q UserSearch) *bun.SelectQuery {
	sel = sel.Limit(int64(q.Limit) + 1)
	if q.Email != "" { // deleted accounts have none
		sel = sel.ForceIndex("users_email").Where("email >= ? AND email < ?", q.Email, q.Email+afterEmails).Order("email")
		return whereSet(sel, "email > (SELECT email FROM users WHERE id = ?)", q.Before)
	}
	switch {
	case q.Name != "":
		sel = sel.ForceIndex("users_name").Where("name = ?", q.Name)
	case q.Role != "": // without an index: operators are few, and rarely listed
		sel = sel.Where("role = ?", q.Role)
	}
	return whereSet(sel, "id < ?", q.Before).Where("state <> ?", shop.UserDeleted).Order("id DESC")
}

// FindPayments pages through payments, the newest first.
func (s *Store) FindPayments(
	ctx context.Context, q PaymentSearch,
) (page []payment.Received, more bool, err error) {
	var rows []paymentRow
	if err := findPayments(s.db.NewSelect().Model(&rows), q).Scan(ctx); err != nil {
		return nil, false, wrap("search for payments", err)
	}
	page, more = cut(convert(rows, (*paymentRow).received), q.Limit)
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
		sel = sel.Where(by+" <= "+at, q.Before).Where("("+by+" < "+at+" OR trade_no < ?)", q.Before, q.Before)
	}
	return sel.ForceIndex(index).Order(by+" DESC", "trade_no DESC")
}

// Payment reads what was received under a trade number. ErrNoRow: nothing was.
func (s *Store) Payment(ctx context.Context, tradeNo string) (payment.Received, error) {
	var row paymentRow
	err := s.db.NewSelect().Model(&row).Where("trade_no = ?", tradeNo).Scan(ctx)
	return row.received(), wrap("read a payment", err)
}
