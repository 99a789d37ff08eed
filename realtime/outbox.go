package realtime

import (
	"time"

	"github.com/fasthttp/websocket"
)

// Bounds of what may wait for one client.
const (
	maxQueued      = 160       // replies and personal events; a whole log and then some
	maxQueuedBytes = 512 << 10 // of them
	maxNews        = 256       // slots, sales and notices that have changed
)

// outbox holds what waits for one client. The client's mutex guards it, and the client's writer empties it in this
// order: pong and ping, queue, news, tick, and at the end bye and the close frame.
//
//	queue   replies and personal events, all of them in order; overflow means the client is too slow
//	news    slot, sale, notice: newest wins per subject, bounded
//	tick    newest wins; a tick that replaces another one is sent as the whole watch set
type outbox struct {
	pong        []byte
	hasPong     bool
	ping        bool
	queue       [][]byte
	queuedBytes int
	news        []newsItem
	tick        *tick
	wholeTick   bool
	closing     CloseCode // 0: staying
	retry       time.Duration
	closeSent   bool
}

type newsItem struct {
	subject string
	frame   *websocket.PreparedMessage
}

// push queues a frame that must not be dropped; false: full.
func (o *outbox) push(frame []byte) bool {
	if len(o.queue) >= maxQueued || o.queuedBytes+len(frame) > maxQueuedBytes {
		return false
	}
	o.queue = append(o.queue, frame)
	o.queuedBytes += len(frame)
	return true
}

// putNews replaces waiting news of the same subject; false: full.
func (o *outbox) putNews(subject string, frame *websocket.PreparedMessage) bool {
	for i := range o.news {
		if o.news[i].subject == subject {
			o.news[i].frame = frame
			return true
		}
	}
	if len(o.news) >= maxNews {
		return false
	}
	o.news = append(o.news, newsItem{subject, frame})
	return true
}

// putTick replaces the waiting tick; it reports whether one was skipped.
func (o *outbox) putTick(t *tick, whole bool) bool {
	skipped := o.tick != nil
	o.wholeTick = whole || skipped
	o.tick = t
	return skipped
}

func (o *outbox) dropTick() { o.tick, o.wholeTick = nil, false }

// outgoing is one thing to write; exactly one part is set. As a value it needs no allocation.
type outgoing struct {
	frame   []byte
	shared  *websocket.PreparedMessage
	tick    *tick
	whole   bool // with tick
	control int  // websocket.PingMessage or PongMessage, with frame as its payload
	goodbye CloseCode
	retry   time.Duration // with goodbye
}

// next answers the next thing to write; false: there is nothing.
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
		o.news, o.tick = nil, nil
		return outgoing{goodbye: o.closing, retry: o.retry}, true
	case o.ping:
		o.ping = false
		return outgoing{control: websocket.PingMessage}, true
	case len(o.news) > 0:
		return outgoing{shared: takeFirst(&o.news).frame}, true
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

// takeFirst removes the first element. An empty list keeps no array: most clients are idle.
func takeFirst[T any](list *[]T) T {
	first := (*list)[0]
	clear((*list)[:1])
	if *list = (*list)[1:]; len(*list) == 0 {
		*list = nil
	}
	return first
}
