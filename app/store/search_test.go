package store_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"stampede/app/journal"
	"stampede/app/payment"
	"stampede/app/shop"
	"stampede/app/store"
)

// Every search finds exactly the matching rows. The pages together contain all of them, and the search uses an index.
func TestFindOrdersUsesFiltersAndIndexes(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store.Store) {
		h := newShop(t, s, 100, 100)
		var all, paid, ofSale, mine []shop.ID // newest first
		user := nextID()
		for i := range 9 {
			var o shop.Order
			switch i % 3 {
			case 0:
				o = h.paid(h.sales[0], 1)
				paid = append([]shop.ID{o.ID}, paid...)
			default:
				o = h.order(h.sales[i%2], 1)
				o.User = user
				h.insert(o)
				mine = append([]shop.ID{o.ID}, mine...)
			}
			if o.Sale == h.sales[1] {
				ofSale = append([]shop.ID{o.ID}, ofSale...)
			}
			all = append([]shop.ID{o.ID}, all...)
		}
		for name, c := range map[string]struct {
			q    store.OrderSearch
			want []shop.ID
		}{
			"all":                   {store.OrderSearch{}, all},
			"state":                 {store.OrderSearch{State: shop.Paid}, paid},
			"sale":                  {store.OrderSearch{Sale: h.sales[1]}, ofSale},
			"user":                  {store.OrderSearch{User: user}, mine},
			"user and state":        {store.OrderSearch{User: user, State: shop.Paid}, nil},
			"sale and state":        {store.OrderSearch{Sale: h.sales[1], State: shop.Pending, User: user}, ofSale},
			"id":                    {store.OrderSearch{ID: all[3]}, all[3:4]},
			"order of another user": {store.OrderSearch{ID: all[3], User: nextID()}, nil},
		} {
			var got []shop.ID
			c.q.Limit = 2
			for more := true; more; {
				var page []shop.Order
				var err error
				page, more, err = h.FindOrders(h.ctx, c.q)
				h.must(err)
				if got = append(got, ids(page)...); len(page) > 0 {
					c.q.Before = page[len(page)-1].ID
				}
				wantNoScan(h, name, store.ExplainOrders(s, c.q), c.q.User != 0)
			}
			wantEqual(t, name+" (-want +got)", c.want, got)
		}
	})
}

// Accounts are found by prefixes of their emails, in the order of emails, and by names. Deleted accounts are not found.
func TestFindUsersMatchesEmailPrefixAndName(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store.Store) {
		h := newShop(t, s)
		add := func(email, name string) shop.ID {
			u := shop.User{
				ID: nextID(), Email: email, Name: name, Role: shop.Shopper, Lang: "en", State: shop.UserActive,
				CreatedAt: opens,
			}
			h.must(h.AddUser(h.ctx, u))
			return u.ID
		}
		bob, ada2 := add("bob@a.example", "Li"), add("ada@b.example", "Li")
		ada, adam := add("ada@a.example", "Ada"), add("adam@a.example", "%")
		gone := add("ada@c.example", "Li")
		h.must(h.Erase(h.ctx, gone, nil, opens, opens))
		for name, c := range map[string]struct {
			q    store.UserSearch
			want []shop.ID
		}{
			"all":                    {store.UserSearch{}, []shop.ID{adam, ada, ada2, bob}},
			"e-mail prefix":          {store.UserSearch{Email: "ada"}, []shop.ID{ada, ada2, adam}},
			"whole e-mail":           {store.UserSearch{Email: "ada@b.example"}, []shop.ID{ada2}},
			"e-mail with a wildcard": {store.UserSearch{Email: "a%"}, nil},
			"name":                   {store.UserSearch{Name: "Li"}, []shop.ID{ada2, bob}},
			"name with a wildcard":   {store.UserSearch{Name: "%"}, []shop.ID{adam}},
		} {
			var got []shop.ID
			c.q.Limit = 1
			for more := true; more; {
				var page []shop.User
				var err error
				page, more, err = h.FindUsers(h.ctx, c.q)
				h.must(err)
				for _, u := range page {
					got = append(got, u.ID)
					c.q.Before = u.ID
				}
				wantNoScan(h, name, store.ExplainUsers(s, c.q), false)
			}
			wantEqual(t, name+" (-want +got)", c.want, got)
		}
	})
}

func TestFindPaymentsUsesFiltersAndIndexes(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store.Store) {
		h := newShop(t, s, 10)
		var taken, all []string
		var orders []shop.ID
		for i := range 4 {
			o := h.order(h.sales[0], 1)
			h.insert(o)
			trade := payment.Trade{
				Order: o.ID, No: fmt.Sprintf("T%d", i), State: payment.TradePaid, AmountFen: o.AmountFen,
			}
			if i == 1 {
				trade.AmountFen++
			}
			_, outcome, err := h.Receive(h.ctx, trade, opens+shop.Millis(i/2))
			h.must(err)
			if outcome == payment.OutcomeTaken {
				taken = append([]string{trade.No}, taken...)
			}
			all, orders = append([]string{trade.No}, all...), append(orders, o.ID)
		}
		for name, c := range map[string]struct {
			q    store.PaymentSearch
			want []string
		}{
			"all":               {store.PaymentSearch{}, all},
			"outcome":           {store.PaymentSearch{Outcome: payment.OutcomeTaken}, taken},
			"order":             {store.PaymentSearch{Order: orders[1]}, []string{"T1"}},
			"order and outcome": {store.PaymentSearch{Order: orders[1], Outcome: payment.OutcomeTaken}, nil},
		} {
			var got []string
			c.q.Limit = 1
			for more := true; more; {
				var page []payment.ReceivedPayment
				var err error
				page, more, err = h.FindPayments(h.ctx, c.q)
				h.must(err)
				for _, p := range page {
					got = append(got, p.TradeNo)
					c.q.Before = p.TradeNo
				}
				wantNoScan(h, name, store.ExplainPayments(s, c.q), c.q.Order != 0)
			}
			wantEqual(t, name+" (-want +got)", c.want, got)
		}
		if p, err := h.Payment(h.ctx, "T2"); err != nil || p.Order != orders[2] {
			t.Errorf("Payment: got %+v (%v), want the payment of order %v", p, err, orders[2])
		}
		wantErr(t, "an unknown trade", errOf(h.Payment(h.ctx, "T9")), shop.ErrNoRow)
	})
}

// foreignTexts have characters outside ASCII: Chinese, an emoji, full-width digits, and each beside ASCII.
var foreignTexts = []string{
	"王小明", "🐴", "１２３", "T王1", "ada🐴@shop.example", "王", "７@shop.example", "\xff", "T\xff", "a\xc3@shop.example",
}

// Text outside ASCII equals no e-mail and no trade number. A search for it finds nothing and is no error.
func TestSearchForTextOutsideASCIIFindsNothing(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store.Store) {
		h := newShop(t, s, 10)
		o := h.order(h.sales[0], 1)
		h.insert(o)
		trade := payment.Trade{Order: o.ID, No: "T1", State: payment.TradePaid, AmountFen: o.AmountFen}
		_, _, err := h.Receive(h.ctx, trade, opens)
		h.must(err)
		h.must(h.AddUser(h.ctx, newUser()))
		for _, text := range foreignTexts {
			wantErr(t, "UserByEmail "+text, errOf(h.UserByEmail(h.ctx, text)), shop.ErrNoRow)
			wantErr(t, "Payment "+text, errOf(h.Payment(h.ctx, text)), shop.ErrNoRow)
			users, more, err := h.FindUsers(h.ctx, store.UserSearch{Email: text, Limit: 1})
			if err != nil || more || len(users) > 0 {
				t.Errorf("FindUsers by e-mail %q: got %v (%v), want no user", text, users, err)
			}
			users, more, err = h.FindUsers(h.ctx, store.UserSearch{Email: text, Before: 7, Limit: 1})
			if err != nil || more || len(users) > 0 {
				t.Errorf("FindUsers by e-mail %q, page 2: got %v (%v), want no user", text, users, err)
			}
			if _, _, err = h.FindUsers(h.ctx, store.UserSearch{Name: text, Limit: 1}); err != nil {
				t.Errorf("FindUsers by name %q: got error %v", text, err)
			}
			payments, more, err := h.FindPayments(h.ctx, store.PaymentSearch{Before: text, Limit: 1})
			if err != nil || more || len(payments) > 0 {
				t.Errorf("FindPayments before %q: got %v (%v), want no payment", text, payments, err)
			}
			for _, q := range []journal.Query{{Object: text}, {Actor: text}, {Kind: text}} {
				q.Limit = 1
				if rows, _, err := h.ListJournal(h.ctx, q); err != nil || len(rows) > 0 {
					t.Errorf("ListJournal of %+v: got %v (%v), want no row", q, rows, err)
				}
			}
			_, _, productsErr := h.ProductRecords(h.ctx, store.ProductsQuery{Text: text, Page: 1, Size: 1})
			_, _, salesErr := h.SaleRecords(h.ctx, store.SalesQuery{Text: text, Page: 1, Size: 1})
			if productsErr != nil || salesErr != nil {
				t.Errorf("products and sales with %q: got the errors %v and %v", text, productsErr, salesErr)
			}
		}
	})
}

// wantNoScan reads the query plan. The plan must not scan any table except the one whose rows the search lists in
// pages. It must not sort more than a page, except the few orders of a buyer or payments of an order.
func wantNoScan(h *testShop, name, query string, mayBeSorted bool) {
	h.t.Helper()
	explain, sqlite := "EXPLAIN FORMAT=JSON ", strings.Contains(fmt.Sprint(h.DB().Dialect().Name()), "sqlite")
	if sqlite {
		explain = "EXPLAIN QUERY PLAN "
	}
	rows := val(h.DB().QueryContext(h.ctx, explain+query))(h.t)
	defer rows.Close()
	var plan strings.Builder
	columns := val(rows.Columns())(h.t)
	for rows.Next() {
		cells := make([]any, len(columns))
		for i := range cells {
			cells[i] = new(any)
		}
		h.must(rows.Scan(cells...))
		for _, cell := range cells {
			switch v := (*cell.(*any)).(type) {
			case []byte:
				plan.Write(v)
			default:
				fmt.Fprint(&plan, v, " ")
			}
		}
	}
	h.must(rows.Err())
	// The derived table of the page's ids is read as a whole.
	page := regexp.MustCompile(`"table_name": "<derived\d+>",\s*"access_type": "ALL"`)
	scan := strings.Contains(page.ReplaceAllString(plan.String(), ""), `"access_type": "ALL"`)
	sort := strings.Contains(plan.String(), "filesort") || strings.Contains(plan.String(), "TEMP B-TREE FOR ORDER BY")
	if scan || sort && !mayBeSorted {
		h.t.Errorf("%s: the query %s scans or sorts too many rows:\n%s", name, query, plan.String())
	}
}
