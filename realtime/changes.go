package realtime

import (
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/singleflight"

	"stampede/app/shop"
	"stampede/app/trace"
)

// personalEvents delivers the changes of orders to the connections of their users: from messages (changes.go), or from
// rows when messages may be lost (follow.go, replay.go).
type personalEvents struct {
	options *Options
	conns   *connections
	metrics *metrics

	listener  *listener
	mu        sync.Mutex // also held while the field proven changes
	sequences sequences
	wake      chan struct{}                 // signal: messages may be lost
	proven    atomic.Pointer[provenInstant] // see follow.go; nil: no proven instant in the current history
	histories atomic.Uint32                 // number of changes to another database history
	// lastProven is the read time of the last proven instant before proven was set to nil, in ns since
	// connections.began; 0: none.
	lastProven atomic.Int64

	helloQueue  *queue[*replayRequest] // reads for the op `hello`
	replayQueue *queue[*client]        // connections after hello whose missed rows are still to be read
	clockReads  singleflight.Group     // deduplicates reads of the database's clock
}

func newPersonalEvents(o *Options, conns *connections) *personalEvents {
	p := &personalEvents{
		options: o, conns: conns, sequences: newSequences(o.Partitions, o.MessageWithin), wake: make(chan struct{}, 1),
		helloQueue: newQueue[*replayRequest](readersAtOnce), replayQueue: newQueue[*client](1),
	}
	p.listener = p.newListener()
	return p
}

// newListener returns a listener for the changes of all partitions.
func (p *personalEvents) newListener() *listener {
	l := &listener{redis: p.options.Redis, onSubscribed: p.subscribed, channels: make(map[string]func(string))}
	for partition := range p.options.Partitions {
		name := shop.ChangesChannel(p.options.Namespace, partition)
		l.channels[name] = func(payload string) { p.onMessage(partition, payload) }
	}
	return l
}

// onMessage queues the changes of a message, then records the message as received. The order ensures that all changes
// up to a proven instant are queued before a client receives this instant.
func (p *personalEvents) onMessage(partition int, payload string) {
	m, err := shop.ParseMessage(payload)
	if err == nil {
		err = p.deliver(m)
		p.update(func(c *sequences) { c.received(p.conns.elapsed(), partition, m.Before, m.Number) })
	}
	if err != nil {
		slog.Warn("unreadable message of changes; reading rows", "partition", partition, "err", err)
		p.recordGap("an unreadable message")
	}
}

// deliver queues each change for the connections of its user. It stops at an unreadable change.
func (p *personalEvents) deliver(m shop.Message) error {
	for change, err := range m.Changes() {
		if err != nil {
			return err
		}
		devices := p.conns.devices(change.User)
		span := p.push(change, devices)
		for _, c := range devices {
			c.queueEvent(change.User, change.Frame)
		}
		span.Finish(nil)
		if p.options.FirstPublished != nil && len(devices) > 0 && change.IsFirst() {
			p.options.FirstPublished(change.Order, change.Sale)
		}
	}
	return nil
}

// push starts the span `push` of a traced change whose user is connected to this node. The caller ends the span when
// the event is queued for all connections. Without a trace or a connection, push returns nil.
func (p *personalEvents) push(change shop.Change, devices []*client) *trace.Span {
	if change.Trace == nil || len(devices) == 0 {
		return nil
	}
	span := p.options.Tracer.Follow(change.Trace, "push", time.Now())
	span.NoteNumber("sockets", int64(len(devices)))
	return span
}

// subscribed records a new subscription. The node then reads rows, because it may have missed earlier messages.
func (p *personalEvents) subscribed() { p.update((*sequences).subscribed) }
