package realtime

import (
	"time"

	"github.com/fasthttp/websocket"
)

// Limits of one outbox.
const (
	maxQueued      = 160       // replies and personal events; more than a full replay of maxChanges orders
	maxQueuedBytes = 512 << 10 // total size of queue
	maxHints       = 256       // subjects of hints
)

// outbox holds the frames for one client. The mutex of the client guards it. The writer of the client empties it in
// this order: pong, queue, ping, hints, tick. When closing is set, `bye` and the close frame follow the queue, and the
// other frames are dropped.
//
//	queue   replies and personal events, complete and in order; overflow closes the connection as too slow
//	hints   slot, sale, notice, board: the newest frame per subject, at most maxHints subjects
//	tick    the newest tick; a tick that replaces another one is sent as the whole watch set
type outbox struct {
	pong        []byte
	hasPong     bool
	ping        bool
	queue       [][]byte
	queuedBytes int
	hints       []queuedHint
	tick        *tick
	wholeTick   bool
	closing     CloseCode // 0: open
	retry       time.Duration
	closeSent   bool
}

type queuedHint struct {
	subject string
	frame   *websocket.PreparedMessage
}

// push queues a frame that must not be dropped; false: the queue is full.
func (o *outbox) push(frame []byte) bool {
	if len(o.queue) >= maxQueued || o.queuedBytes+len(frame) > maxQueuedBytes {
		return false
	}
	o.queue = append(o.queue, frame)
	o.queuedBytes += len(frame)
	return true
}

// putHint queues a hint or replaces the queued hint of the same subject; false: hints is full.
func (o *outbox) putHint(subject string, frame *websocket.PreparedMessage) bool {
	for i := range o.hints {
		if o.hints[i].subject == subject {
			o.hints[i].frame = frame
			return true
		}
	}
	if len(o.hints) >= maxHints {
		return false
	}
	o.hints = append(o.hints, queuedHint{subject, frame})
	return true
}

// putTick replaces the queued tick and reports whether a tick was queued, which the client has then skipped.
func (o *outbox) putTick(t *tick, whole bool) bool {
	skipped := o.tick != nil
	o.wholeTick = whole || skipped
	o.tick = t
	return skipped
}

func (o *outbox) dropTick() { o.tick, o.wholeTick = nil, false }

// outgoing is the next frame to write; exactly one of its kinds is set. It is a value, so that it needs no allocation.
type outgoing struct {
	frame     []byte
	shared    *websocket.PreparedMessage
	tick      *tick
	whole     bool // with tick
	control   int  // websocket.PingMessage or PongMessage, with frame as its payload
	closeCode CloseCode
	retry     time.Duration // with closeCode
}

// next removes and returns the next frame to write; false: the outbox is empty.
func (o *outbox) next() (outgoing, bool) {
	switch {
	case o.closeSent:
		return outgoing{}, false
	case o.hasPong:
		o.hasPong = false
		return outgoing{control: websocket.PongMessage, frame: o.pong}, true
	case len(o.queue) > 0:
		return outgoing{frame: o.shift()}, true
	case o.closing != 0:
		o.closeSent = true
		o.hints, o.tick = nil, nil
		return outgoing{closeCode: o.closing, retry: o.retry}, true
	case o.ping:
		o.ping = false
		return outgoing{control: websocket.PingMessage}, true
	case len(o.hints) > 0:
		return outgoing{shared: takeFirst(&o.hints).frame}, true
	case o.tick != nil:
		p := outgoing{tick: o.tick, whole: o.wholeTick}
		o.dropTick()
		return p, true
	default:
		return outgoing{}, false
	}
}

func (o *outbox) shift() []byte {
	frame := takeFirst(&o.queue)
	o.queuedBytes -= len(frame)
	return frame
}

// takeFirst removes and returns the first element. An empty list keeps no array, because most clients are idle.
func takeFirst[T any](list *[]T) T {
	first := (*list)[0]
	clear((*list)[:1])
	if *list = (*list)[1:]; len(*list) == 0 {
		*list = nil
	}
	return first
}
