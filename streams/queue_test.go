package streams

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"stampede/app/outbox"
	"stampede/app/shop"
	"stampede/app/test/kit"
)

// Messages that always fail delay neither repeated messages behind them nor new ones.
func TestFailingMessagesDelayNoOthers(t *testing.T) {
	onQueues(t, func(t *testing.T, c *testQueue) {
		r := newReceiver(c, func(_ context.Context, t try) error {
			if t.marked || t.number == 1 {
				return errUnreachable
			}
			return nil
		})
		r.f.run(r.node("one", shortIdle))
		r.sendNew(160, true)
		r.awaitAll(r.sendNew(35, false))
		r.awaitAll(r.sendNew(3, false))
		r.awaitCounts(160, 0)
	})
}

// A rejected message is quarantined with the reason and delays no other. If an operator replays the message, the
// receiver gets the same message. An operator may also drop it.
func TestRejectedMessagesAreQuarantined(t *testing.T) {
	onQueues(t, func(t *testing.T, c *testQueue) {
		var repaired atomic.Bool
		r := newReceiver(c, func(_ context.Context, t try) error {
			if t.marked && !repaired.Load() {
				return fmt.Errorf("%w: 422 no such product", outbox.ErrRejected)
			}
			return nil
		})
		d := r.node("one", time.Hour)
		r.f.run(d)
		rejected := r.sendNew(160, true)
		r.awaitAll(r.sendNew(35, false))
		found := r.awaitCounts(0, 160)
		for _, m := range found {
			if m.attempts != 1 || m.at == 0 || !slices.Contains(rejected, m.name) ||
				m.reason != "rejected: 422 no such product" {
				t.Fatalf("got the message %+v, want a rejection with its reason", m)
			}
		}
		if n, err := c.CountQuarantined(c.f.ctx); err != nil || n != 160 {
			t.Errorf("%d messages are quarantined, %v; want 160", n, err)
		}
		kit.Eventually(t, testTimeout, func() (bool, string) { // a delivery is counted after its acknowledgement
			return d.Counts() == [3]int64{35, 160, 0}, fmt.Sprintf("counts are %v, want [35 160 0]", d.Counts())
		})

		repaired.Store(true)
		c.f.must(c.Replay(c.f.ctx, found[0].id))
		r.awaitAll([]string{found[0].name})
		for _, want := range []bool{true, false} {
			if dropped, err := c.Drop(c.f.ctx, found[1].id); err != nil || dropped != want {
				t.Errorf("drop: got %v, %v, want %v", dropped, err, want)
			}
		}
		for _, id := range []string{found[0].id, "", "-", "1", "x-1", "1-1-1"} {
			if err := c.Replay(c.f.ctx, id); !errors.Is(err, shop.ErrNoRow) {
				t.Errorf("replay %q: got %v, want ErrNoRow", id, err)
			}
			if dropped, err := c.Drop(c.f.ctx, id); dropped || err != nil {
				t.Errorf("drop %q: got %v, %v, want false", id, dropped, err)
			}
		}
		r.awaitCounts(0, 158)
	})
}

// A pending message is quarantined once, an acknowledged one never. Unreadable entries are quarantined, too. They can
// be dropped, not replayed.
func TestQuarantineIsIdempotent(t *testing.T) {
	onQueues(t, func(t *testing.T, c *testQueue) {
		r := newReceiver(c, func(context.Context, try) error { return nil })
		d := r.node("one", time.Hour)
		r.sendNew(2, false)
		c.f.must(c.client.XAdd(c.f.ctx, &redis.XAddArgs{Stream: c.stream, Values: []any{"a", "b"}}).Err())
		found, err := d.next(c.f.ctx, 3)
		c.f.must(err)
		if len(found) != 3 {
			t.Fatalf("%d entries, want 3", len(found))
		}
		c.f.must(c.acknowledge(c.f.ctx, c.group, found[0].ID))
		for i, e := range found[:2] {
			for again := range 2 {
				if did, err := c.quarantineEntry(c.f.ctx, c.group, e.ID, "no"); err != nil ||
					did != (i == 1 && again == 0) {
					t.Errorf("entry %d, call %d: got moved %v, %v", i, again, did, err)
				}
			}
		}
		if did, err := c.quarantineEntry(c.f.ctx, "absent-group", found[2].ID, "no"); did || err != nil {
			t.Errorf("quarantine for a missing group: got moved %v, %v, want false", did, err)
		}
		d.handle(c.f.ctx, &d.newLane.pace, found[2])
		unreadable := r.awaitCounts(0, 2)[1]
		if err := c.Replay(c.f.ctx, unreadable.id); !errors.Is(err, shop.ErrPermanent) {
			t.Errorf("replayed an unreadable entry: %v", err)
		}
		if dropped, err := c.Drop(c.f.ctx, unreadable.id); !dropped || err != nil {
			t.Errorf("drop: got %v, %v, want true", dropped, err)
		}
	})
}

// A receiver that requests a pause gets no delivery before the end of the pause, then one at a time. No attempt counts
// meanwhile, and all messages are delivered afterwards.
func TestPausesAreRespected(t *testing.T) {
	onQueues(t, func(t *testing.T, c *testQueue) {
		const requestedPause = 100 * time.Millisecond
		var opened atomic.Bool
		var pause atomic.Int64
		r := newReceiver(c, func(context.Context, try) error {
			if opened.Load() {
				return nil
			}
			return &outbox.PauseError{After: time.Duration(pause.Load()), Err: errors.New("429 Too Many Requests")}
		})
		d := r.node("one", time.Millisecond)
		d.attempts = 2
		r.f.run(d)
		first := r.sendNew(1, false)
		kit.Eventually(t, testTimeout, func() (bool, string) {
			return r.tried(first[0]) > 2*int(d.attempts), "too few attempts at a receiver without a time"
		})
		pause.Store(int64(requestedPause))
		began, before := time.Now(), r.tried("")
		all := append(first, r.sendNew(200, false)...)
		time.Sleep(7 * requestedPause)
		// One attempt per lane after each pause, and the attempts that were running at the beginning.
		tried := r.tried("") - before // read before the time
		if most := 4 + 2*(1+int(time.Since(began)/requestedPause)); tried > most {
			t.Errorf("got %d attempts, want at most %d", tried, most)
		}
		opened.Store(true)
		r.awaitAll(all)
		r.awaitCounts(0, 0)
	})
}

// While a receiver does not respond for some messages, all others are delivered, on one node.
func TestSlowDeliveriesDelayNoOthers(t *testing.T) {
	onQueues(t, func(t *testing.T, c *testQueue) {
		resume := make(chan struct{})
		r := newReceiver(c, func(_ context.Context, t try) error {
			switch {
			case !t.marked:
				return nil
			case t.number > 1: // the attempt uses a place for repeated messages
				<-resume
			}
			return errUnreachable
		})
		r.f.run(r.node("one", shortIdle))
		t.Cleanup(func() { close(resume) })
		r.sendNew(50, true)
		r.awaitAll(r.sendNew(100, false))
		r.awaitAll(r.sendNew(100, false))
	})
}

// A message that fails by itself is quarantined after the last attempt, with the last reason; others are delivered
// meanwhile. Replayed, it has all its attempts again.
func TestFailingMessagesAreQuarantined(t *testing.T) {
	onQueues(t, func(t *testing.T, c *testQueue) {
		r := newReceiver(c, func(_ context.Context, t try) error {
			if t.marked && t.number != 8+3 {
				return fmt.Errorf("451 disk full %d", t.number)
			}
			return nil
		})
		d := r.node("one", time.Millisecond)
		d.attempts = 8
		bad := r.sendNew(1, true)[0]
		r.awaitAll(r.sendNew(1, false), d)
		kit.Eventually(t, testTimeout, func() (bool, string) {
			r.deliverOnce(d)
			return len(r.list()) > 0, fmt.Sprintf("%d attempts", r.tried(bad))
		})
		m := r.awaitCounts(0, 1)[0]
		if r.tried(bad) != 8 || m.name != bad || m.attempts != 8 || !strings.HasSuffix(m.reason, "disk full 8") {
			t.Errorf("after %d attempts: got the message %+v, want 8 attempts and the last reason", r.tried(bad), m)
		}
		c.f.must(c.Replay(c.f.ctx, m.id))
		r.awaitAll([]string{bad}, d)
		r.awaitCounts(0, 0)
	})
}

// The pause between two attempts is never shorter than the first pause, grows, and differs between messages.
func TestPausesGrow(t *testing.T) {
	t.Parallel()
	mails, paid := NewMailDeliverer(nil, nil, "one", nil), NewPaidDeliverer(nil, nil, "webhook", "one", nil)
	for name, c := range map[string]struct {
		d           *Deliverer
		least, most time.Duration // between the first and the eighth attempt
	}{"mails": {mails, time.Hour, 72 * time.Minute}, "postings": {paid, 5 * time.Minute, 7 * time.Minute}} {
		d, different := c.d, make(map[time.Duration]bool)
		for n := range 200 {
			id, sum := fmt.Sprintf("1800000000000-%d", n), time.Duration(0)
			for tries := range int64(7) {
				pause := d.pause(id, tries+1)
				if pause < d.pause(id, tries) || d.pause(id, tries) < d.firstDelay {
					t.Errorf("%s: got a pause of %v after attempt %d, want no shorter than the previous one", name, pause, tries+1)
				}
				sum += pause
			}
			if different[sum] = true; sum < c.least || sum > c.most {
				t.Errorf("%s: the eighth attempt is made after %v, want %v to %v", name, sum, c.least, c.most)
			}
		}
		if len(different) < 50 {
			t.Errorf("%s: 200 messages have %d different pauses, want at least 50", name, len(different))
		}
	}
}

// The consumers of dead nodes are deleted once they have no pending messages and have been idle for a while.
func TestConsumersOfDeadNodesAreDeleted(t *testing.T) {
	onQueues(t, func(t *testing.T, c *testQueue) {
		f := c.f
		f.must(c.makeGroup(f.ctx, c.group))
		c.send("1")
		busy := c.reader(f.client, c.group, "holds one", time.Hour, time.Hour)
		_, err := busy.read(f.ctx, ">", 1)
		f.must(err)
		f.must(f.client.XGroupCreateConsumer(f.ctx, c.stream, c.group, "gone").Err())
		d := newReceiver(c, nil).node("one", time.Hour)
		for _, want := range [][]string{{"gone", "holds one"}, {"holds one"}} {
			_, err := d.due(f.ctx, 1)
			f.must(err)
			if got := f.consumers(c.stream, c.group); !slices.Equal(got, want) {
				t.Errorf("consumers %v, want %v", got, want)
			}
			d.deleteIdle = -time.Minute // negative, because the embedded Redis does not report the idle time
		}
	})
}

// Nodes share the messages. A node that is stopped finishes its running deliveries.
func TestNodesShareMessages(t *testing.T) {
	onQueues(t, func(t *testing.T, c *testQueue) {
		delivering, resume := make(chan struct{}), make(chan struct{})
		r := newReceiver(c, func(ctx context.Context, t try) error {
			if t.marked {
				close(delivering)
				<-resume
			}
			return ctx.Err()
		})
		held := r.sendNew(1, true)
		stop := r.f.run(r.node("one", time.Hour))
		<-delivering
		r.f.run(r.node("two", time.Hour))
		r.awaitAll(r.sendNew(40, false))
		go func() { time.Sleep(time.Millisecond); close(resume) }() // before or after the stop begins
		stop()
		r.awaitAll(held)
		r.awaitCounts(0, 0)
		if n := r.tried(""); n != 41 {
			t.Errorf("%d attempts, want 41", n)
		}
	})
}

// A node dies after a delivery and before its acknowledgement. Another node delivers the same message again, byte for
// byte.
func TestRedeliveredMessageIsIdentical(t *testing.T) {
	onQueues(t, func(t *testing.T, c *testQueue) {
		r := newReceiver(c, func(context.Context, try) error { return nil })
		r.sendNew(1, false)
		dead := r.node("dead", time.Hour)
		found, err := dead.next(c.f.ctx, 1)
		c.f.must(err)
		c.f.must(dead.deliver(c.f.ctx, found[0].XMessage))
		stop := r.f.run(r.node("two", shortIdle))
		r.awaitCounts(0, 0)
		stop()
		if len(r.bodies) != 2 || r.bodies[0] != r.bodies[1] {
			t.Errorf("delivered %v, want the same message twice", r.bodies)
		}
	})
}

// disconnectHook disconnects a client after its first left commands.
type disconnectHook struct {
	left         int
	disconnected bool
}

func (d *disconnectHook) countCommand() bool {
	d.left--
	d.disconnected = d.disconnected || d.left < 0
	return d.disconnected
}

func (d *disconnectHook) DialHook(next redis.DialHook) redis.DialHook { return next }

func (d *disconnectHook) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if d.countCommand() {
			cmd.SetErr(errUnreachable)
			return errUnreachable
		}
		return next(ctx, cmd)
	}
}

func (d *disconnectHook) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		if d.countCommand() {
			return errUnreachable
		}
		return next(ctx, cmds)
	}
}

// A process that dies between any two commands loses no message, and none is both delivered and quarantined, or
// quarantined twice.
func TestKilledNodeLosesNoMessage(t *testing.T) {
	onQueues(t, func(t *testing.T, c *testQueue) {
		for end, result := range map[string]error{
			"delivered": nil, "rejected": outbox.ErrRejected, "failed": errUnreachable, "paused": &outbox.PauseError{Err: errUnreachable},
		} {
			quarantined := map[string]int{"rejected": 1, "failed": 1}[end]
			for steps, disconnected := 0, true; disconnected; steps++ {
				c.f.must(c.client.Del(c.f.ctx, c.stream, c.quarantine).Err())
				r := newReceiver(c, func(context.Context, try) error { return result })
				name := r.sendNew(1, false)[0]
				hook := &disconnectHook{left: steps}
				client := dial(t, c.f.url)
				c.f.must(client.Ping(c.f.ctx).Err())
				client.AddHook(hook)
				first := r.nodeOn(client, "one", time.Millisecond)
				first.attempts = 1
				r.deliverOnce(first)
				if disconnected = hook.disconnected; steps > 20 {
					t.Fatalf("%s: the node still dies after %d commands", end, steps)
				}
				second := r.node("two", time.Millisecond)
				second.attempts = 1
				if end == "paused" { // the receiver is reachable again
					r.accept()
				}
				stop := r.f.run(second)
				if quarantined == 0 {
					r.awaitAll([]string{name})
				}
				for _, m := range r.awaitCounts(0, quarantined) {
					r.accept()
					if m.name != name {
						t.Errorf("%s, death after command %d: got the quarantined message %+v", end, steps, m)
					}
					c.f.must(c.Replay(c.f.ctx, m.id))
					r.awaitCounts(0, 0)
				}
				stop()
				if !r.has(name) {
					t.Errorf("%s: the message was lost after a death at command %d", end, steps)
				}
			}
		}
	})
}

// Messages of one order are delivered one at a time, in the order of the stream. Other orders do not wait for them.
func TestPostingsOfAnOrderKeepTheirOrder(t *testing.T) {
	t.Parallel()
	f := onRedis(t)
	blocked, resume := newID(), make(chan struct{})
	s := NewPaidStream(f.client)
	var revs []int // one delivery at a time
	r := newReceiver(paidQueue(f), nil)
	d := NewPaidDeliverer(f.client, f.client, "webhook", "one", func(ctx context.Context, p outbox.Message) error {
		if p.Order != blocked {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.received = append(r.received, p.Order.String())
			return nil
		}
		if len(revs) == 0 {
			<-resume
		}
		revs = append(revs, p.Rev)
		return nil
	})
	d.block = 5 * time.Millisecond
	f.append(s, posting(blocked, 2), posting(blocked, 4), posting(blocked, 6))
	stop := r.f.run(d)
	r.awaitAll(r.sendNew(20, false))
	close(resume)
	r.awaitCounts(0, 0)
	stop()
	if want := []int{2, 4, 6}; !slices.Equal(revs, want) {
		t.Errorf("revs %v, want %v", revs, want)
	}
}
