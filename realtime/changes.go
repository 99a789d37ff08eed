package realtime

import (
	"log/slog"
	"time"

	"stampede/app/shop"
	"stampede/app/trace"
)

// newListener returns a listener for the changes of all partitions.
func (h *Hub) newListener() *listener {
	l := &listener{redis: h.options.Redis, onSubscribed: h.subscribed, channels: make(map[string]func(string))}
	for partition := range h.options.Partitions {
		name := shop.ChangesChannel(h.options.Namespace, partition)
		l.channels[name] = func(payload string) { h.onMessage(partition, payload) }
	}
	return l
}

// onMessage queues the changes of a message, then records the message as received. The order ensures that all changes
// up to a proven instant are queued before a client receives this instant.
func (h *Hub) onMessage(partition int, payload string) {
	m, err := shop.ParseMessage(payload)
	if err == nil {
		err = h.deliver(m)
		h.update(func(c *sequences) { c.received(h.elapsed(), partition, m.Before, m.Number) })
	}
	if err != nil {
		slog.Warn("unreadable message of changes; reading rows", "partition", partition, "err", err)
		h.recordGap("an unreadable message")
	}
}

// deliver queues each change for the connections of its user. It stops at an unreadable change.
func (h *Hub) deliver(m shop.Message) error {
	for change, err := range m.Changes() {
		if err != nil {
			return err
		}
		devices := h.devices(change.User)
		push := h.push(change, devices)
		for _, c := range devices {
			c.queueEvent(change.User, change.Frame)
		}
		push.Finish(nil)
		if h.options.FirstPublished != nil && len(devices) > 0 && change.IsFirst() {
			h.options.FirstPublished(change.Order, change.Sale)
		}
	}
	return nil
}

// push starts the span `push` of a traced change whose user is connected to this node. The caller ends the span when
// the event is queued for all connections. Without a trace or a connection, push returns nil.
func (h *Hub) push(change shop.Change, devices []*client) *trace.Span {
	if change.Trace == nil || len(devices) == 0 {
		return nil
	}
	push := h.options.Tracer.Follow(change.Trace, "push", time.Now())
	push.NoteNumber("sockets", int64(len(devices)))
	return push
}

// subscribed records a new subscription. The node then reads rows, because it may have missed earlier messages.
func (h *Hub) subscribed() { h.update((*sequences).subscribed) }
