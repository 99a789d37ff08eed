package e2e

import (
	"fmt"
	"testing"
	"time"

	"stampede/app"
	"stampede/app/test/kit"
)

// P2, P5: somebody keeps the row of one sale locked. Orders of another sale that lie in the same stream, and in the
// same batches, are written and expire all the same, a few seconds late at most; nothing of the locked sale is given
// up.
func TestLockedSaleDoesNotHoldOthersUp(t *testing.T) {
	t.Parallel()
	const few = 6 * time.Second
	s := newShop(t, "STAMPEDE_PAY_WINDOW=8s")
	stuck, other := s.twoOfOnePartition()
	n := s.start()
	c, _ := login(t, n, kit.NewID(), "")
	buy := func(sale app.Sale, key string) app.ID {
		t.Helper()
		r, err := c.BuyUntilKnown(sale.ID, 1, key)
		s.must(err)
		return r.Order
	}
	before := buy(stuck, "before-the-lock-1")
	due := buy(other, "before-the-lock-2")
	s.drained(stuck, 10*time.Second)

	tx, err := s.db.BeginTx(kit.Context(t), nil)
	s.must(err)
	defer func() { _ = tx.Rollback() }()
	_, err = tx.Exec("SELECT id FROM sales WHERE id = ? FOR UPDATE", stuck.ID)
	s.must(err)
	var expired time.Time
	expiring := make(chan struct{})
	go func() { // meanwhile
		defer close(expiring)
		for !c.heard(due, app.Expired) && c.Err() == nil {
			c.Pause(0)
		}
		expired = time.Now()
	}()
	var slowest time.Duration
	var waiting []app.ID
	for i := range 3 {
		waiting = append(waiting, buy(stuck, fmt.Sprintf("of-the-locked-%d", i)))
		id, began := buy(other, fmt.Sprintf("of-the-other-%d", i)), time.Now()
		kit.Eventually(t, 20*time.Second,
			func() (bool, string) { return c.heard(id, app.Pending), "the order of the other sale is not written" })
		slowest = max(slowest, time.Since(began))
	}
	select {
	case <-expiring:
	case <-time.After(60 * time.Second):
		t.Fatal("the order of the other sale does not expire")
	}
	var payBy app.Millis
	s.must(s.db.QueryRow("SELECT pay_by FROM orders WHERE id = ?", due).Scan(&payBy))
	late := expired.Sub(payBy.Time())
	t.Logf("beside a locked sale: written after %v, expired %v late", slowest, late)
	if slowest > few || late > few {
		t.Errorf("written after %v, expired %v late; want at most %v", slowest, late, few)
	}
	for _, id := range waiting {
		if c.heard(id, app.Pending) {
			t.Errorf("order %s was written though its sale is locked", id)
		}
	}

	s.must(tx.Rollback())
	s.drained(stuck, 30*time.Second)
	for _, id := range append(waiting, before) {
		kit.Eventually(t, 60*time.Second,
			func() (bool, string) { return c.heard(id, app.Expired), "order " + id.String() + " has no end" })
	}
	if letters := s.deadLetters(); len(letters) != 0 {
		t.Errorf("%d dead letters, first %+v", len(letters), letters[0])
	}
	s.audit(stuck)
	s.audit(other)
}

// twoOfOnePartition opens sales until two are in the same stream.
func (s *shop) twoOfOnePartition() (one, other app.Sale) {
	s.t.Helper()
	one = s.open(100, 100)
	for other = s.open(100, 100); other.Partition != one.Partition; {
		other = s.open(100, 100)
	}
	return one, other
}
