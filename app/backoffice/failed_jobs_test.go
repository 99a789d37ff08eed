package backoffice

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"stampede/app/journal"
	"stampede/app/outbox"
	"stampede/app/recovery"
	"stampede/app/shop"
	"stampede/app/test/fakes"
	"stampede/app/test/kit"
	"stampede/streams"
)

// failedEntries is a quarantine with messages by name.
type failedEntries struct {
	names []string
	done  []string
	fail  error
}

type (
	failedMessages struct{ *failedEntries }
	failedEmails   struct{ *failedEntries }
)

func (f failedMessages) Quarantined(context.Context) (out []outbox.QuarantinedMessage, err error) {
	for _, n := range f.names {
		out = append(out, outbox.QuarantinedMessage{ID: n, Message: outbox.Message{Order: 9, Rev: 2}})
	}
	return out, nil
}

func (e failedEmails) Quarantined(context.Context) (out []outbox.QuarantinedEmail, err error) {
	for _, n := range e.names {
		out = append(out, outbox.QuarantinedEmail{ID: n, Kind: outbox.EmailPaid, To: "ada@shop.example"})
	}
	return out, nil
}

func (e *failedEntries) remove(operation, id string) (bool, error) {
	if e.fail != nil {
		return false, e.fail
	}
	i := slices.Index(e.names, id)
	if i < 0 {
		return false, nil
	}
	e.names = slices.Delete(e.names, i, i+1)
	e.done = append(e.done, operation+" "+id)
	return true, nil
}

func (e *failedEntries) send(id string) error {
	found, err := e.remove("send", id)
	if err == nil && !found {
		err = shop.ErrNoRow
	}
	return err
}

func (e *failedEntries) Replay(_ context.Context, id string) error { return e.send(id) }

func (e *failedEntries) Drop(_ context.Context, id string) (bool, error) { return e.remove("drop", id) }

// A failed message is replayed or dropped once per key. The journal entry comes first and contains no personal data. A
// repeat completes an operation that crashed before its effect.
func TestFailedMessagesAreReplayedOrDroppedOnce(t *testing.T) {
	t.Parallel()
	type operation func(ctx context.Context, actor journal.Actor, id string) error
	for kind, choose := range map[string]func(l *FailedJobs) operation{
		"parked.replay": func(l *FailedJobs) operation { return l.ReplayMessage },
		"parked.drop":   func(l *FailedJobs) operation { return l.DropMessage },
		"mail.retry":    func(l *FailedJobs) operation { return l.ReplayEmail },
		"mail.drop":     func(l *FailedJobs) operation { return l.DropEmail },
	} {
		e, w := &failedEntries{names: []string{"1-0", "2-0"}}, &world{Store: kit.SQLite(t), t: t, ctx: kit.Context(t)}
		operate := choose(&FailedJobs{Store: w.Store, Postings: failedMessages{e}, Mails: failedEmails{e}})
		actor := ada()
		if err := operate(w.ctx, actor, "3-0"); err == nil || shop.AsError(err).Code != shop.NotFound ||
			len(w.journalRows()) != 0 {
			t.Errorf("%s of an unknown entry: got %v, %d journal rows; want not_found, 0 rows", kind, err, len(w.journalRows()))
		}
		e.fail = shop.ErrTransient
		if err := operate(w.ctx, actor, "2-0"); err == nil || shop.AsError(err).Code != shop.Busy ||
			len(w.journalRows()) != 1 {
			t.Errorf("%s while Redis is unreachable: got %v, %d journal rows; want busy, 1 row", kind, err, len(w.journalRows()))
		}
		e.fail = nil
		for range 2 {
			if err := operate(w.ctx, actor, "2-0"); err != nil {
				t.Errorf("%s repeated: %v", kind, err)
			}
		}
		rows := w.journalRows()
		if len(e.done) != 1 || !strings.HasSuffix(e.done[0], " 2-0") || len(rows) != 1 || rows[0].Kind != kind {
			t.Errorf("%s: got the calls %v and the journal rows %+v, want one of each", kind, e.done, rows)
		}
		if row := rows[0]; len(row.Before) == 0 || strings.Contains(string(row.Before)+row.Object, "@") {
			t.Errorf("%s: got the journal row %+v, want the entry without an e-mail address", kind, row)
		}
		e.fail = shop.ErrPermanent
		if err := operate(w.ctx, ada(), "1-0"); err == nil || shop.AsError(err).Code != shop.WrongState {
			t.Errorf("%s of an entry that cannot be sent: got %v, want wrong_state", kind, err)
		}
	}
	if _, _, err := shop.FirstOf("x", []int{1}, 5, shop.ErrTransient); shop.AsError(err).Code != shop.Busy {
		t.Errorf("an unreadable list: got %v, want busy", err)
	}
	if page, more, err := shop.FirstOf("x", []int{1, 2, 3}, 2, nil); len(page) != 2 || !more || err != nil {
		t.Errorf("got %v, more %v, %v; want 2 entries and more", page, more, err)
	}
}

// openRedis returns a Redis with the sale of the world, and with the dead letter 0-1-0 of order 1.
func (w *world) openRedis() *streams.Inventory {
	w.t.Helper()
	client := redis.NewClient(&redis.Options{Addr: miniredis.RunT(w.t).Addr(), MaxRetries: -1})
	w.t.Cleanup(func() { _ = client.Close() })
	inventory, err := streams.New(streams.Options{Client: client, Partitions: 1})
	fakes.Must(w.t, err)
	fakes.Must(w.t, (&recovery.Driver{Partitions: 1, Store: w.Store, Redis: inventory}).Check(w.ctx))
	fakes.Must(w.t, client.XAdd(w.ctx, &redis.XAddArgs{
		Stream: "stampede:{0}:dead", ID: "1-0",
		Values: []string{"terms", fmt.Sprintf("2:1:1:0:1:1:1:4900:1:h:k:%d:9:", w.sale)},
	}).Err())
	return inventory
}

// A dead letter is replayed once and dropped once per key; the journal contains its order.
func TestDeadLettersAreReplayedOrDroppedOnce(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"dead.replay", "dead.drop"} {
		w := newWorld(t)
		w.order(1, 9, shop.Refused)
		jobs := &FailedJobs{Store: w.Store, Letters: &recovery.DeadLetters{
			Store: w.Store, Redis: w.openRedis(), Effects: w.effects(), PayWindow: time.Minute,
		}}
		operate := func(actor journal.Actor, id string) (state shop.OrderState, err error) {
			if kind == "dead.drop" {
				return shop.Refused, jobs.DropDead(w.ctx, actor, id)
			}
			o, err := jobs.ReplayDead(w.ctx, actor, id)
			return o.State, err
		}
		before := len(w.journalRows())
		if _, err := operate(ada(), "0-2-0"); err == nil || shop.AsError(err).Code != shop.NotFound ||
			len(w.journalRows()) != before {
			t.Errorf("%s of an unknown dead letter: got %v, want not_found and no journal row", kind, err)
		}
		want := shop.Pending
		if kind == "dead.drop" {
			want = shop.Refused
		}
		actor := ada()
		for range 2 {
			if state, err := operate(actor, "0-1-0"); err != nil || state != want {
				t.Errorf("%s: got %s, %v; want %s", kind, state, err, want)
			}
		}
		rows := w.journalRows()[before:]
		if len(rows) != 1 || rows[0].Kind != kind || string(rows[0].Before) != fmt.Sprintf(`{"order":"1","sale":"%s"}`, w.sale) {
			t.Errorf("%s: got the journal rows %+v, want one with the order and the sale", kind, rows)
		}
		if _, err := operate(ada(), "0-1-0"); err == nil || shop.AsError(err).Code != shop.NotFound {
			t.Errorf("%s of a dropped dead letter: got %v, want not_found", kind, err)
		}
	}
}
