package streams

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"stampede/app"
)

func posting(order app.ID, rev int) app.OutboxMessage {
	return app.OutboxMessage{
		Order: order, Rev: rev, State: app.Paid, At: 1_800_000_000_000, Sale: newID(), ProductName: "茶壶", User: newID(),
		Qty:      2,
		PriceFen: 4900, AmountFen: 9800, PaidAt: 1_800_000_000_000, TradeNo: "2026112122001400000000000001",
		Address: &app.Address{Name: "李雷", Phone: "1", Text: "Road 1"},
	}
}

// office reads the stream with Tail and keeps what it took.
type office struct {
	f               *fixture
	group, consumer string
	got             []app.OutboxMessage
	fail            map[app.ID]error // of the next time it gets that order
}

func (f *fixture) office(group, consumer string) *office {
	return &office{f: f, group: group, consumer: consumer, fail: map[app.ID]error{}}
}

// take tails until n postings are taken or one fails.
func (o *office) take(n int) error {
	s := NewPaidStream(o.f.client)
	return s.Tail(o.f.ctx, o.group, o.consumer, n, func(_ context.Context, p app.OutboxMessage) error {
		if err := o.fail[p.Order]; err != nil {
			delete(o.fail, p.Order)
			return err
		}
		o.got = append(o.got, p)
		return nil
	})
}

// Postings reach every group once, in order, also one that is made later.
func TestPaidOrdersReachEveryGroup(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, f *fixture) {
		s := NewPaidStream(f.client)
		sent := []app.OutboxMessage{posting(newID(), 2), posting(newID(), 2), posting(newID(), 5)}
		f.must(s.Append(f.ctx, sent[:2]))
		f.must(s.Append(f.ctx, sent[2:]))
		for _, group := range []string{BackOfficeGroup, "bookkeeping"} {
			o := f.office(group, "one")
			f.must(o.take(3))
			if diff := cmp.Diff(sent, o.got); diff != "" {
				t.Error(diff)
			}
			f.wantPaidPending(group, 0)
		}
	})
}

// wantPaidPending checks how many postings a group has not acknowledged, and that none is new.
func (f *fixture) wantPaidPending(group string, n int64) {
	f.t.Helper()
	groups, err := f.client.XInfoGroups(f.ctx, paidKey).Result()
	f.must(err)
	for _, g := range groups {
		if g.Name == group && g.Pending != n {
			f.t.Errorf("group %s has %d pending, want %d", group, g.Pending, n)
		}
	}
}

// A posting that a reader could not take comes again before anything new. After a while, another reader gets it.
func TestUntakenPaidOrdersAreReadAgain(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, f *fixture) {
		s, down := NewPaidStream(f.client), errors.New("the receiver is down")
		one, two := posting(newID(), 2), posting(newID(), 2)
		f.must(s.Append(f.ctx, []app.OutboxMessage{one}))
		o := f.office(BackOfficeGroup, "one")
		o.fail[one.Order] = down
		if err := o.take(1); !errors.Is(err, down) {
			t.Fatal(err)
		}
		f.must(s.Append(f.ctx, []app.OutboxMessage{two}))
		f.must(o.take(1))
		o.fail[two.Order] = down
		if err := o.take(1); !errors.Is(err, down) {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]app.OutboxMessage{one}, o.got); diff != "" {
			t.Fatal(diff)
		}
		other := s.reader(f.client, BackOfficeGroup, "two", time.Millisecond, time.Millisecond)
		time.Sleep(10 * time.Millisecond)
		if found, err := other.claim(f.ctx, 2); err != nil || len(found) != 1 || found[0].number < 2 {
			t.Errorf("claimed %+v, %v", found, err)
		}
	})
}

// An unreadable entry is acknowledged, and the next one is read.
func TestUnreadableEntryDoesNotBlockThePaidStream(t *testing.T) {
	t.Parallel()
	f := onRedis(t)
	s := NewPaidStream(f.client)
	for _, fields := range [][]any{{"a", "b"}, {"order", "1", "rev", "2", "body", `{"order":"2","rev":2}`}} {
		f.must(f.client.Do(f.ctx, append([]any{"XADD", paidKey, "*"}, fields...)...).Err())
	}
	fine := posting(newID(), 3)
	f.must(s.Append(f.ctx, []app.OutboxMessage{fine}))
	o := f.office(BackOfficeGroup, "one")
	f.must(o.take(3))
	if diff := cmp.Diff([]app.OutboxMessage{fine}, o.got); diff != "" {
		t.Fatal(diff)
	}
}

// Only entries that all groups have acknowledged and that are older than the retention are trimmed; a quarantined one
// is acknowledged.
func TestPaidStreamIsTrimmedBehindItsReaders(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, f *fixture) {
		s := NewPaidStream(f.client)
		if n, err := s.trim(f.ctx); err != nil || n != 0 {
			t.Fatalf("no stream yet: %d, %v", n, err)
		}
		wantTrimmed := func(n int64) {
			t.Helper()
			if got, err := s.trim(f.ctx); err != nil || got != n {
				t.Fatalf("trimmed %d, %v, want %d", got, err, n)
			}
		}
		sent := []app.OutboxMessage{posting(newID(), 2), posting(newID(), 2), posting(newID(), 2)}
		f.must(s.Append(f.ctx, sent))
		o := f.office(BackOfficeGroup, "one")
		s.retention = -time.Minute // old enough already
		wantTrimmed(0)             // not delivered
		o.fail[sent[1].Order] = errors.New("the receiver is down")
		if err := o.take(3); err == nil {
			t.Fatal("the second one was taken")
		}
		wantTrimmed(1) // the second one is pending
		pending, err := f.client.XPendingExt(f.ctx, &redis.XPendingExtArgs{
			Stream: paidKey, Group: BackOfficeGroup, Start: "-", End: "+", Count: 1,
		}).Result()
		f.must(err)
		if did, err := s.isolate(f.ctx, BackOfficeGroup, pending[0].ID, "no"); !did || err != nil {
			t.Fatal(did, err)
		}
		f.must(o.take(1))
		s.retention = time.Hour
		wantTrimmed(0)             // too young
		s.retention = -time.Minute // old enough already
		wantTrimmed(1)             // the last delivered one stays
	})
}
