package realtime

import (
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/google/go-cmp/cmp"

	"stampede/app"
	"stampede/app/apptest"
	"stampede/app/snowflake"
)

// onBoth runs a test on Redis and on the embedded one: the same promises on both.
func onBoth(t *testing.T, test func(t *testing.T, l *Log)) {
	t.Helper()
	t.Run("redis", func(t *testing.T) {
		t.Parallel()
		test(t, testLog(t, apptest.Redis(t)))
	})
	t.Run("embedded", func(t *testing.T) {
		t.Parallel()
		test(t, testLog(t, "redis://"+miniredis.RunT(t).Addr()))
	})
}

func event(user, order app.ID, rev int) app.OrderEvent {
	return app.OrderEvent{Order: &app.Order{ID: order, Sale: 11, State: app.Pending, Rev: rev, User: user, Key: "key-of-it"}}
}

func (l *Log) mustTell(t *testing.T, events ...app.OrderEvent) {
	t.Helper()
	if err := l.Tell(t.Context(), events); err != nil {
		t.Fatal(err)
	}
}

func (l *Log) mustRead(t *testing.T, user app.ID, after Cursor) span {
	t.Helper()
	spans, err := l.Since(t.Context(), question{user, after})
	if err != nil {
		t.Fatal(err)
	}
	return spans[0]
}

// numbers are the numbers of the events in a span.
func (s span) numbers() []int64 {
	var ns []int64
	for _, e := range s.events {
		ns = append(ns, e.cursor.N)
	}
	return ns
}

// P6: what was told after the cursor is answered, in order and each once.
func TestLogAnswersWhatFollowsACursor(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, l *Log) {
		fresh := l.mustRead(t, 7, Cursor{}).end
		if fresh.N != 0 || fresh.Epoch == 0 {
			t.Fatalf("without a log the cursor is %v", fresh)
		}
		l.mustTell(t, event(7, 100, 1), event(8, 200, 1), event(23, 300, 1), event(7, 101, 1)) // 7 and 23 share a shard
		s := l.mustRead(t, 7, fresh)
		if diff := cmp.Diff([]int64{1, 2}, s.numbers()); diff != "" || s.reset {
			t.Errorf("since the start (-want +got):\n%s reset: %v", diff, s.reset)
		}
		l.mustTell(t, event(7, 100, 2))
		s = l.mustRead(t, 7, s.end)
		if diff := cmp.Diff([]int64{3}, s.numbers()); diff != "" || s.reset {
			t.Errorf("since the second (-want +got):\n%s reset: %v", diff, s.reset)
		}
		want := `{"ev":"order","cursor":"` + s.end.String() + `","key":"key-of-it","order":{"id":"100"`
		if got := string(s.events[0].event.frame(s.end)); len(got) < len(want) || got[:len(want)] != want {
			t.Errorf("event is %s, want it to begin with %s", got, want)
		}
		if s = l.mustRead(t, 7, s.end); len(s.events) != 0 || s.reset {
			t.Errorf("at the end: %+v", s)
		}
		if got := l.mustRead(t, 7, Cursor{}).end; got != s.end {
			t.Errorf("a fresh client starts at %v, the log ends at %v", got, s.end)
		}
	})
}

// Notifier: "telling the same (order, rev) again changes nothing", nor does an older rev that comes late.
func TestTellingAgainChangesNothing(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, l *Log) {
		fresh := l.mustRead(t, 7, Cursor{}).end
		batch := []app.OrderEvent{event(7, 100, 2), event(7, 101, 1), event(7, 100, 2)}
		l.mustTell(t, batch...)
		l.mustTell(t, batch...)
		l.mustTell(t, event(7, 100, 1))
		l.mustTell(t, event(7, 100, 3))
		if diff := cmp.Diff([]int64{1, 2, 3}, l.mustRead(t, 7, fresh).numbers()); diff != "" {
			t.Errorf("events (-want +got):\n%s", diff)
		}
	})
}

// "The log keeps the last 100 events; beyond that reset."
func TestTrimmedLogResets(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, l *Log) {
		l.mustTell(t, event(7, 1, 1))
		first := l.mustRead(t, 7, Cursor{}).end
		var many []app.OrderEvent
		for i := range logLength {
			many = append(many, event(7, app.ID(i+2), 1))
		}
		l.mustTell(t, many...)
		if s := l.mustRead(t, 7, first); s.reset || len(s.events) != logLength {
			t.Fatalf("the last %d events: got %d, reset %v", logLength, len(s.events), s.reset)
		}
		l.mustTell(t, event(7, 500, 1))
		s := l.mustRead(t, 7, first)
		if !s.reset || len(s.events) != 0 || s.end.N != logLength+2 {
			t.Fatalf("beyond the log: %+v, want a reset to its end", s)
		}
		if s = l.mustRead(t, 7, s.end); s.reset || len(s.events) != 0 {
			t.Errorf("after the reset: %+v", s)
		}
	})
}

// "After a loss reset": a log that is gone, that began anew, or that went back.
func TestLostLogResets(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, l *Log) {
		l.mustTell(t, event(7, 1, 1), event(7, 2, 1))
		end := l.mustRead(t, 7, Cursor{}).end
		if s := l.mustRead(t, 7, Cursor{Epoch: end.Epoch, N: end.N + 5}); !s.reset {
			t.Error("a cursor beyond the end must reset")
		}
		if s := l.mustRead(t, 7, Cursor{Epoch: end.Epoch + 5000}); !s.reset {
			t.Error("a cursor from before a log that is older than it must reset")
		}
		if err := l.redis.Del(t.Context(), logKey(7)).Err(); err != nil {
			t.Fatal(err)
		}
		if s := l.mustRead(t, 7, end); !s.reset || s.end.N != 0 {
			t.Errorf("the log is gone: %+v", s)
		}
		l.mustTell(t, event(7, 3, 1))
		if s := l.mustRead(t, 7, end); !s.reset || s.end.N != 1 {
			t.Errorf("the log began anew: %+v", s)
		}
	})
}

// P6: who has heard nothing yet is told of a loss as well: the events that were lost could have been theirs.
func TestLossBeforeTheFirstEventResets(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, l *Log) {
		before := l.mustRead(t, 7, Cursor{}).end
		l.mustTell(t, event(7, 1, 1))
		if s := l.mustRead(t, 7, before); s.reset || len(s.events) != 1 {
			t.Fatalf("without a loss: %+v", s)
		}
		if err := l.redis.Del(t.Context(), logKey(7), sinceKey(shardOf(7))).Err(); err != nil {
			t.Fatal(err)
		}
		later := func() bool { return app.MillisOf(l.redis.Time(t.Context()).Val()) > before.Epoch }
		apptest.Eventually(t, patience, func() (bool, string) { return later(), "the clock stands still" })
		l.mustTell(t, event(7, 2, 1))
		if s := l.mustRead(t, 7, before); !s.reset || s.end.N != 1 {
			t.Errorf("after everything was lost: %+v", s)
		}
		if s := l.mustRead(t, 7, l.mustRead(t, 7, Cursor{}).end); s.reset {
			t.Errorf("a cursor given out after the loss: %+v", s)
		}
	})
}

func TestLogsEndADayAfterTheLastEvent(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, l *Log) {
		wantKept := func(when string, least, most time.Duration) {
			t.Helper()
			if ttl := l.redis.PTTL(t.Context(), logKey(7)).Val(); ttl < least-time.Minute || ttl > most {
				t.Errorf("%s the log is kept for %v", when, ttl)
			}
		}
		// The hour may end between reading the clock here and in Tell; then the end is moved once more than it had to.
		hour := time.Now().Truncate(time.Hour)
		orderOf := func(at time.Time, n app.ID) app.ID { return snowflake.First(app.MillisOf(at)) + n }
		l.mustTell(t, event(7, orderOf(hour.Add(-time.Millisecond), 1), 1))
		wantKept("after the first event", logKept, logKept+2*time.Hour)

		l.redis.PExpire(t.Context(), logKey(7), time.Hour)
		l.mustTell(t, event(7, orderOf(hour, 2), 1))
		wantKept("after the first event of an hour", logKept, logKept+2*time.Hour)

		l.redis.PExpire(t.Context(), logKey(7), logKept+time.Hour)
		l.mustTell(t, event(7, orderOf(hour, 3), 1))
		if time.Now().Truncate(time.Hour).Equal(hour) {
			wantKept("after a further event of that hour", logKept, logKept+time.Hour)
		}

		l.redis.PExpire(t.Context(), logKey(7), time.Hour)
		l.mustTell(t, event(7, orderOf(hour.Add(time.Hour), 4), 1)) // of a node whose clock is ahead
		l.mustTell(t, event(7, orderOf(hour.Add(2*time.Hour), 5), 1), event(7, 6, 1))
		wantKept("after an order from the future", logKept, logKept+2*time.Hour)
	})
}

// Whoever tells for the first time pays for a short search; whoever tells again adds nothing.
func TestOnlyWhatMayBeARepeatIsSearchedFor(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, l *Log) {
		begin := l.mustRead(t, 7, Cursor{}).end
		first := event(7, 1, 1)
		first.First = true
		l.mustTell(t, first)
		l.mustTell(t, first)                          // two consumers at the same entry
		l.mustTell(t, event(7, 1, 1), event(7, 2, 1)) // the same batch, redelivered with another
		l.mustTell(t, first)                          // nobody does that; it shows how little was searched
		if s := l.mustRead(t, 7, begin); len(s.events) != 3 || s.end.N != 3 {
			t.Errorf("the log holds %v, want 1, 2 and 3", s.numbers())
		}
	})
}

// Before anything is written everything is read: a key of another type stops the call without a trace.
func TestFailedTellWritesNothing(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, l *Log) {
		if err := l.redis.Set(t.Context(), logKey(23), "in the way", 0).Err(); err != nil {
			t.Fatal(err)
		}
		if err := l.Tell(t.Context(), []app.OrderEvent{event(7, 1, 1), event(23, 2, 1)}); err == nil {
			t.Fatal("no error")
		}
		if n := l.redis.Exists(t.Context(), logKey(7)).Val(); n != 0 {
			t.Error("half of the call was written")
		}
	})
}

func TestCursorFollows(t *testing.T) {
	t.Parallel()
	day := app.Millis(logKept.Milliseconds())
	for _, c := range []struct {
		at, next Cursor
		want     bool
	}{
		{Cursor{5, 3}, Cursor{5, 4}, true},
		{Cursor{5, 3}, Cursor{5, 5}, false},
		{Cursor{5, 3}, Cursor{5, 3}, false},
		{Cursor{5, 3}, Cursor{6, 4}, false},
		{Cursor{5, 0}, Cursor{5, 1}, true},
		{Cursor{5, 0}, Cursor{9, 1}, true},
		{Cursor{5, 0}, Cursor{9, 2}, false},
		{Cursor{5, 0}, Cursor{4, 1}, false},
		{Cursor{5, 0}, Cursor{5 + day - 1, 1}, true},
		{Cursor{5, 0}, Cursor{5 + day, 1}, false}, // another log may have come and gone
	} {
		if got := c.at.followedBy(c.next); got != c.want {
			t.Errorf("%v followed by %v: %v", c.at, c.next, got)
		}
	}
}

func FuzzCursor(f *testing.F) {
	for _, s := range []string{"", "1-0", "1795222790123-42", "0-1", "-1-1", "1-01", "1", "9223372036854775808-1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		c, err := ParseCursor(s)
		if err == nil && (c.String() != s || c.Epoch <= 0 || c.N < 0) {
			t.Fatalf("ParseCursor(%q) = %+v", s, c)
		}
	})
}

func TestHintsSurviveWhatTheyCannotRead(t *testing.T) {
	t.Parallel()
	hints := parseHints("7 5-1 4 1 {\"ev\":\"order\",\"key\":\"a b\"}\nrubbish\n8 5-x 4 1 {}\n8 5-1 4 1 2:3:4\n\n9 6-2 4 1 {}")
	if len(hints) != 2 || hints[0].user != 7 || hints[0].event.whole != `{"ev":"order","key":"a b"}` || hints[1].cursor != (Cursor{6, 2}) {
		t.Errorf("read %+v", hints)
	}
}

// BenchmarkTell appends one event each to the logs of 500 users, as after a batch of orders: once to users who had
// none, as in a sale that has just opened, and once to logs that are full.
func BenchmarkTell(b *testing.B) {
	for _, c := range []struct {
		name  string
		fresh app.ID // how far the users move on from batch to batch
	}{{"fresh", 500}, {"full", 0}} {
		b.Run(c.name, func(b *testing.B) {
			l := testLog(b, apptest.Redis(b))
			batch := make([]app.OrderEvent, 500)
			order, first := app.ID(0), app.ID(1)
			next := func() {
				for i := range batch {
					order++
					batch[i] = event(first+app.ID(i), order, 1)
				}
				first += c.fresh
				if err := l.Tell(b.Context(), batch); err != nil {
					b.Fatal(err)
				}
			}
			for range logLength {
				next()
			}
			for b.Loop() {
				next()
			}
			b.ReportMetric(float64(b.N*len(batch))/b.Elapsed().Seconds(), "events/s")
		})
	}
}
