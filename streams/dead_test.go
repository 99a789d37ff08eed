package streams

import (
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"stampede/app/shop"
	"stampede/app/test/kit"
)

// A bad entry is tried five times. Then it has a refused row and is a dead letter with its reason. Other entries are
// not delayed.
func TestBadEntryBecomesADeadLetter(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		s := f.openSale(30)
		made := f.reserveMany(s, 10)
		bad := made[3].Order
		k := &f.inventory.parts[1].keys
		f.must(f.client.XAdd(f.ctx, &redis.XAddArgs{
			Stream: k.orders, Values: []string{"terms", "2:not a number:7:1:1:1:1:1:1:h:k:5:6:"},
		}).Err())
		var attempts atomic.Int64
		handler := newFakeHandler()
		handler.outcome = func(e shop.Entry) error {
			if e.Order != bad {
				return nil
			}
			attempts.Add(1)
			return fmt.Errorf("%w: the column is too short", shop.ErrPermanent)
		}
		f.run(f.consumer("node-1", handler))
		var letters []shop.DeadLetter
		kit.Eventually(t, testTimeout, func() (bool, string) {
			var err error
			letters, err = f.queue().DeadLetters(f.ctx)
			f.must(err)
			return len(letters) == 2, fmt.Sprintf("%d dead letters", len(letters))
		})
		if attempts.Load() != 5 || handler.count() != 9 || len(handler.refused) != 2 {
			t.Fatalf("got %d attempts, %d rows and the refused entries %v, want 5, 9 and two entries", attempts.Load(), handler.count(), handler.refused)
		}
		if c := f.counters(s); c.Done != 10 {
			t.Fatalf("done %d, want 10: the bad entry no longer delays other entries", c.Done)
		}
		for _, l := range letters {
			switch {
			case l.Order == bad:
				if !strings.Contains(l.Reason, "the column is too short") || l.Deliveries != 5 || l.Sale != s.ID ||
					l.Fields["key"] != "key-many-1" || l.Fields["addr"] != `{"name":"李雷"}` || l.At == 0 {
					t.Errorf("got the dead letter %+v, want all fields of the bad entry", l)
				}
			case !strings.Contains(l.Reason, "field order") || l.Order != 0 || l.Fields["order"] != "not a number":
				t.Errorf("got the dead letter %+v, want the reason and the unreadable field order", l)
			}
			if l.Fields["reason"] != "" {
				t.Errorf("the entry's fields contain fields of the dead letter: %v", l.Fields)
			}
			one, err := f.queue().DeadLetter(f.ctx, l.ID)
			f.must(err)
			if one.ID != l.ID || one.Reason != l.Reason {
				t.Errorf("got %+v, want %+v", one, l)
			}
			for _, want := range []bool{true, false} {
				gone, err := f.queue().RemoveDeadLetter(f.ctx, l.ID)
				f.must(err)
				if gone != want {
					t.Errorf("got removed %v, want %v", gone, want)
				}
			}
			if _, err := f.queue().DeadLetter(f.ctx, l.ID); !errors.Is(err, shop.ErrNoRow) {
				t.Errorf("read of a removed dead letter: got %v, want ErrNoRow", err)
			}
		}
		for _, id := range []string{
			"", "1", "1-", "1-5", "9-1-1", "-1-1-1", "x-1-1", "1-a-b", "1-1-1", "1-99999999999999999999-0", "1--",
		} {
			if _, err := f.queue().DeadLetter(f.ctx, id); !errors.Is(err, shop.ErrNoRow) {
				t.Errorf("read of %q: got %v, want ErrNoRow", id, err)
			}
			if gone, err := f.queue().RemoveDeadLetter(f.ctx, id); gone || err != nil {
				t.Errorf("remove %q: got %v, %v, want false", id, gone, err)
			}
		}
		n, err := f.client.Exists(f.ctx, k.attempts).Result()
		f.must(err)
		waiting, err := f.client.HGet(f.ctx, k.meta, "waiting").Int()
		f.must(err)
		if n != 0 || f.stats().Pending != 0 || waiting > 0 {
			t.Fatalf("got %d attempt keys, %+v and %d waiting, want none, no pending entry and none", n, f.stats(), waiting)
		}
		_, err = (&Trimmer{
			conn: f.inventory.connection, allowed: always, retention: -time.Minute,
			maxLength: 100,
		}).runOnce(f.ctx)
		f.must(err)
		if length := f.stats().Length; length != 1 {
			t.Errorf("got %d entries after trimming, want only the last one", length)
		}
	})
}

// If the refused row cannot be written now, no dead letter is written either (P2).
func TestDeadLetterNeedsARefusedRow(t *testing.T) {
	t.Parallel()
	f := onRedis(t)
	s := f.openSale(3)
	f.reserveMany(s, 1)
	handler := newFakeHandler()
	handler.outcome = func(shop.Entry) error { return shop.ErrPermanent }
	tried := make(chan struct{}, 100)
	handler.refuse = func(shop.Entry) error {
		tried <- struct{}{}
		return shop.ErrTransient
	}
	stop := f.run(f.consumer("node-1", handler))
	<-tried
	stop()
	if st := f.stats(); st.Dead != 0 || st.Pending != 1 {
		t.Fatalf("%+v, want 0 dead letters and 1 pending entry", st)
	}
}
