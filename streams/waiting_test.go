package streams

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/redis/go-redis/v9"

	"stampede/app/shop"
	"stampede/app/test/kit"
)

// heldReads blocks each read of waiting reservations after Redis has replied, until the test releases it.
type heldReads struct {
	commandLog
	started chan struct{}
	resume  chan struct{}
}

func holdReads(client *redis.Client) *heldReads {
	h := &heldReads{started: make(chan struct{}, 100), resume: make(chan struct{})}
	client.AddHook(h)
	return h
}

func (h *heldReads) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		h.add(cmds...)
		err := next(ctx, cmds)
		if cmds[0].Name() == "hkeys" {
			h.started <- struct{}{}
			<-h.resume
		}
		return err
	}
}

// P6, I11: requests during a read are served by the next one: the running read may lack reservations that were made
// since. One read serves all requests that arrive meanwhile.
func TestOneReadServesConcurrentRequests(t *testing.T) {
	t.Parallel()
	f := onRedis(t)
	s, g := f.openSale(100), f.gate(f.inventory)
	f.must(f.client.ScriptLoad(f.ctx, unsettledScript.text).Err())
	other := dial(t, f.url)
	l := f.node(other)
	reads := holdReads(other)
	var callers sync.WaitGroup
	request := func(user shop.ID, want int) {
		callers.Go(func() {
			found, err := l.Queue().Waiting(f.ctx, user)
			if err != nil || len(found) != want {
				t.Errorf("user %s: %d reservations, want %d, %v", user, len(found), want, err)
			}
		})
	}
	request(1, 0)
	<-reads.started // it has read that nothing waits
	const crowd = 30
	for user := shop.ID(11); user < 11+crowd; user++ {
		f.wantVerdict(g, buyOf(s, user, 1, "key-one-1"), shop.VerdictReserved)
		request(user, 1)
		request(user+1000, 0)
	}
	kit.Eventually(t, testTimeout, func() (bool, string) {
		l.reads.mu.Lock()
		defer l.reads.mu.Unlock()
		return len(l.reads.requests) == 2*crowd, "some requests have not started"
	})
	reads.take()
	close(reads.resume)
	callers.Wait()
	commands := reads.take()
	if want := "hkeys hkeys hmget evalsha" + strings.Repeat(" xrange", crowd); commands != want {
		t.Fatalf("the reads of %d users sent %s, want %s", 2*crowd, commands, want)
	}
}

// P2: a reservation is listed from the call that made it until its entry is settled. Neither the entry's consumer nor
// other settled entries of the buyer change that. Destroying the group by hand hides no reservation.
func TestReservationWaitsUntilItIsSettled(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		s := f.openSale(100, func(s *shop.Sale) { s.Limit, s.Cap = 9, 9 })
		g, stream := f.gate(f.inventory), f.inventory.parts[1].keys.orders
		const user = shop.ID(77)
		var orders []shop.ID
		for i := range 5 {
			b := buyOf(s, user, 1, fmt.Sprintf("key-%04d", i))
			f.wantVerdict(g, b, shop.VerdictReserved)
			f.wantVerdict(g, buyOf(s, user+1, 1, b.Key), shop.VerdictReserved)
			orders = append(orders, b.Order)
		}
		want := func(when string, want ...shop.ID) {
			t.Helper()
			found, err := f.queue().Waiting(f.ctx, user)
			f.must(err)
			var got []shop.ID
			for _, r := range found {
				got = append(got, r.Order)
			}
			if !slices.Equal(got, want) {
				t.Fatalf("%s: got waiting orders %v, want %v", when, got, want)
			}
		}
		want("before any delivery", orders...)

		one, two := f.consumer("node-1", newFakeHandler()), f.consumer("node-2", newFakeHandler())
		one.pendingCursor, one.options.Batch = "", 8 // four entries of the user, with four of others between them
		entries, err := one.read(f.ctx)
		f.must(err)
		want("with four pending entries", orders...)
		f.settle(entries[2:4]...)
		want("after the second entry is settled", orders[0], orders[2], orders[3], orders[4])
		two.options.ClaimIdle, two.options.Batch = 0, 2
		if claimed, err := two.claim(f.ctx); err != nil || len(claimed) != 2 || claimed[0].Order != orders[0] {
			t.Fatalf("claim: got %+v, %v, want two entries from the first order on", claimed, err)
		}
		want("after another consumer claimed the first entry", orders[0], orders[2], orders[3], orders[4])
		f.must(one.moveToDeadLetters(f.ctx, testEpoch, entries[4], shop.ErrPermanent, 3))
		want("with the third entry as a dead letter", orders[0], orders[3], orders[4])
		f.wantVerdict(g, buyOf(s, user, 1, "key-0000"), shop.VerdictRepeated)
		b := buyOf(s, user, 1, "key-more1")
		f.wantVerdict(g, b, shop.VerdictReserved)
		orders = append(orders, b.Order)
		want("with one more order", orders[0], orders[3], orders[4], orders[5])

		// Without the group all entries are redelivered, including settled ones: they may be listed. No other entry may
		// be missing.
		f.must(f.client.XGroupDestroy(f.ctx, stream, group).Err())
		want("without the group", orders...)

		// An entry that was deleted by hand is not listed and causes no error.
		f.must(f.client.XDel(f.ctx, stream, entries[0].StreamID).Err())
		want("without the first entry", orders[1:]...)
		f.must(f.client.Del(f.ctx, stream).Err())
		want("without the stream")
		f.must(f.client.Set(f.ctx, stream, "of another type", 0).Err())
		if _, err := f.queue().Waiting(f.ctx, user); !errors.Is(err, shop.ErrLost) {
			t.Fatalf("a key of another type: got %v, want ErrLost", err)
		}
	})
}

// Settled entries do not make a record grow. A new buy adds its entry; earlier entries stay only while one of them
// waits.
func TestRecordsDropSettledEntries(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		s := f.openSale(100, func(s *shop.Sale) { s.Limit, s.Cap = 9, 9 })
		g, c := f.gate(f.inventory), f.consumer("node-1", newFakeHandler())
		c.pendingCursor = ""
		const user = shop.ID(77)
		want := func(when string, entries int) {
			t.Helper()
			record, err := f.client.HGet(f.ctx, f.inventory.parts[1].keys.buyers(s.ID), user.String()).Result()
			f.must(err)
			if ids := strings.Fields(record[strings.LastIndexByte(record, '|')+1:]); len(ids) != entries {
				t.Fatalf("%s: got the entries %v in the record, want %d", when, ids, entries)
			}
		}
		buy := func(user shop.ID, key string) {
			t.Helper()
			f.wantVerdict(g, buyOf(s, user, 1, key), shop.VerdictReserved)
			for at := f.now(); f.now() == at; { // the next entry has a later time
			}
		}
		buy(user, "key-0001")
		buy(user, "key-0002")
		want("before any delivery", 2)
		buy(user+1, "key-0001")
		entries, err := c.read(f.ctx)
		f.must(err)
		f.settle(entries[1:]...)
		buy(user, "key-0003")
		want("with the first entry pending", 3)
		f.settle(entries[:1]...)
		buy(user, "key-0004")
		want("with the third entry not delivered", 4)
		entries, err = c.read(f.ctx)
		f.must(err)
		f.settle(entries...)
		buy(user+1, "key-0002")
		entries, err = c.read(f.ctx)
		f.must(err)
		f.settle(entries...)
		buy(user, "key-0005")
		want("with all earlier entries settled", 1)
	})
}

// P2: moving the group back by hand hides no waiting reservation.
func TestMovedGroupHidesNoReservation(t *testing.T) {
	t.Parallel()
	f := onRedis(t) // the embedded Redis cannot move a group
	s := f.openSale(100)
	f.reserveMany(s, 4)
	_, entries := f.delivered("node-1", 3)
	f.settle(entries[1:2]...)
	for place, missing := range map[string]shop.ID{
		entries[2].StreamID: entries[1].User, // unchanged: settled entries do not wait
		entries[1].StreamID: entries[1].User, // later delivered entries still wait
		entries[0].StreamID: 0,               // later settled entries are redelivered
		"0":                 0,
	} {
		f.must(f.client.XGroupSetID(f.ctx, f.inventory.parts[1].keys.orders, group, place).Err())
		for i := range 4 {
			user := shop.ID(5000 + i)
			found, err := f.queue().Waiting(f.ctx, user)
			f.must(err)
			if (len(found) == 1) != (user != missing) {
				t.Errorf("group at %s: user %s: got the waiting reservations %+v", place, user, found)
			}
		}
	}
}

// An unreadable entry is an error for its user only.
func TestUnreadableEntryFailsOnlyItsUser(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		s := f.openSale(10)
		f.reserveMany(s, 2)
		keys := f.inventory.parts[1].keys
		id,
			err := f.client.XAdd(f.ctx, &redis.XAddArgs{Stream: keys.orders, Values: []any{"terms", "9:unheard of"}}).Result()
		f.must(err)
		f.must(f.client.HSet(f.ctx, keys.buyers(s.ID), "77", "1|1|1:1:1:key;|"+id).Err())
		requests := []*waitingRequest{{user: 5000}, {user: 77}, {user: 5001}, {user: 5000}}
		f.queue().readRequests(requests)
		for i, want := range []int{1, 0, 1, 1} {
			if len(requests[i].found) != want || (requests[i].err != nil) != (want == 0) {
				t.Errorf("request %d: got %+v, %v, want %d reservations", i, requests[i].found, requests[i].err, want)
			}
		}
	})
}
