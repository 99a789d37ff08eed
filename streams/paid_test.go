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

// office reads the stream with XREADGROUP, as a program of the shop does, and keeps what it took.
type office struct {
	f               *fixture
	group, consumer string
	got             []app.OutboxMessage
	fail            map[app.ID]error // of the next time it gets that order
}

func (f *fixture) office(group, consumer string) *office {
	return &office{f: f, group: group, consumer: consumer, fail: map[app.ID]error{}}
}

// take reads and acknowledges n postings, pending ones first, until one fails.
func (o *office) take(n int) error {
	if err := NewPaidStream(o.f.client).makeGroup(o.f.ctx, o.group); err != nil {
		return err
	}
	for from := "0"; n > 0; {
		found, err := o.f.client.XReadGroup(o.f.ctx, &redis.XReadGroupArgs{
			Group: o.group, Consumer: o.consumer, Streams: []string{paidKey, from}, Count: 1,
		}).Result()
		if err != nil {
			return err
		}
		if len(found[0].Messages) == 0 {
			from = ">"
			continue
		}
		p, err := parsePosting(found[0].Messages[0])
		if err != nil {
			return err
		}
		if err := o.fail[p.Order]; err != nil {
			delete(o.fail, p.Order)
			return err
		}
		o.got = append(o.got, p)
		if err := o.f.client.XAck(o.f.ctx, paidKey, o.group, found[0].Messages[0].ID).Err(); err != nil {
			return err
		}
		n--
	}
	return nil
}

// Postings reach every group once, in order, also one that is made later.
func TestPaidOrdersReachEveryGroup(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		s := NewPaidStream(f.client)
		sent := []app.OutboxMessage{posting(newID(), 2), posting(newID(), 2), posting(newID(), 5)}
		f.must(s.Append(f.ctx, sent[:2]))
		f.must(s.Append(f.ctx, sent[2:]))
		for _, group := range []string{"backoffice", "bookkeeping"} {
			o := f.office(group, "one")
			f.must(o.take(3))
			if diff := cmp.Diff(sent, o.got); diff != "" {
				t.Error(diff)
			}
			if p, err := f.client.XPending(f.ctx, paidKey, group).Result(); err != nil || p.Count != 0 {
				t.Errorf("group %s has not acknowledged %+v, %v", group, p, err)
			}
		}
	})
}

// Only entries that all groups have acknowledged and that are older than the retention are trimmed; a quarantined one
// is acknowledged.
func TestPaidStreamIsTrimmedBehindItsReaders(t *testing.T) {
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
		f.must(s.makeGroup(f.ctx, "backoffice"))
		o := f.office("backoffice", "one")
		s.retention = -time.Minute // old enough already
		wantTrimmed(0)             // not delivered
		o.fail[sent[1].Order] = errors.New("the receiver is down")
		if err := o.take(3); err == nil {
			t.Fatal("the second one was taken")
		}
		wantTrimmed(1) // the second one is pending
		pending, err := f.client.XPendingExt(f.ctx, &redis.XPendingExtArgs{
			Stream: paidKey, Group: "backoffice", Start: "-", End: "+", Count: 1,
		}).Result()
		f.must(err)
		if did, err := s.isolate(f.ctx, "backoffice", pending[0].ID, "no"); !did || err != nil {
			t.Fatal(did, err)
		}
		f.must(o.take(1))
		s.retention = time.Hour
		wantTrimmed(0)             // too young
		s.retention = -time.Minute // old enough already
		wantTrimmed(1)             // the last delivered one stays
	})
}

// Personal data: postings that only the webhook reads leave Redis after the retention. Only readers make groups: no
// unused group keeps postings, and a group that an operator destroyed stays destroyed.
func TestUnusedGroupsKeepNoPostings(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		s := NewPaidStream(f.client)
		s.retention = -time.Minute // old enough already
		r := newReceiver(paidChannel(f), func(context.Context, try) error { return nil })
		d := r.node("one", time.Hour)
		for i, want := range []int64{2, 3} { // the last delivered one stays
			r.awaitAll(r.sendNew(3, false), d)
			if n, err := s.trim(f.ctx); n != want || err != nil {
				t.Errorf("round %d: trimmed %d, %v, want %d", i, n, err, want)
			}
			f.must(s.makeGroup(f.ctx, "backoffice"))
			f.must(f.client.XGroupDestroy(f.ctx, paidKey, "backoffice").Err())
		}
	})
}
