package store_test

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/uptrace/bun"

	"stampede/app/shop"
	"stampede/app/store"
	"stampede/app/test/kit"
)

func since(user shop.ID, at shop.Millis) shop.ChangesQuery {
	return shop.ChangesQuery{User: user, Since: at}
}

// insertForUser inserts n orders of one buyer. The first changed at the given instant, each later one a millisecond
// after the previous one.
func (s *testShop) insertForUser(n int, from shop.Millis) []shop.Order {
	s.t.Helper()
	rows := s.orders(n, s.sales[0], 1)
	for i := range rows {
		rows[i].User = rows[0].User
	}
	s.insert(rows...)
	s.setChangedAtWhere("user_id = ?", "? + ticket", from-shop.Millis(rows[0].Ticket), rows[0].User)
	return rows
}

// wantChanges compares the ids of a result.
func wantChanges(t *testing.T, label string, got shop.Changes, more bool, want ...shop.ID) {
	t.Helper()
	if diff := cmp.Diff(want, append([]shop.ID(nil), ids(got.Orders)...)); diff != "" || got.More != more {
		t.Errorf("%s: more %v, want %v (-want +got):\n%s", label, got.More, more, diff)
	}
}

// P6, F6: each query of a statement returns the changes since its own instant, the oldest change first, with each order
// in its newest state. Two devices of one buyer may use different instants.
func TestChangedReturnsChangesPerQuery(t *testing.T) {
	onBothShops(t, func(t *testing.T, h *testShop) {
		one, two, three := h.insertForUser(4, longAgo), h.insertForUser(3, longAgo+100), h.insertForUser(2, longAgo)
		h.setChangedAt(one[0].ID, longAgo+50) // the last change, although the oldest order
		got, now, err := h.Changed(h.ctx, []shop.ChangesQuery{
			since(one[0].User, longAgo+2), since(two[0].User, longAgo+102), since(three[0].User, longAgo+2),
			since(nextID(), 0), since(one[0].User, longAgo+50), since(two[0].User, 0),
		}, 100)
		h.must(err)
		if len(got) != 6 {
			t.Fatalf("got %d results, want 6", len(got))
		}
		wantChanges(t, "first", got[0], false, one[2].ID, one[3].ID, one[0].ID)
		wantChanges(t, "second", got[1], false, two[2].ID)
		wantChanges(t, "nothing changed", got[2], false)
		wantChanges(t, "a user without orders", got[3], false)
		wantChanges(t, "the first one's other device", got[4], false, one[0].ID)
		wantChanges(t, "the second one's other device", got[5], false, two[0].ID, two[1].ID, two[2].ID)

		h.must(errOf(h.Cancel(h.ctx, one[1].ID, one[1].User, payBy)))
		got, later, err := h.Changed(h.ctx, []shop.ChangesQuery{since(one[0].User, now.At)}, 100)
		h.must(err)
		wantChanges(t, "after a cancellation", got[0], false, one[1].ID)
		wantEqual(t, "(-row +result)", h.read(one[1].ID), got[0].Orders[0])
		if later.At < now.At || later.History != now.History {
			t.Errorf("got the instant %+v after %+v", later, now)
		}
		if got, now, err := h.Changed(h.ctx, nil, 100); err != nil || len(got) != 0 || now.At < later.At {
			t.Errorf("without queries: got changes %v, instant %+v and error %v", got, now, err)
		}
	}, 100)
}

// P6: beyond the limit a buyer gets the newest changes and More. A buyer with many orders does not shorten the results
// of other queries, including the same buyer's queries with a later instant.
func TestChangedLimitsEachQuerySeparately(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store.Store) {
		const limit = 100
		h := newShop(t, s, 1e6)
		many, full := h.insertForUser(400, longAgo), h.insertForUser(limit, longAgo)
		over, few := h.insertForUser(limit+1, longAgo), h.insertForUser(2, longAgo)
		got, _, err := h.Changed(h.ctx, []shop.ChangesQuery{
			since(many[0].User, 0), since(full[0].User, 0), since(over[0].User, 0), since(few[0].User, 0),
			since(many[0].User, longAgo+395), since(over[0].User, longAgo+1),
			since(many[0].User, longAgo+300), since(many[0].User, longAgo+299),
		}, limit)
		h.must(err)
		wantChanges(t, "400 orders", got[0], true, ids(many[300:])...)
		wantChanges(t, "as many orders as the limit", got[1], false, ids(full)...)
		wantChanges(t, "one order more than the limit", got[2], true, ids(over[1:])...)
		wantChanges(t, "two orders", got[3], false, ids(few)...)
		wantChanges(t, "the last five of 400 orders", got[4], false, ids(many[395:])...)
		wantChanges(t, "all but the first order", got[5], false, ids(over[1:])...)
		wantChanges(t, "the last hundred of 400 orders", got[6], false, ids(many[300:])...)
		wantChanges(t, "the last 101 of 400 orders", got[7], true, ids(many[300:])...)
	})
}

// P6: more buyers than fit into a statement all get results, in the order of the queries.
func TestChangedReturnsAllOfManyQueries(t *testing.T) {
	onBothShops(t, func(t *testing.T, h *testShop) {
		rows := h.orders(1203, h.sales[0], 1)
		h.insert(rows...)
		queries := make([]shop.ChangesQuery, len(rows))
		for i := range rows {
			queries[i] = shop.ChangesQuery{User: rows[i].User, Since: longAgo}
		}
		got, _, err := h.Changed(h.ctx, queries, 100)
		h.must(err)
		if len(got) != len(rows) {
			t.Fatalf("got %d results for %d queries", len(got), len(rows))
		}
		for i := range rows {
			wantChanges(t, fmt.Sprintf("query %d", i), got[i], false, rows[i].ID)
		}
	}, 1e6)
}

// P6: the number of rows that a statement reads grows with the orders of its users, not with all orders, even without
// an index on changed_at (F1).
func TestChangedReadsNoOtherOrders(t *testing.T) {
	t.Parallel()
	const others, users, each = 5_000, 100, 10
	h := newShop(t, onMariaDB(t), 1e6)
	for range others / 1000 {
		h.insert(h.orders(1000, h.sales[0], 1)...)
	}
	queries := make([]shop.ChangesQuery, users)
	for i := range queries {
		queries[i] = since(h.insertForUser(each, longAgo)[0].User, longAgo+each-1)
	}
	h.must(h.analyze())
	h.DB().SetMaxOpenConns(1) // the counters are per connection
	h.must(errOf(h.DB().ExecContext(h.ctx, "FLUSH STATUS")))
	_, _, err := h.Changed(h.ctx, queries, 100)
	h.must(err)
	var counters []struct {
		Name  string `bun:"Variable_name"`
		Count int64  `bun:"Value"`
	}
	h.must(h.DB().NewRaw("SHOW SESSION STATUS LIKE 'Handler_read%'").Scan(h.ctx, &counters))
	reads := int64(0)
	for _, c := range counters {
		reads += c.Count
	}
	t.Logf("%d reads for %d orders of %d buyers among %d", reads, users*each, users, others)
	if reads < users*each || reads >= others {
		t.Errorf("got %d reads, want at least one for each of %d orders and fewer than the %d other orders: %+v",
			reads, users*each, others, counters)
	}
}

// P6: an unreadable row does not hide the changes of other buyers. Its own buyer must read all orders.
func TestChangedSkipsUnreadableRows(t *testing.T) {
	onBothShops(t, func(t *testing.T, h *testShop) {
		unreadable, readable := h.insertForUser(2, longAgo), h.insertForUser(1, longAgo)
		_, err := h.DB().ExecContext(h.ctx,
			"UPDATE orders SET address = '{', changed_at = changed_at WHERE id = ?", unreadable[0].ID)
		h.must(err)
		got, _, err := h.Changed(h.ctx, []shop.ChangesQuery{
			since(unreadable[0].User, longAgo), since(readable[0].User, longAgo),
		},
			100)
		h.must(err)
		wantChanges(t, "the buyer of the unreadable row", got[0], true, unreadable[1].ID)
		wantChanges(t, "the other buyer", got[1], false, readable[0].ID)
	}, 100)
}

// betweenQueries is a query hook. It calls the function in a query's context after each query.
type betweenQueries struct{}

func (betweenQueries) BeforeQuery(ctx context.Context, _ *bun.QueryEvent) context.Context { return ctx }

func (betweenQueries) AfterQuery(ctx context.Context, _ *bun.QueryEvent) {
	if hook, ok := ctx.Value(betweenQueries{}).(func()); ok {
		hook()
	}
}

// F6: the instant is read before the rows. A change committed during the read is in the result, or its changed_at is no
// older than the instant.
func TestChangedReadsTheInstantFirst(t *testing.T) {
	onBothShops(t, func(t *testing.T, h *testShop) {
		rows := h.insertForUser(8, longAgo)
		h.HookQueries(betweenQueries{})
		var ended []shop.Order
		ctx := context.WithValue(h.ctx, betweenQueries{}, func() {
			o := val(h.Cancel(h.ctx, rows[len(ended)].ID, rows[0].User, payBy))(h.t)
			ended = append(ended, o)
			for since := h.clock(); h.clock().At <= since.At; { // wait until the clock advances
				continue
			}
		})
		got, now, err := h.Changed(ctx, []shop.ChangesQuery{since(rows[0].User, longAgo+100)}, 100)
		h.must(err)
		if len(ended) < 2 {
			t.Fatalf("%d orders ended between the queries, want some before the rows and some after", len(ended))
		}
		younger := h.changedOrders(rows[0].User, now.At)
		for _, o := range ended {
			if !slices.Contains(ids(got[0].Orders), o.ID) && !slices.Contains(ids(younger), o.ID) {
				t.Errorf("order %s is not in the result, but its change time is older than the instant", o.ID)
			}
		}
		if len(got[0].Orders) == 0 || len(younger) == 0 {
			t.Errorf("got %d orders in the result and %d later changes", len(got[0].Orders), len(younger))
		}
	}, 100)
}

// F6: the clock advances, and names its history.
func TestClockAdvancesWithinOneHistory(t *testing.T) {
	onBothShops(t, func(t *testing.T, h *testShop) {
		first, second := h.clock(), h.clock()
		if second.At < first.At || first.At < longAgo || first.History != second.History {
			t.Errorf("got the instants %+v and %+v, want a later one of the same history", first, second)
		}
		if !regexp.MustCompile("^[0-9a-f]{8}$").MatchString(first.History) || first.History == "00000000" {
			t.Errorf("got history %q, want eight hexadecimal digits", first.History)
		}
	}, 1)
}

// F6: another server has another history, which reveals a failover. A server with a changed id also has another
// history. P2: a server that flushes too rarely is reported.
func TestAnotherServerHasAnotherHistory(t *testing.T) {
	t.Parallel()
	one := withTypes(&testShop{Store: onMariaDB(t), t: t, ctx: kit.Context(t)})
	same := withTypes(&testShop{Store: onMariaDB(t), t: t, ctx: one.ctx})
	otherServer := openMySQL(t, kit.StartMariaDB(t, kit.MariaDBOptions{}).Database())
	other := withTypes(&testShop{Store: migrated(t, otherServer), t: t, ctx: one.ctx})
	if a, b, c := one.clock().History, same.clock().History, other.clock().History; a != b || a == c {
		t.Errorf("got histories %s and %s on one server, %s on another server", a, b, c)
	}
	before := other.clock().History
	_, err := other.DB().ExecContext(other.ctx, "SET GLOBAL server_id = @@global.server_id + 1")
	other.must(err)
	if after := other.clock().History; after == before {
		t.Errorf("got the same history %s with another server_id", after)
	}
	for _, want := range []string{"", "innodb_flush_log_at_trx_commit is 2"} {
		found, err := other.Weaknesses(other.ctx)
		if err != nil || (want == "") != (len(found) == 0) || len(found) > 1 ||
			want != "" && !strings.Contains(found[0].String(), want) {
			t.Errorf("got weaknesses %v (%v), want %q", found, err, want)
		}
		other.must(errOf(other.DB().ExecContext(other.ctx, "SET GLOBAL innodb_flush_log_at_trx_commit = 2")))
	}
}
