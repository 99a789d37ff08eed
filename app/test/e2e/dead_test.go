package e2e

import (
	"fmt"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"stampede/app/order"
	"stampede/app/shop"
	"stampede/app/test/kit"
	"stampede/app/wsclient"
)

// P2: an order that can never be stored ends refused with a reason. Its unit is sold again, and later orders do not
// wait. An operator reads the reason, fixes the cause and replays the order, or drops it.
func TestDeadLetterIsListedReplayedAndDropped(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	sale := s.open(5, 5)
	n := s.start()
	s.exec("ALTER TABLE orders MODIFY address VARCHAR(10) NULL") // the defect: no address fits

	invalidBuyer, _ := login(t, n, kit.NewID(), "")
	address := shop.Address{Name: "A", Phone: "13800000000", Text: "A road that is long enough"}
	var replayed, dropped order.Receipt
	for key, receipt := range map[string]*order.Receipt{"to-be-replayed": &replayed, "to-be-dropped": &dropped} {
		var err error
		*receipt, err = wsclient.Call[order.Receipt](invalidBuyer.Conn, wsclient.Request{
			Op: wsclient.Buy, Sale: sale.ID, Qty: 1, Key: key, Address: &address,
		})
		s.must(err)
	}
	validBuyer, _ := login(t, n, kit.NewID(), "")
	r, err := validBuyer.BuyUntilKnown(sale.ID, 1, "without-address")
	s.must(err)
	kit.Eventually(t, waitTimeout, func() (bool, string) {
		return validBuyer.received(r.Order, shop.Pending), "an order behind the unwritable ones waits"
	})
	kit.Eventually(t, waitTimeout, func() (bool, string) {
		return invalidBuyer.received(replayed.Order, shop.Refused) &&
			invalidBuyer.received(dropped.Order, shop.Refused), "not refused yet"
	})
	s.awaitDrained(sale)
	if free := s.counter(sale, "stock"); free != 4 {
		t.Errorf("stock %d, want the refused units back: 4", free)
	}
	s.audit(sale)

	letters := map[shop.ID]string{}
	for _, l := range s.deadLetters() {
		letters[l.Order] = l.ID
		if !strings.Contains(l.Reason, "address") || l.Deliveries < 2 {
			t.Errorf("dead letter %s: %d deliveries, reason %q; want at least 2 and the name of the column", l.ID, l.Deliveries,
				l.Reason)
		}
	}
	if len(letters) != 2 {
		t.Fatalf("got dead letters %v, want two", letters)
	}
	if out, code := s.run("dead", "replay", letters[replayed.Order]); code == 0 {
		t.Errorf("replay succeeded although the cause still exists: %s", out)
	}
	if free := s.counter(sale, "stock"); free != 4 {
		t.Errorf("stock %d after a failed replay, want 4", free)
	}

	s.exec("ALTER TABLE orders MODIFY address TEXT NULL")
	if out, code := s.run("dead", "replay", letters[replayed.Order]); code != 0 {
		t.Fatalf("replay exits %d: %s", code, out)
	}
	kit.Eventually(t, waitTimeout, func() (bool, string) {
		return invalidBuyer.received(replayed.Order, shop.Pending), "the buyer did not receive the replayed order"
	})
	row, err := s.store.Orders().Order(kit.Context(t), replayed.Order)
	s.must(err)
	if row.State != shop.Pending || row.Address == nil || row.Address.Text != address.Text ||
		row.Key != "to-be-replayed" {
		t.Errorf("the replayed row is %+v", row)
	}
	if out, code := s.run("dead", "drop", letters[dropped.Order]); code != 0 {
		t.Errorf("drop exits %d: %s", code, out)
	}
	for _, again := range []string{"replay", "drop"} {
		if _, code := s.run("dead", again, letters[dropped.Order]); code == 0 {
			t.Errorf("%s of a dropped dead letter succeeds, want an error", again)
		}
	}
	// An unreadable entry has no order. Its dead letter can only be dropped.
	id, err := s.redis.XAdd(kit.Context(t), &redis.XAddArgs{
		Stream: fmt.Sprintf("stampede:{%d}:dead", sale.Partition),
		Values: []string{"terms", "rubbish", "reason", "no terms of a buy", "stream", "1-0", "deliveries", "5"},
	}).Result()
	s.must(err)
	unreadable := fmt.Sprintf("%d-%s", sale.Partition, id)
	if out, code := s.run("dead", "replay", unreadable); code == 0 || !strings.Contains(out, "only be dropped") {
		t.Errorf("replay of an unreadable entry exits %d: %s", code, out)
	}
	if out, code := s.run("dead", "drop", unreadable); code != 0 {
		t.Errorf("drop of an unreadable entry exits %d: %s", code, out)
	}
	if left := s.deadLetters(); len(left) != 0 {
		t.Errorf("dead letters remain: %+v", left)
	}
	if free := s.counter(sale, "stock"); free != 3 {
		t.Errorf("stock %d, want 3", free)
	}
	s.audit(sale)
}
