package realtime

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"stampede/app/shop"
)

// P6 as a model: two nodes, a database, a Redis with two partitions, and devices that keep their cursors. Devices read
// their sockets at any time. Time is virtual: the start of the hubs moves into the past. Faults may occur between any
// two steps. Messages are lost or late, subscriptions break, and numbers go back and are reused. The database is
// unreachable or fails over, and transactions take time. At the end all faults stop, and every device must have the
// newest state of every order of its user.
//
// Assumptions of the model: a change is published within shop.PublishDeadline of the start of its transaction or gets a
// new timestamp. If numbers go back, a new epoch reveals this within half of the overlap. A probe reveals it earlier,
// unless the numbers have reached the old value again. Changes that a database failover loses are not published.
func TestEveryDeviceReceivesTheNewestState(t *testing.T) {
	t.Parallel()
	shared := serverClient(t)
	rapid.Check(t, func(t *rapid.T) {
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		w := newWorld(ctx, t, shared)
		t.Repeat(map[string]func(*rapid.T){
			"":            func(*rapid.T) { w.prepare() },
			"change":      func(*rapid.T) { w.change() },
			"deliver":     func(*rapid.T) { w.deliverNext() },
			"time":        func(*rapid.T) { w.advanceTime(spans[w.pick("time", len(spans))]) },
			"probe":       func(*rapid.T) { w.probe(w.someNode()) },
			"resync":      func(*rapid.T) { w.resync(w.someNode()) },
			"second":      func(*rapid.T) { w.runSecond() },
			"connect":     func(*rapid.T) { w.connect(w.someDevice(), w.someNode()) },
			"disconnect":  func(*rapid.T) { w.disconnect(w.someDevice()) },
			"read":        func(*rapid.T) { w.read(w.someDevice(), 1+w.pick("frames", 4)) },
			"unreachable": w.rarely(w.toggleUnreachable),
			"subscribe":   w.rarely(func() { w.resubscribe(w.someNode()) }),
			"go back":     w.rarely(func() { w.loseNumbers(&w.parts[w.pick("partition", modelParts)]) }),
			"fail over":   w.rarely(w.failOver),
		})
		w.heal()
		w.checkDevices()
	})
}

// serverClient returns the hub's client of a new connection. The clients of the model share this connection, because no
// frame is written to it.
func serverClient(t *testing.T) *client {
	n := startNode(t)
	n.dial(t).hello(0, "")
	return n.hub.allClients()[0]
}

var spans = []time.Duration{
	time.Millisecond, 200 * time.Millisecond, time.Second, 4 * time.Second, 10 * time.Second, 16 * time.Second,
	time.Hour,
}

const (
	modelUsers  = 1
	modelOrders = 2 // one per partition
	modelParts  = 2
	epochWithin = 30 * time.Second
)

type world struct {
	t           *rapid.T
	ctx         context.Context
	stop        context.CancelFunc // cancels the running call of a node, because the database is unreachable
	now         time.Duration
	ahead       time.Duration // offset of the database's clock
	unreachable bool
	history     int
	contents    int // number of contents so far
	rows        map[shop.ID]modelRow
	former      map[shop.ID]modelRow // rows before the last change
	opened      map[shop.ID]modelTransaction
	unpublished []modelChange
	parts       [modelParts]modelPartition
	nodes       []*modelNode
	devices     []*modelDevice
	drawn       []int // events that may happen during a call of a node
	callRunning bool  // a call of a node is running
}

// modelRow is an order. Its content differs after each change, even with the same rev.
type modelRow struct {
	rev, content int
	at           shop.Millis
}

type modelTransaction struct {
	at    shop.Millis
	since time.Duration // by the clock of Redis
}

// modelChange is a committed change that is still to be published.
type modelChange struct {
	order shop.ID
	row   modelRow
	since time.Duration
}

type modelPartition struct {
	published, epoch, lastEpoch int64
	epochDeadline               time.Duration // time of the new epoch after numbers went back; 0: no new epoch is due
}

type modelNode struct {
	hub        *Hub
	subscribed bool
	inTransit  [modelParts][]string // messages in transit
}

type modelDevice struct {
	user          shop.ID
	node          *modelNode // nil: not connected
	c             *client
	cursor        string
	withoutCursor bool // no cursor in this hello
	known         map[shop.ID]modelRow
}

func newWorld(ctx context.Context, t *rapid.T, shared *client) *world {
	w := &world{
		t: t, ctx: ctx, rows: make(map[shop.ID]modelRow), former: make(map[shop.ID]modelRow),
		opened: make(map[shop.ID]modelTransaction),
		ahead:  rapid.SampledFrom([]time.Duration{0, -7 * time.Minute, 7 * time.Minute}).Draw(t, "ahead"),
	}
	for i := range w.parts {
		w.parts[i] = modelPartition{epoch: 1, lastEpoch: 1}
	}
	for range 2 {
		n := &modelNode{
			hub: NewHub(Options{
				Shop: (&fakeShop{}).calls(), Partitions: modelParts, Orders: w, SequenceEnds: w.SequenceEnds,
			}),
		}
		go n.hub.helloQueue.serve(ctx, n.hub.serveHellos)
		w.nodes = append(w.nodes, n)
	}
	for i := range 2 {
		w.devices = append(w.devices, &modelDevice{
			user: shop.ID(i%modelUsers + 1), c: &client{conn: shared.conn}, known: make(map[shop.ID]modelRow),
		})
	}
	if w.pick("whole", 4) > 0 { // start without faults
		for i, n := range w.nodes {
			n.subscribed = true
			n.hub.subscribed()
			w.resync(n)
			w.connect(w.devices[i], n)
			w.read(w.devices[i], 1)
		}
	}
	return w
}

func ownerOf(order shop.ID) shop.ID { return order%modelUsers + 1 }
func partitionOf(order shop.ID) int { return int(order-1) % modelParts }

func (w *world) order(id shop.ID, r modelRow) shop.Order {
	return shop.Order{
		ID: id, Sale: 1, State: shop.Pending, Rev: r.rev, Ticket: int64(r.content), User: ownerOf(id), Key: "key-of-it",
	}
}

func (w *world) clock() shop.Millis { return shop.Millis((time.Hour + w.now + w.ahead).Milliseconds()) }

func (w *world) instant() (shop.Instant, error) {
	if w.unreachable {
		w.stop()
		return shop.Instant{}, shop.ErrTransient
	}
	return shop.Instant{At: w.clock(), History: fmt.Sprintf("%08x", w.history+1)}, nil
}

func (w *world) Clock(context.Context) (shop.Instant, error) { return w.instant() }

func (w *world) Changed(_ context.Context, queries []shop.ChangesQuery, _ int) ([]shop.Changes, shop.Instant, error) {
	at, err := w.instant()
	if err != nil {
		return nil, at, err
	}
	w.runConcurrentEvents()
	changes := make([]shop.Changes, len(queries))
	for i, q := range queries {
		for _, id := range slices.Sorted(maps.Keys(w.rows)) {
			if r := w.rows[id]; ownerOf(id) == q.User && r.at >= q.Since {
				changes[i].Orders = append(changes[i].Orders, w.order(id, r))
			}
		}
	}
	return changes, at, nil
}

func (w *world) SequenceEnds(context.Context) ([]shop.SequenceEnd, error) {
	w.runConcurrentEvents()
	ends := make([]shop.SequenceEnd, modelParts)
	for i, p := range w.parts {
		ends[i] = shop.SequenceEnd{Last: p.published, Epoch: p.epoch}
	}
	w.runConcurrentEvents()
	return ends, nil
}

// runConcurrentEvents runs up to three events during a call of a node. The call may run in another goroutine, which
// must not draw numbers: prepare has drawn the numbers before the call.
func (w *world) runConcurrentEvents() {
	w.callRunning = true
	defer func() { w.callRunning = false }()
	for n := w.pick("meanwhile", 4); n > 0; n-- {
		switch w.pick("what", 4) {
		case 0:
			w.toggleUnreachable()
		case 1:
			w.change()
		case 2:
			w.deliverNext()
		case 3:
			w.advanceTime(spans[w.pick("time", 4)])
		}
	}
}

// rarely returns an action that runs in one of eight cases.
func (w *world) rarely(do func()) func(*rapid.T) {
	return func(t *rapid.T) {
		if w.pick("rarely", 8) != 7 {
			t.Skip("impossible in this state")
		}
		do()
	}
}

// runSecond runs the work that both nodes do every second.
func (w *world) runSecond() {
	w.advanceTime(time.Second)
	for _, n := range w.nodes {
		w.probe(n)
		w.resync(n)
		w.replayPending(n)
	}
}

// prepare draws the events that may happen during the next step.
func (w *world) prepare() {
	w.drawn = rapid.SliceOfN(rapid.IntRange(0, drawRange), 0, 16).Draw(w.t, "during")
}

// drawRange is the range for draws. Small numbers are drawn far more often than large ones, but remainders of a
// division by a small number are nearly uniform.
const drawRange = 1 << 20

// pick returns a number below n.
func (w *world) pick(what string, n int) int {
	if !w.callRunning {
		return rapid.IntRange(0, drawRange).Draw(w.t, what) % n
	}
	if len(w.drawn) == 0 {
		return 0
	}
	i := w.drawn[0] % n
	w.drawn = w.drawn[1:]
	return i
}

func (w *world) someNode() *modelNode     { return w.nodes[w.pick("node", len(w.nodes))] }
func (w *world) someDevice() *modelDevice { return w.devices[w.pick("device", len(w.devices))] }

func (w *world) advanceTime(d time.Duration) {
	w.now += d
	for _, n := range w.nodes {
		n.hub.began = n.hub.began.Add(-d)
	}
	for i := range w.parts {
		if p := &w.parts[i]; p.epochDeadline != 0 && w.now >= p.epochDeadline {
			p.lastEpoch++
			p.epoch, p.epochDeadline = p.lastEpoch, 0
		}
	}
}

// toggleUnreachable makes the database reachable or unreachable.
func (w *world) toggleUnreachable() { w.unreachable = w.pick("away", 2) == 1 }

// change advances an order: a transaction starts, it commits, or its change is published or gets a new timestamp.
func (w *world) change() {
	if len(w.unpublished) > 0 && w.pick("publish", 2) == 1 {
		w.publish(w.pick("which", len(w.unpublished)))
		return
	}
	id := shop.ID(1 + w.pick("order", modelOrders))
	if w.pick("at once", 2) == 0 {
		if _, open := w.opened[id]; !open {
			w.opened[id] = modelTransaction{w.clock(), w.now}
			w.commit(id)
			w.publish(len(w.unpublished) - 1)
		}
		return
	}
	if _, open := w.opened[id]; open {
		w.commit(id)
		return
	}
	w.opened[id] = modelTransaction{w.clock(), w.now}
}

func (w *world) commit(id shop.ID) {
	transaction := w.opened[id]
	delete(w.opened, id)
	w.contents++
	w.former[id] = w.rows[id]
	w.rows[id] = modelRow{w.rows[id].rev + 1, w.contents, transaction.at}
	w.unpublished = append(w.unpublished, modelChange{id, w.rows[id], transaction.since})
}

func (w *world) publish(i int) {
	change := &w.unpublished[i]
	if w.now-change.since > shop.PublishDeadline {
		if _, locked := w.opened[change.order]; w.unreachable || locked {
			return
		}
		r := w.rows[change.order]
		r.at = w.clock()
		w.rows[change.order] = r
		change.row, change.since = r, w.now
		return
	}
	o := w.order(change.order, change.row)
	p := partitionOf(change.order)
	w.parts[p].published++
	text := shop.AppendChange(
		fmt.Appendf(nil, "%d %d\n", w.parts[p].published-1, w.parts[p].published), &o, OrderFrame(&o),
	)
	for _, n := range w.nodes {
		if n.subscribed {
			n.inTransit[p] = append(n.inTransit[p], string(text))
		}
	}
	w.unpublished = slices.Delete(w.unpublished, i, i+1)
}

// deliverNext delivers or loses the next message of a partition to a node.
func (w *world) deliverNext() {
	n, p := w.someNode(), w.pick("partition", modelParts)
	if len(n.inTransit[p]) == 0 {
		return
	}
	text := n.inTransit[p][0]
	n.inTransit[p] = n.inTransit[p][1:]
	if w.pick("lost", 4) > 0 {
		n.hub.onMessage(p, text)
	}
}

func (w *world) resubscribe(n *modelNode) {
	n.inTransit = [modelParts][]string{}
	if n.subscribed = w.pick("subscribed", 3) > 0; n.subscribed {
		n.hub.subscribed()
	}
}

// callContext returns a context that ends when the database is unreachable. Without it, a node would retry forever.
func (w *world) callContext() context.Context {
	ctx, cancel := context.WithCancel(w.ctx)
	w.stop = cancel
	return ctx
}

func (w *world) probe(n *modelNode) { _ = n.hub.probe(w.callContext()) }

func (w *world) resync(n *modelNode) {
	if n.hub.gapReason() != "" {
		_ = n.hub.resync(w.callContext())
	}
}

func (w *world) replayPending(n *modelNode) {
	batch := n.hub.replayQueue.next()
	if err := n.hub.replayBatch(w.callContext(), batch); err != nil {
		n.hub.replayQueue.add(batch...)
	}
}

// loseNumbers makes Redis lose the last numbers of a partition, or all data of the partition.
func (w *world) loseNumbers(p *modelPartition) {
	if p.epochDeadline != 0 {
		return
	}
	p.published = max(0, p.published-int64(1+w.pick("back", 4)))
	if w.pick("absent", 3) == 2 {
		p.published, p.epoch = 0, 0
	}
	p.epochDeadline = w.now + epochWithin
}

// failOver continues with a database that lacks some commits.
func (w *world) failOver() {
	w.history++
	w.opened = make(map[shop.ID]modelTransaction)
	for _, id := range slices.Sorted(maps.Keys(w.former)) {
		if w.pick("lacks", 2) == 1 {
			w.rows[id] = w.former[id]
		}
	}
	w.former = make(map[shop.ID]modelRow)
	for i := range w.unpublished {
		w.unpublished[i].row = w.rows[w.unpublished[i].order]
	}
	w.unpublished = slices.DeleteFunc(w.unpublished, func(c modelChange) bool { return c.row.rev == 0 })
	maps.DeleteFunc(w.rows, func(_ shop.ID, r modelRow) bool { return r.rev == 0 })
	for _, n := range w.nodes {
		n.inTransit = [modelParts][]string{}
	}
}
