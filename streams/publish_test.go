package streams

import (
	"errors"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"stampede/app/shop"
	"stampede/app/test/kit"
)

// subscribe receives the messages of partition 1.
func (f *fixture) subscribe() <-chan *redis.Message {
	f.t.Helper()
	sub := f.client.Subscribe(f.ctx, shop.ChangesChannel(f.url, 1))
	f.t.Cleanup(func() { _ = sub.Close() })
	_, err := sub.Receive(f.ctx)
	f.must(err)
	return sub.Channel()
}

// received is a message with its changes.
type received struct {
	shop.Message
	changes []shop.Change
}

// nextMessage receives the next message.
func (f *fixture) nextMessage(messages <-chan *redis.Message) (h received) {
	f.t.Helper()
	select {
	case m := <-messages:
		var err error
		h.Message, err = shop.ParseMessage(m.Payload)
		f.must(err)
		for change, err := range h.Changes() {
			f.must(err)
			h.changes = append(h.changes, change)
		}
	case <-time.After(testTimeout):
		f.t.Fatal("no message was received")
	}
	return h
}

func (f *fixture) sequenceEnd() shop.SequenceEnd {
	f.t.Helper()
	ends, err := f.inventory.Sequences().SequenceEnds(f.ctx)
	f.must(err)
	return ends[1]
}

// F4: every message contains the number of the previous one. SequenceEnds returns the number of the last message.
func TestMessagesContainThePreviousNumber(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		messages := f.subscribe()
		if end := f.sequenceEnd(); end != (shop.SequenceEnd{Epoch: testEpoch}) {
			t.Fatalf("before any message: got the end %+v, want 0", end)
		}
		rows := make([]*shop.Order, publishChunk+1)
		for i := range rows {
			rows[i] = &shop.Order{
				ID: shop.ID(i + 1), User: shop.ID(100 + i), Sale: 9, Partition: 1, Rev: 2, State: shop.Paid,
			}
		}
		f.must(f.inventory.Sequences().Publish(f.ctx, 1, f.now(), rows[:1]))
		f.must(f.inventory.Sequences().Publish(f.ctx, 1, f.now(), rows))
		for i, want := range []int{1, publishChunk, 1} {
			m := f.nextMessage(messages)
			if m.Before != int64(i) || m.Number != int64(i)+1 || len(m.changes) != want {
				t.Fatalf("message %d: got number %d after %d with %d changes, want %d changes", i, m.Number, m.Before, len(m.changes),
					want)
			}
		}
		if end := f.sequenceEnd(); end.Last != 3 || end.Epoch != testEpoch {
			t.Fatalf("got the end %+v, want 3", end)
		}
		f.close(testEpoch+1, true) // rows are valid in every state of Redis
		f.must(f.inventory.Sequences().Publish(f.ctx, 1, f.now(), rows[:1]))
		if m := f.nextMessage(messages); m.Number != 4 || m.changes[0].User != 100 {
			t.Fatalf("while the partition is closed: got %+v, want message 4 to user 100", m)
		}
	})
}

// F2: rows touched in a transaction that began more than PublishDeadline ago, or in the future, are not published,
// neither alone nor with the acknowledgement of their entry.
func TestLateChangesAreNotPublished(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		s := f.openSale(10)
		f.reserveMany(s, 1)
		_, entries := f.delivered("node-1", 0)
		row := []*shop.Order{
			{ID: entries[0].Order, User: 5000, Sale: 9, Partition: 1, Rev: 1, State: shop.Pending, PayBy: 5},
		}
		for name, asOf := range map[string]shop.Millis{
			"past": f.now().Add(-shop.PublishDeadline - 50*time.Millisecond), "future": f.now().Add(time.Minute),
		} {
			if err := f.inventory.Sequences().Publish(f.ctx, 1, asOf, row); !errors.Is(err, shop.ErrTooLate) {
				t.Errorf("%s: publish: got %v, want ErrTooLate", name, err)
			}
			err := f.queue().Finish(f.ctx, 1, asOf, row, []*shop.Entry{&entries[0]})
			if !errors.Is(err, shop.ErrTooLate) {
				t.Errorf("%s: finish: got %v, want ErrTooLate", name, err)
			}
		}
		if end := f.sequenceEnd(); end.Last != 0 {
			t.Errorf("got the last message %d, want 0", end.Last)
		}
		if st := f.stats(); st.Pending != 1 || st.Deadlines != 0 {
			t.Errorf("got %+v, want pending 1 and deadlines 0", st)
		}
		f.must(f.queue().Finish(f.ctx, 1, f.now(), row, []*shop.Entry{&entries[0]}))
		if st := f.stats(); st.Pending != 0 || st.Deadlines != 1 || f.sequenceEnd().Last != 1 {
			t.Errorf("in time: got %+v, want pending 0, deadlines 1 and last 1", st)
		}
	})
}

// I4: message, deadline and acknowledgement are one step. An existing deadline stays, and an entry counts once. With
// another epoch nothing happens.
func TestFinishIsAtomic(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		s := f.openSale(10)
		f.reserveMany(s, 3)
		_, read := f.delivered("node-1", 0)
		var rows []*shop.Order
		var entries []*shop.Entry
		for i := range read {
			e := &read[i]
			rows = append(rows, &shop.Order{
				ID: e.Order, User: e.User, Sale: e.Sale, Partition: 1, State: shop.Pending, Rev: 1, PayBy: 1000,
			})
			entries = append(entries, e)
		}
		rows[2].State = shop.Refused
		messages := f.subscribe()
		f.inventory.SetEpoch(1, testEpoch-1)
		if err := f.queue().Finish(f.ctx, 1, f.now(), rows, entries); !errors.Is(err, shop.ErrStaleEpoch) {
			t.Fatalf("in another epoch: got %v, want ErrStaleEpoch", err)
		}
		f.inventory.SetEpoch(1, testEpoch)
		for round := range 2 {
			f.must(f.queue().Finish(f.ctx, 1, f.now(), rows, entries))
			m := f.nextMessage(messages)
			if m.Number != int64(round)+1 || len(m.changes) != 3 || m.changes[1].User != read[1].User {
				t.Fatalf("round %d: got the message %+v, want three changes", round, m)
			}
			if n := f.counters(s); n.Done != 3 {
				t.Errorf("round %d: done %d, want 3", round, n.Done)
			}
			due, err := f.client.ZRangeWithScores(f.ctx, f.inventory.parts[1].keys.deadlines, 0, -1).Result()
			f.must(err)
			if len(due) != 2 || due[0].Score != 1000 || due[1].Score != 1000 {
				t.Errorf("round %d: deadlines %v, want two with score 1000", round, due)
			}
			rows[0].PayBy = 9999 // an existing deadline does not move
		}
	})
}

// If Redis is out of memory, it rejects the whole step and nothing has happened.
func TestFinishWithoutMemoryDoesNothing(t *testing.T) {
	t.Parallel()
	server := kit.StartRedis(t, kit.RedisOptions{})
	f := newFixture(t, server.URL)
	s := f.openSale(10)
	f.reserveMany(s, 1)
	_, read := f.delivered("node-1", 0)
	row := []*shop.Order{
		{ID: read[0].Order, User: read[0].User, Partition: 1, State: shop.Pending, Rev: 1, PayBy: 1000},
	}
	f.must(f.client.ConfigSet(f.ctx, "maxmemory", "1").Err())
	if err := f.queue().Finish(f.ctx, 1, f.now(), row, []*shop.Entry{&read[0]}); !errors.Is(err, shop.ErrTransient) {
		t.Fatalf("with Redis out of memory: got %v, want ErrTransient", err)
	}
	f.must(f.client.ConfigSet(f.ctx, "maxmemory", "0").Err())
	if st := f.stats(); st.Pending != 1 || st.Deadlines != 0 || f.sequenceEnd().Last != 0 {
		t.Errorf("got %+v, want pending 1, deadlines 0 and last 0", st)
	}
}

// F3: Delivery returns the oldest entry that is not acknowledged, delivered or not. It fails until the history of Redis
// is confirmed.
func TestDeliveryReturnsTheOldestOpenEntry(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		s := f.openSale(10)
		readDelivery := func() shop.Delivery {
			t.Helper()
			d, err := f.queue().Delivery(f.ctx, 1)
			f.must(err)
			return d
		}
		if d := readDelivery(); d.OldestUnacknowledged != (shop.EntryID{}) || d.Epoch != testEpoch {
			t.Fatalf("without entries: got %+v, want no open entry", d)
		}
		f.reserveMany(s, 3)
		first := readDelivery()
		if first.OldestUnacknowledged == (shop.EntryID{}) || first.OldestUnacknowledged.After(first.Newest) {
			t.Fatalf("before a delivery: got %+v, want an open entry", first)
		}
		_, read := f.delivered("node-1", 0)
		for i, e := range read {
			open, _ := entryID(e.StreamID)
			newest, _ := entryID(read[2].StreamID)
			if d := readDelivery(); d.OldestUnacknowledged != open || d.Newest != newest {
				t.Fatalf("before entry %d is acknowledged: got %+v, want it as the oldest", i, d)
			}
			f.settle(e)
		}
		if d := readDelivery(); d.OldestUnacknowledged != (shop.EntryID{}) || d.Newest != first.Newest {
			t.Fatalf("all acknowledged: got %+v, want no open entry", d)
		}
		f.close(testEpoch+1, true)
		if _, err := f.queue().Delivery(f.ctx, 1); !errors.Is(err, shop.ErrTransient) {
			t.Fatalf("while the partition is closed: got %v, want ErrTransient", err)
		}
	})
}
