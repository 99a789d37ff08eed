package realtime

import (
	"testing"
	"time"

	"stampede/app/shop"
)

// ends returns the latest numbers of two partitions at their first epochs.
func ends(one, two int64) []shop.SequenceEnd {
	return []shop.SequenceEnd{{Last: one, Epoch: 1}, {Last: two, Epoch: 1}}
}

// completeSequences returns the sequences of two partitions that continue after messages 100 and 200. Late messages are
// no longer accepted.
func completeSequences() *sequences {
	c := newSequences(2, 5*time.Second)
	c.subscribed()
	c.beforeRead()
	c.gapReason = ""
	c.restart(-time.Minute, ends(100, 200))
	return &c
}

// probe records the given latest numbers; no message arrives in between.
func (s *sequences) probe(events []shop.SequenceEnd) {
	s.beforeRead()
	s.recordProbe(0, Cursor{At: 1795222790123, History: "5f3a9c1e"}, 0, events)
}

// firstUnreachable has the latest numbers while the Redis of the first partition is unreachable.
var firstUnreachable = []shop.SequenceEnd{{Unreachable: true}, {Last: 200, Epoch: 1}}

// restartUnreachable subscribes again and reads rows while the Redis of the first partition is unreachable.
func (s *sequences) restartUnreachable() {
	s.subscribed()
	s.beforeRead()
	s.gapReason = ""
	s.restart(0, firstUnreachable)
}

// F5: cases with and without a gap.
func TestSequencesDetectGaps(t *testing.T) {
	t.Parallel()
	const second, gap = time.Second, "a message is missing"
	for name, c := range map[string]struct {
		steps     func(c *sequences)
		gapReason string        // expected reason to read rows; "": none
		proven    bool          // whether a probe is proven
		at        time.Duration // time of the call of proven
	}{
		"no message": {func(*sequences) {}, "", false, 4 * second},
		"the next message": {func(c *sequences) {
			c.received(0, 0, 100, 101)
			c.received(0, 0, 101, 102)
		}, "", false, 4 * second},
		"a message is skipped":  {func(c *sequences) { c.received(0, 0, 101, 102) }, gap, false, 4 * second},
		"a message is repeated": {func(c *sequences) { c.received(0, 0, 99, 100) }, gap, false, 4 * second},
		"an older message":      {func(c *sequences) { c.received(0, 0, 41, 42) }, gap, false, 4 * second},
		"all messages received": {func(c *sequences) { c.probe(ends(100, 200)) }, "", true, 4 * second},
		"another epoch": {func(c *sequences) {
			c.probe([]shop.SequenceEnd{{Last: 100, Epoch: 2}, {Last: 200, Epoch: 1}})
		}, "another epoch of Redis", false, 4 * second},
		"absent numbers": {func(c *sequences) {
			c.probe([]shop.SequenceEnd{{}, {Last: 200, Epoch: 1}})
		}, "another epoch of Redis", false, 4 * second},
		"numbers went back": {func(c *sequences) {
			c.probe(ends(99, 200))
		}, "message numbers went back", false, 4 * second},
		"the latest number is not reached":       {func(c *sequences) { c.probe(ends(101, 200)) }, lateMessage, false, 6 * second},
		"the latest number may still be reached": {func(c *sequences) { c.probe(ends(101, 200)) }, "", false, 4 * second},
		"the latest number is reached in time": {func(c *sequences) {
			c.probe(ends(101, 200))
			c.received(second, 0, 100, 101)
		}, "", true, 4 * second},
		"one partition silent, one continues": {func(c *sequences) {
			c.probe(ends(101, 200))
			c.received(second, 1, 200, 201)
		}, "", false, 4 * second},
		"received while numbers are read": {func(c *sequences) {
			c.beforeRead()
			c.received(0, 0, 100, 101)
			c.recordProbe(0, Cursor{}, 0, ends(100, 200))
		}, "", true, 4 * second},
		"the latest number is reached too late": {func(c *sequences) {
			c.probe(ends(101, 200))
			c.received(6*second, 0, 100, 101)
		}, lateMessage, false, 6 * second},
		"the latest number goes back before it is reached": {func(c *sequences) {
			c.probe(ends(102, 200))
			c.probe(ends(100, 200))
		}, "message numbers went back", false, 4 * second},
		"a partition is unreachable": {func(c *sequences) { c.probe(firstUnreachable) }, "", false, 4 * second},
		"an unreachable partition is back": {func(c *sequences) {
			c.probe(firstUnreachable)
			c.received(second, 0, 100, 101)
			c.probe(ends(101, 200))
		}, "", true, 4 * second},
		"another partition loses a message meanwhile": {func(c *sequences) {
			c.probe(firstUnreachable)
			c.received(second, 1, 201, 202)
		}, gap, false, 4 * second},
		"rows are read while a partition is unreachable": {func(c *sequences) {
			c.restartUnreachable()
			c.probe(firstUnreachable)
			c.received(0, 1, 200, 201)
		}, "", false, 4 * second},
		"a partition with an unknown first number is back": {func(c *sequences) {
			c.restartUnreachable()
			c.probe(ends(100, 200))
		}, "a partition is reachable again", false, 4 * second},
		"new subscription": {(*sequences).subscribed, "new subscription", false, 4 * second},
	} {
		sequences := completeSequences()
		c.steps(sequences)
		_, proven := sequences.proven(c.at)
		if sequences.gapReason != c.gapReason || proven != c.proven {
			t.Errorf("%s: got reason %q, proven %v; want %q, %v", name, sequences.gapReason, proven, c.gapReason, c.proven)
		}
	}
}

// After restart, messages up to the latest number may be late. Messages beyond it must not be missing.
func TestRestartContinuesFromLatestNumbers(t *testing.T) {
	t.Parallel()
	const late, second = 5 * time.Second, time.Second
	for name, c := range map[string]struct {
		before  func(c *sequences) // runs between beforeRead and restart
		end     int64
		after   func(c *sequences)
		missing bool
		same    bool // whether the case also applies to an existing subscription
	}{
		"no message, then the next": {func(*sequences) {}, 110, func(c *sequences) { c.received(0, 0, 110, 111) }, false, true},
		"late messages, then the next": {func(*sequences) {}, 110, func(c *sequences) {
			c.received(0, 0, 107, 108)
			c.received(0, 0, 108, 109)
			c.received(0, 0, 110, 111)
		}, false, true},
		"a message after the limit for late messages": {func(*sequences) {}, 110, func(c *sequences) { c.received(late+second, 0, 107, 108) }, true, false},
		"a late message after a newer message": {func(*sequences) {}, 110, func(c *sequences) {
			c.received(0, 0, 110, 111)
			c.received(0, 0, 107, 108)
		}, true, false},
		"the next message is skipped": {func(*sequences) {}, 110, func(c *sequences) { c.received(0, 0, 111, 112) }, true, false},
		"received before the read, then continued": {func(c *sequences) {
			c.received(0, 0, 109, 110)
			c.received(0, 0, 110, 111)
		}, 110, func(c *sequences) { c.received(0, 0, 111, 112) }, false, false},
		"received from the latest number, then continued": {func(c *sequences) { c.received(0, 0, 110, 111) }, 110, func(c *sequences) {
			c.received(0, 0,
				111, 112)
		}, false, false},
		"the message after the latest number is lost": {func(c *sequences) { c.received(0, 0, 111, 112) }, 110, func(*sequences) {}, true, false},
		"a gap between received messages": {func(c *sequences) {
			c.received(0, 0, 109, 110)
			c.received(0, 0, 111, 112)
		}, 110, func(*sequences) {}, true, false},
		"all received messages are older": {func(c *sequences) { c.received(0, 0, 105, 106) }, 110, func(c *sequences) {
			c.received(0,
				0, 110, 111)
		}, false, false},
		"numbers went back":            {func(*sequences) {}, 90, func(c *sequences) { c.received(0, 0, 90, 91) }, false, true},
		"no message was published yet": {func(*sequences) {}, 0, func(c *sequences) { c.received(0, 0, 0, 1) }, false, false},
	} {
		for _, resubscribed := range []bool{true, false} {
			if !resubscribed && !c.same {
				continue
			}
			sequences := completeSequences()
			if resubscribed {
				sequences.subscribed()
			}
			sequences.beforeRead()
			sequences.gapReason = ""
			c.before(sequences)
			sequences.restart(0, ends(c.end, 200))
			c.after(sequences)
			if got := sequences.gapReason != ""; got != c.missing {
				t.Errorf("%s: got reason %q, want a reason: %t", name, sequences.gapReason, c.missing)
			}
		}
	}
	// On an existing subscription, the latest number must not be less than a number received before beforeRead.
	sequences := completeSequences()
	sequences.beforeRead()
	sequences.received(0, 0, 100, 101)
	sequences.restart(0, ends(99, 200))
	if sequences.gapReason == "" {
		t.Error("numbers went back while messages arrived, but no read of rows was triggered")
	}
}
