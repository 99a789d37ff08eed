package realtime

import (
	"bytes"
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"stampede/app"
)

// P6 as a model: whatever hints are lost, late, repeated or out of order, and however reads of the log fall between
// them, a connection takes every event exactly once and in order.
func TestEveryEventIsTakenOnceInOrder(t *testing.T) {
	t.Parallel()
	hub := NewHub(Options{Shop: &fakeShop{}})
	rapid.Check(t, func(t *rapid.T) {
		const user = app.ID(7)
		// A writer is said to be at work, so that the queue keeps what was taken.
		c := &client{hub: hub, writing: true, greeted: true, identity: Identity{User: user}}
		start := rapid.Int64Range(0, 3).Draw(t, "start")
		c.personal.at = Cursor{1000, start}
		var told []hint // the log from the start on
		last := start
		tell := func() {
			last++
			told = append(told, hint{user, kept{Cursor{1000, last}, keptEvent{whole: fmt.Sprintf(`{"ev":"order","n":%d}`, last)}}})
		}
		answer := func(q question) span {
			s := span{end: q.after}
			for _, h := range told {
				if h.cursor.N > q.after.N {
					s.events = append(s.events, h.kept)
					s.end = h.cursor
				}
			}
			return s
		}
		var under []span // reads that were answered by Redis and have not come back yet
		t.Repeat(map[string]func(*rapid.T){
			"tell": func(t *rapid.T) {
				if len(told) >= 60 {
					t.Skip("enough")
				}
				tell()
			},
			"tell and hint": func(t *rapid.T) {
				if len(told) >= 60 {
					t.Skip("enough")
				}
				tell()
				c.hear(&told[len(told)-1])
			},
			"hint": func(t *rapid.T) {
				if len(told) == 0 {
					t.Skip("nothing told")
				}
				one := rapid.SampledFrom(told).Draw(t, "which")
				c.hear(&one)
			},
			"ask": func(t *rapid.T) {
				if q, ok := c.question(); ok && len(under) < 3 {
					under = append(under, answer(q))
				}
			},
			"answer": func(t *rapid.T) {
				if len(under) == 0 {
					t.Skip("nothing asked")
				}
				at := rapid.IntRange(0, len(under)-1).Draw(t, "which")
				c.read(under[at])
				under = append(under[:at], under[at+1:]...)
			},
		})
		q, _ := c.question()
		c.read(answer(q))
		if len(c.out.queue) != len(told) {
			t.Fatalf("took %d of %d events", len(c.out.queue), len(told))
		}
		for i, frame := range c.out.queue {
			if want := told[i].event.frame(told[i].cursor); !bytes.Equal(frame, want) {
				t.Fatalf("took %s as number %d, want %s", frame, i, want)
			}
		}
	})
}
