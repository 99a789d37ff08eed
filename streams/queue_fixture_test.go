package streams

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"stampede/app/outbox"
	"stampede/app/shop"
	"stampede/app/test/kit"
)

// shortIdle is long enough for a delivery without delays.
const shortIdle = 50 * time.Millisecond

var errUnreachable = errors.New("the receiver is unreachable")

// testQueue is a queue of postings or of e-mails, with the functions of its user. A message's name is its identifying
// field.
type testQueue struct {
	*queue
	f         *fixture
	group     string
	send      func(names ...string)
	deliverer func(client redis.UniversalClient, consumer string, take takeFunc) *Deliverer
	list      func() (quarantined []quarantinedEntry)
}

// takeFunc receives a message: its name, and its content with its append time if that is part of it.
type takeFunc func(ctx context.Context, name, body string) error

// quarantinedEntry is a message in quarantine.
type quarantinedEntry struct {
	id, name, reason string
	attempts         int
	at               shop.Millis
}

// onQueues runs a test for postings and e-mails, on Redis and on the embedded one.
func onQueues(t *testing.T, test func(t *testing.T, c *testQueue)) {
	t.Helper()
	t.Parallel()
	for name, newQueue := range map[string]func(*fixture) *testQueue{"postings": paidQueue, "mails": mailQueue} {
		t.Run(name, func(t *testing.T) {
			onBoth(t, func(t *testing.T, f *fixture) { test(t, newQueue(f)) })
		})
	}
}

// listFunc reads the quarantine of a stream.
func listFunc[T any](
	f *fixture, read func(context.Context) ([]T, error), convert func(T) quarantinedEntry,
) func() []quarantinedEntry {
	return func() (all []quarantinedEntry) {
		f.t.Helper()
		found, err := read(f.ctx)
		f.must(err)
		for _, m := range found {
			all = append(all, convert(m))
		}
		return all
	}
}

func paidQueue(f *fixture) *testQueue {
	s := f.paidStream()
	return &testQueue{
		queue: &s.queue, f: f, group: "webhook",
		send: func(names ...string) {
			f.t.Helper()
			var postings []outbox.Message
			for _, name := range names {
				postings = append(postings, posting(shop.ID(number(name)), 2))
			}
			f.append(s, postings...)
		},
		deliverer: func(client redis.UniversalClient, consumer string, take takeFunc) *Deliverer {
			deliver := func(ctx context.Context, p outbox.Message) error {
				body, _ := json.Marshal(p)
				return take(ctx, p.Order.String(), string(body))
			}
			return NewPaidDeliverer(client, client, "webhook", consumer, deliver)
		},
		list: listFunc(f, s.Quarantined, func(m outbox.QuarantinedMessage) quarantinedEntry {
			return quarantinedEntry{m.ID, m.Message.Order.String(), m.Reason, m.Deliveries, m.At}
		}),
	}
}

func mailQueue(f *fixture) *testQueue {
	s := NewMailStream(f.client)
	return &testQueue{
		queue: &s.queue, f: f, group: mailGroup,
		send: func(names ...string) {
			f.t.Helper()
			for _, name := range names {
				f.must(s.Send(f.ctx, anEmail(name)))
			}
		},
		deliverer: func(client redis.UniversalClient, consumer string, take takeFunc) *Deliverer {
			deliver := func(ctx context.Context, m outbox.Email, posted shop.Millis) error {
				body, _ := json.Marshal(m)
				return take(ctx, m.About, fmt.Sprint(string(body), posted))
			}
			return NewMailDeliverer(client, client, consumer, deliver)
		},
		list: listFunc(f, s.Quarantined, func(m outbox.QuarantinedEmail) quarantinedEntry {
			return quarantinedEntry{m.ID, m.About, m.Reason, m.Tries, m.At}
		}),
	}
}

// receiver receives deliveries and returns the result that a test sets.
type receiver struct {
	*testQueue

	mu       sync.Mutex
	result   func(ctx context.Context, t try) error
	marked   map[string]bool
	tries    map[string]int
	received []string // names
	bodies   []string
}

// try is an attempt at a message: its number, and whether the test has marked the message.
type try struct {
	name   string
	number int
	marked bool
}

func newReceiver(c *testQueue, result func(ctx context.Context, t try) error) *receiver {
	r := &receiver{testQueue: c, result: result, marked: make(map[string]bool), tries: make(map[string]int)}
	c.f.must(c.makeGroup(c.f.ctx, c.group))
	return r
}

// accept makes the receiver accept every message from now on.
func (r *receiver) accept() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.result = func(context.Context, try) error { return nil }
}

// node is a process that delivers in quick succession. A message is due again after idle.
func (r *receiver) node(consumer string, idle time.Duration) *Deliverer {
	return r.nodeOn(r.client, consumer, idle)
}

func (r *receiver) nodeOn(client redis.UniversalClient, consumer string, idle time.Duration) *Deliverer {
	d := r.deliverer(client, consumer, r.take)
	d.setPauses(5*time.Millisecond, time.Millisecond, time.Millisecond)
	d.firstDelay, d.maxDelay, d.attempts = idle, idle, 0
	return d
}

// deliverOnce is one round of Run: it delivers new and due messages.
func (r *receiver) deliverOnce(d *Deliverer) {
	for _, read := range []func(context.Context, int) ([]attempt, error){d.next, d.due} {
		attempts, _ := read(r.f.ctx, 3)
		for _, a := range attempts {
			d.handle(r.f.ctx, &d.newLane.pace, a)
		}
	}
}

func (r *receiver) take(ctx context.Context, name, body string) error {
	r.mu.Lock()
	r.tries[name]++
	t, result := try{name, r.tries[name], r.marked[name]}, r.result
	r.mu.Unlock()
	err := result(ctx, t)
	r.mu.Lock()
	defer r.mu.Unlock()
	if err == nil {
		r.received, r.bodies = append(r.received, name), append(r.bodies, body)
	}
	return err
}

// sendNew appends n messages, marked or not.
func (r *receiver) sendNew(n int, marked bool) []string {
	r.f.t.Helper()
	names := make([]string, n)
	r.mu.Lock()
	for i := range names {
		names[i] = newID().String()
		r.marked[names[i]] = marked
	}
	r.mu.Unlock()
	r.send(names...)
	return names
}

func (r *receiver) has(name string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Contains(r.received, name)
}

// tried returns the number of attempts at a message; "": at all messages.
func (r *receiver) tried(name string) (sum int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for other, n := range r.tries {
		if name == "" || other == name {
			sum += n
		}
	}
	return sum
}

// awaitAll waits until the messages are received. Meanwhile it runs deliverOnce on the nodes.
func (r *receiver) awaitAll(names []string, nodes ...*Deliverer) {
	r.f.t.Helper()
	kit.Eventually(r.f.t, testTimeout, func() (bool, string) {
		for _, d := range nodes {
			r.deliverOnce(d)
		}
		missing := slices.IndexFunc(names, func(name string) bool { return !r.has(name) })
		return missing < 0, fmt.Sprintf("message %d of %d was not received", missing, len(names))
	})
}

// awaitCounts waits until the given numbers of messages are pending and quarantined, and no message is new. It reads
// the states in the order in which messages pass them, so that none changes state unseen between two commands.
func (r *receiver) awaitCounts(pending int64, quarantined int) (found []quarantinedEntry) {
	r.f.t.Helper()
	kit.Eventually(r.f.t, testTimeout, func() (bool, string) {
		groups, err := r.client.XInfoGroups(r.f.ctx, r.stream).Result()
		r.f.must(err)
		i := slices.IndexFunc(groups, func(g redis.XInfoGroup) bool { return g.Name == r.group })
		left, err := r.client.XRange(r.f.ctx, r.stream, "("+groups[i].LastDeliveredID, "+").Result()
		r.f.must(err)
		p, err := r.client.XPending(r.f.ctx, r.stream, r.group).Result()
		r.f.must(err)
		length, err := r.length(r.f.ctx, r.stream)
		r.f.must(err)
		found = r.list()
		secret := r.discard && length != pending // an acknowledged e-mail still exists
		return p.Count == pending && len(found) == quarantined && len(left) == 0 && !secret, fmt.Sprintf(
			"%d are pending, %d quarantined, %d new, %d in the stream, want %d and %d", p.Count, len(found), len(left),
			length, pending, quarantined)
	})
	return found
}
