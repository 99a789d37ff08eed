package streams

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

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

// office is a reader of the stream that keeps what it took.
type office struct {
	*PaidReader
	got  []app.OutboxMessage
	fail map[app.ID]error // of the next time it is handed that order
}

func (f *fixture) office(group, consumer string) *office {
	r := NewPaidReader(f.client, group, consumer)
	r.block, r.claimIdle = time.Millisecond, time.Hour
	return &office{PaidReader: r, fail: map[app.ID]error{}}
}

func (o *office) take(_ context.Context, p app.OutboxMessage) error {
	if err := o.fail[p.Order]; err != nil {
		delete(o.fail, p.Order)
		return err
	}
	o.got = append(o.got, p)
	return nil
}

func (o *office) want(t *testing.T, f *fixture, n int) {
	t.Helper()
	if taken, err := o.RunOnce(f.ctx, o.take); err != nil || taken != n {
		t.Fatalf("took %d, %v, want %d", taken, err, n)
	}
}

// What is appended reaches every group once, in order, whenever the group was made.
func TestPaidOrdersReachEveryGroup(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, f *fixture) {
		s := NewPaidStream(f.client)
		early := f.office(BackOfficeGroup, "one")
		early.want(t, f, 0) // there is nothing yet, not even a stream
		sent := []app.OutboxMessage{posting(newID(), 2), posting(newID(), 2), posting(newID(), 5)}
		f.must(s.Append(f.ctx, sent[:2]))
		f.must(s.Append(f.ctx, sent[2:]))
		late := f.office("bookkeeping", "one")
		for _, o := range []*office{early, late} {
			o.want(t, f, 3)
			o.want(t, f, 0)
			if diff := cmp.Diff(sent, o.got); diff != "" {
				t.Error(diff)
			}
		}
	})
}

// What a reader could not take comes again: to itself before anything new, or to another when it is gone.
func TestUntakenPaidOrdersComeAgain(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, f *fixture) {
		s := NewPaidStream(f.client)
		one, two := posting(newID(), 2), posting(newID(), 2)
		f.must(s.Append(f.ctx, []app.OutboxMessage{one, two}))
		o := f.office(BackOfficeGroup, "one")
		down := errors.New("the receiver is down")
		o.fail[one.Order] = down
		if taken, err := o.RunOnce(f.ctx, o.take); !errors.Is(err, down) || taken != 0 {
			t.Fatalf("took %d, %v", taken, err)
		}
		three := posting(newID(), 2)
		f.must(s.Append(f.ctx, []app.OutboxMessage{three}))
		o.fail[two.Order] = down
		if taken, err := o.RunOnce(f.ctx, o.take); !errors.Is(err, down) || taken != 1 {
			t.Fatalf("took %d, %v", taken, err)
		}
		other := f.office(BackOfficeGroup, "two")
		other.claimIdle = 0
		other.want(t, f, 1)
		if diff := cmp.Diff([]app.OutboxMessage{two}, other.got); diff != "" {
			t.Fatal(diff)
		}
		restarted := f.office(BackOfficeGroup, "one")
		restarted.want(t, f, 1)
		restarted.want(t, f, 0)
		if diff := cmp.Diff([]app.OutboxMessage{one, three}, append(o.got, restarted.got...)); diff != "" {
			t.Fatal(diff)
		}
	})
}

// An entry that is not of the stream's kind is acknowledged, and what comes after it is read.
func TestForeignEntryDoesNotBlockThePaidStream(t *testing.T) {
	t.Parallel()
	f := onRedis(t)
	s := NewPaidStream(f.client)
	f.must(s.Append(f.ctx, nil))
	for _, fields := range [][]any{{"a", "b"}, {"order", "1", "rev", "2", "body", `{"order":"2","rev":2}`}} {
		f.must(f.client.Do(f.ctx, append([]any{"XADD", paidKey, "*"}, fields...)...).Err())
	}
	fine := posting(newID(), 3)
	f.must(s.Append(f.ctx, []app.OutboxMessage{fine}))
	o := f.office(BackOfficeGroup, "one")
	o.want(t, f, 3)
	if diff := cmp.Diff([]app.OutboxMessage{fine}, o.got); diff != "" {
		t.Fatal(diff)
	}
}

// Nothing is trimmed that a group has not acknowledged, or that is younger than the retention.
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
		if taken, err := o.RunOnce(f.ctx, o.take); err == nil || taken != 1 {
			t.Fatalf("took %d, %v", taken, err)
		}
		wantTrimmed(1) // the second one is pending
		o.want(t, f, 2)
		s.retention = time.Hour
		wantTrimmed(0)             // too young
		s.retention = -time.Minute // old enough already
		wantTrimmed(1)             // the last delivered one stays
	})
}
