package realtime

import (
	"bytes"
	"fmt"
	"slices"
	"testing"
	"time"
	"unsafe"

	"stampede/app/shop"
	"stampede/app/trace"
)

// newListeningHub returns a hub with one connection per user after its hello. The writers are marked as running, so
// that events stay in the queues.
func newListeningHub(o Options, users ...shop.ID) (*Hub, []*client) {
	o.Shop, o.Partitions = (&fakeShop{}).calls(), partitions
	hub := NewHub(o)
	clients := make([]*client, len(users))
	for i, user := range users {
		clients[i] = &client{hub: hub, writing: true, greeted: true, identity: shop.Identity{User: user}}
		hub.clients[clients[i]] = struct{}{}
		hub.registerUser(clients[i], user)
	}
	return hub, clients
}

// Any message reaches only the users that it names. An unreadable message triggers a read of the order rows from the
// database.
func FuzzMessages(f *testing.F) {
	for _, s := range []string{
		"0 1\n7 1 2 1 pending {\"ev\":\"order\",\"key\":\"\"}\n8 3 2 4 paid {\"ev\":\"x\",\"a\":1}\n",
		"0 1\n7", "not a message", "5 6\n", "0 1\n77 1 2 1 paid {}\n",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, payload string) {
		hub, clients := newListeningHub(Options{}, 7, 8)
		hub.setProven(testCursor(1), 0)
		hub.onMessage(0, payload)
		m, err := shop.ParseMessage(payload)
		if err != nil {
			if hub.gapReason() == "" {
				t.Fatalf("%q: the message is unreadable, but no read of rows was triggered", payload)
			}
			return
		}
		events := map[shop.ID][][]byte{7: clients[0].out.queue, 8: clients[1].out.queue}
		for change, err := range m.Changes() {
			if err != nil {
				if hub.gapReason() == "" {
					t.Fatalf("%q: a change is unreadable, but no read of rows was triggered", payload)
				}
				break
			}
			queue := events[change.User]
			if len(queue) == 0 {
				continue // another user, or the queue was full
			}
			if !bytes.Equal(queue[0], withCursor(change.Frame, testCursor(1).String())) {
				t.Fatalf("got %[2]s in the queue, want the change %[1]q", change.Frame, queue[0])
			}
			events[change.User] = queue[1:]
		}
		for user, queue := range events {
			if len(queue) > 0 {
				t.Fatalf("user %s has unexpected frames %s", user, queue)
			}
		}
	})
}

// A message with many changes costs a node at most one allocation if its users are not connected.
func TestMessageForOtherUsersAllocatesAtMostOnce(t *testing.T) {
	hub, clients := newListeningHub(Options{}, 7)
	hub.setProven(testCursor(1), 0)
	payload := manyChanges(500)
	perMessage := testing.AllocsPerRun(10, func() { hub.onMessage(0, payload) })
	if perMessage > 1 || len(clients[0].out.queue) > 0 {
		t.Errorf("got %v allocations for 500 changes of other users, want at most 1 and no frame", perMessage)
	}
}

func manyChanges(n int) string {
	lines := fmt.Appendf(nil, "0 1\n")
	for i := range n {
		o := orderWithRev(shop.ID(7301444300000000000+i), shop.ID(7301444480512000257+i), 1)
		lines = shop.AppendChange(lines, &o, OrderFrame(&o))
	}
	return string(lines)
}

// Most connections only receive. After hello, a connection without missing rows has no personalState: it keeps only a
// nil pointer.
func TestIdleConnectionKeepsNoPersonalState(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	n.awaitProven()
	cursor := n.dial(t).hello(7, "").Cursor
	n.dial(t).hello(8, cursor)
	for _, c := range n.hub.allClients() {
		c.mu.Lock()
		if c.state != nil {
			t.Errorf("a connection still has state %+v", *c.state)
		}
		c.mu.Unlock()
	}
	if size := unsafe.Sizeof(client{}); size > maxClientBytes {
		t.Errorf("a connection takes %d bytes, want at most %d", size, maxClientBytes)
	}
}

// maxClientBytes is the allocator's size class of a client.
const maxClientBytes = 576

// spanList records ended spans.
type spanList struct{ spans []*trace.Span }

func (l *spanList) Record(s *trace.Span) { l.spans = append(l.spans, s) }

// The push of a traced change is the last span of its trace, if its user is connected. The frame is the same with and
// without tracing.
func TestPushesAreTraced(t *testing.T) {
	t.Parallel()
	spans := &spanList{}
	tracer := &trace.Tracer{Ratio: 1, Record: spans.Record}
	ref := tracer.Sample("socket", time.Now()).SpanRef
	o := orderWithRev(7, 7301444480512000257, 1)
	otherOrder := orderWithRev(8, 7301444480512000258, 1)
	payload := "0 1\n" + string(shop.AppendTraced(nil, &o, OrderFrame(&o), ref)) +
		string(shop.AppendTraced(nil, &otherOrder, OrderFrame(&otherOrder), ref))
	for _, tracing := range []*trace.Tracer{tracer, nil} {
		hub, clients := newListeningHub(Options{Tracer: tracing}, 7, 7)
		hub.setProven(testCursor(1), 0)
		hub.onMessage(0, payload)
		for _, c := range clients {
			if want := withCursor(string(OrderFrame(&o)), testCursor(1).String()); len(c.out.queue) != 1 ||
				!bytes.Equal(c.out.queue[0], want) {
				t.Errorf("got frames %s, want one: %s", c.out.queue, want)
			}
		}
	}
	if len(spans.spans) != 1 {
		t.Fatalf("got %d spans, want one for the connected user", len(spans.spans))
	}
	if s := spans.spans[0]; s.Name != "push" || s.Trace != ref.Trace || s.Parent != ref.ID || s.Notes[0].Number != 2 {
		t.Errorf("got span %+v, want push with 2 receivers, a child of %v", s, ref)
	}
}

// The time from a buy to its first event is measured once: at the first state of a pending order, on a node with a
// connection of the buyer.
func TestFirstPublishedIsCalledForFirstStates(t *testing.T) {
	t.Parallel()
	var first []shop.ID
	record := func(order, sale shop.ID) { first = append(first, order, sale) }
	hub, _ := newListeningHub(Options{FirstPublished: record}, 7)
	var lines []byte
	for i, o := range []shop.Order{
		{Rev: 1, State: shop.Pending, User: 7},
		{Rev: 2, State: shop.Pending, User: 7},
		{Rev: 1, State: shop.Refused, User: 7},
		{Rev: 2, State: shop.Paid, User: 7},
		{Rev: 1, State: shop.Pending, User: 8}, // connected to another node
	} {
		o.ID, o.Sale = shop.ID(i+1), 4
		lines = shop.AppendChange(lines, &o, OrderFrame(&o))
	}
	hub.onMessage(0, "0 1\n"+string(lines))
	if !slices.Equal(first, []shop.ID{1, 4}) {
		t.Errorf("got orders and sales %v, want order 1 of sale 4", first)
	}
}
