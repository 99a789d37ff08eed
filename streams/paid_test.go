package streams

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"stampede/app/outbox"
	"stampede/app/shop"
)

func posting(order shop.ID, rev int) outbox.Message {
	return outbox.Message{
		Order: order, Rev: rev, State: shop.Paid, At: 1_800_000_000_000, Sale: newID(), ProductName: "茶壶", User: newID(),
		Qty:      2,
		PriceFen: 4900, AmountFen: 9800, PaidAt: 1_800_000_000_000, TradeNo: "2026112122001400000000000001",
		Address: &shop.Address{Name: "李雷", Phone: "1", Text: "Road 1"},
	}
}

// paidStream makes the stream, with the mark already created.
func (f *fixture) paidStream() *PaidStream {
	f.t.Helper()
	s := NewPaidStream(f.client)
	f.confirmLoss(s, 0)
	return s
}

// confirmLoss checks that Append reports a loss and appends nothing, and confirms the loss.
func (f *fixture) confirmLoss(s *PaidStream, last shop.Millis) outbox.LostError {
	f.t.Helper()
	_, err := s.Append(f.ctx, last, []outbox.Message{posting(newID(), 2)})
	var lost *outbox.LostError
	if !errors.As(err, &lost) {
		f.t.Fatalf("append: got %v, want a LostError", err)
	}
	f.must(s.Confirm(f.ctx, &outbox.LostError{History: lost.History + "0", Mark: lost.Mark}))
	f.must(s.Confirm(f.ctx, &outbox.LostError{History: lost.History, Mark: lost.Mark + 1}))
	if _, err := s.Check(f.ctx, last); !errors.As(err, &lost) {
		f.t.Errorf("Confirm accepted another state: got %v, want a LostError", err)
	}
	f.must(s.Confirm(f.ctx, lost))
	return *lost
}

func (f *fixture) append(s *PaidStream, postings ...outbox.Message) shop.Millis {
	f.t.Helper()
	sent, err := s.Append(f.ctx, 0, postings)
	f.must(err)
	return sent
}

// backOfficeReader reads the stream with XREADGROUP, as a program of the shop does, and records the postings.
type backOfficeReader struct {
	f               *fixture
	group, consumer string
	got             []outbox.Message
	fail            map[shop.ID]error // error at the next delivery of an order
}

func (f *fixture) backOffice(group, consumer string) *backOfficeReader {
	return &backOfficeReader{f: f, group: group, consumer: consumer, fail: map[shop.ID]error{}}
}

// take reads and acknowledges n postings, pending ones first, until one fails.
func (o *backOfficeReader) take(n int) error {
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

// Postings reach every group once, in order, including a group that is created later.
func TestPaidOrdersReachEveryGroup(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		s := f.paidStream()
		sent := []outbox.Message{posting(newID(), 2), posting(newID(), 2), posting(newID(), 5)}
		f.append(s, sent[:2]...)
		f.append(s, sent[2:]...)
		for _, group := range []string{"backoffice", "bookkeeping"} {
			o := f.backOffice(group, "one")
			f.must(o.take(3))
			if diff := cmp.Diff(sent, o.got); diff != "" {
				t.Error(diff)
			}
			if p, err := f.client.XPending(f.ctx, paidKey, group).Result(); err != nil || p.Count != 0 {
				t.Errorf("group %s: got the pending entries %+v, %v, want none", group, p, err)
			}
		}
	})
}

// Only entries that are acknowledged by all groups and older than the retention are trimmed. Quarantined entries are
// acknowledged.
func TestPaidStreamIsTrimmedBehindItsReaders(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		s := f.paidStream()
		if n, err := s.trim(f.ctx); err != nil || n != 0 {
			t.Fatalf("before the first posting: trimmed %d, %v, want 0", n, err)
		}
		wantTrimmed := func(n int64) {
			t.Helper()
			if got, err := s.trim(f.ctx); err != nil || got != n {
				t.Fatalf("trimmed %d, %v, want %d", got, err, n)
			}
		}
		sent := []outbox.Message{posting(newID(), 2), posting(newID(), 2), posting(newID(), 2)}
		f.append(s, sent...)
		f.must(s.makeGroup(f.ctx, "backoffice"))
		o := f.backOffice("backoffice", "one")
		s.retention = -time.Minute // all entries are old enough
		wantTrimmed(0)             // not delivered
		o.fail[sent[1].Order] = errors.New("the receiver is down")
		if err := o.take(3); err == nil {
			t.Fatal("the second posting was accepted")
		}
		wantTrimmed(1) // the second entry is pending
		pending, err := f.client.XPendingExt(f.ctx, &redis.XPendingExtArgs{
			Stream: paidKey, Group: "backoffice", Start: "-", End: "+", Count: 1,
		}).Result()
		f.must(err)
		if did, err := s.quarantineEntry(f.ctx, "backoffice", pending[0].ID, "no"); !did || err != nil {
			t.Fatalf("quarantine: got moved %v, %v, want true", did, err)
		}
		f.must(o.take(1))
		s.retention = time.Hour
		wantTrimmed(0)             // not old enough
		s.retention = -time.Minute // all entries are old enough
		wantTrimmed(1)             // the last delivered entry stays
	})
}

// Personal data: postings that only the webhook reads leave Redis after the retention. Only readers create groups: no
// unused group keeps postings, and a group that an operator destroyed is not created again.
func TestUnusedGroupsKeepNoPostings(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		s := NewPaidStream(f.client)
		s.retention = -time.Minute // all entries are old enough
		r := newReceiver(paidQueue(f), func(context.Context, try) error { return nil })
		d := r.node("one", time.Hour)
		for i, want := range []int64{2, 3} { // the last delivered entry stays
			r.awaitAll(r.sendNew(3, false), d)
			if n, err := s.trim(f.ctx); n != want || err != nil {
				t.Errorf("round %d: trimmed %d, %v, want %d", i, n, err, want)
			}
			f.must(s.makeGroup(f.ctx, "backoffice"))
			f.must(f.client.XGroupDestroy(f.ctx, paidKey, "backoffice").Err())
		}
	})
}

// P8: Append and Check report the mark from which postings may be missing, and append nothing, if the stream is behind
// the database, on a server with another history, or emptied. Otherwise Check returns the groups.
func TestLostPostingsAreDetected(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		s := f.paidStream()
		first := f.append(s, posting(newID(), 2))
		second := f.append(s, posting(newID(), 2))
		f.must(s.MakeGroups(f.ctx, []string{"backoffice", "backoffice"}))
		if groups, err := s.Check(f.ctx, second); err != nil || !slices.Equal(groups, []string{"backoffice"}) {
			t.Errorf("got groups %q, %v, want backoffice", groups, err)
		}
		f.must(f.client.HSet(f.ctx, paidMark, "at", int64(first)).Err())
		if lost := f.confirmLoss(s, second); lost.Since != first || second <= first {
			t.Errorf("a stream behind the database: got %+v, want since %d", lost, first)
		}
		f.must(f.client.HSet(f.ctx, paidMark, "history", "another").Err())
		if lost := f.confirmLoss(s, first); lost.Since != first {
			t.Errorf("another history: got %+v, want since %d", lost, first)
		}
		if n := f.client.XLen(f.ctx, paidKey).Val(); n != 2 {
			t.Errorf("%d postings, want 2", n)
		}
		f.must(f.client.Del(f.ctx, paidKey, paidMark).Err())
		now, err := f.inventory.Now(f.ctx)
		f.must(err)
		lost := f.confirmLoss(s, first)
		if ago := now.Sub(lost.Since); lost.Mark != 0 || ago > paidRetention || ago < paidRetention-testTimeout {
			t.Errorf("an emptied stream: got %+v, want since %s before %d", lost, paidRetention, now)
		}
		if groups, err := s.Check(f.ctx, first); err != nil || len(groups) != 0 {
			t.Errorf("an absent stream: got groups %q, %v, want none", groups, err)
		}
	})
}
