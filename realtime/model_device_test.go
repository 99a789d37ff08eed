package realtime

import (
	"encoding/json"
	"maps"
	"slices"
	"time"

	"stampede/app/shop"
)

func (w *world) connect(d *modelDevice, n *modelNode) {
	w.disconnect(d)
	d.node, d.withoutCursor = n, d.cursor == ""
	d.c = &client{hub: n.hub, conn: d.c.conn, writing: true}
	n.hub.clients[d.c] = struct{}{}
	d.c.identify(shop.Identity{User: d.user})
	n.hub.registerUser(d.c, d.user)
	welcome, known, err := d.c.hub.snapshot(w.callContext(), d.user, d.cursor)
	if err != nil {
		w.t.Fatal(err)
	}
	w.runConcurrentEvents()
	d.c.sendHelloReply(1, welcome, known)
}

// disconnect drops the frames that the device has not read.
func (w *world) disconnect(d *modelDevice) {
	if d.node == nil {
		return
	}
	d.node.hub.unregisterUser(d.c)
	delete(d.node.hub.clients, d.c)
	d.c.gone = true
	d.node = nil
}

// read reads at most limit frames from the socket of the device.
func (w *world) read(d *modelDevice, limit int) {
	for ; limit > 0 && d.node != nil && len(d.c.out.queue) > 0; limit-- {
		w.handleFrame(d, d.c.out.shift())
	}
	if d.node != nil && len(d.c.out.queue) == 0 && d.c.out.closing != 0 {
		if d.c.out.closing == CloseResync && w.history == 0 && d.cursor != noCursor.String() {
			w.t.Fatalf("got the close reason %s, want complete delivery", d.c.out.closing)
		}
		w.disconnect(d)
	}
}

func (w *world) handleFrame(d *modelDevice, frame []byte) {
	var f struct {
		Cursor string `json:"cursor"`
		OK     *struct {
			Cursor string `json:"cursor"`
			Reset  bool   `json:"reset"`
			Missed []struct {
				Order modelOrder `json:"order"`
			} `json:"missed"`
		} `json:"ok"`
		Order modelOrder `json:"order"`
	}
	if err := json.Unmarshal(frame, &f); err != nil {
		w.t.Fatalf("decode frame %s: %v", frame, err)
	}
	if f.OK == nil {
		d.cursor = f.Cursor
		d.update(f.Order)
		return
	}
	if f.OK.Reset && w.history == 0 && d.cursor != noCursor.String() {
		w.t.Fatalf("got a reset with cursor %s, want the missed orders, because the rows are complete", d.cursor)
	}
	d.cursor = f.OK.Cursor
	for _, m := range f.OK.Missed {
		d.update(m.Order)
	}
	if f.OK.Reset || d.withoutCursor { // the device reads `orders`
		d.known = make(map[shop.ID]modelRow)
		for id, r := range w.rows {
			if ownerOf(id) == d.user {
				d.known[id] = modelRow{rev: r.rev, content: r.content}
			}
		}
	}
}

// modelOrder has the fields of an order that a device reads.
type modelOrder struct {
	ID      shop.ID `json:"id"`
	Rev     int     `json:"rev"`
	Content int     `json:"ticket"`
}

func (d *modelDevice) update(o modelOrder) {
	if o.Rev > d.known[o.ID].rev {
		d.known[o.ID] = modelRow{rev: o.Rev, content: o.Content}
	}
}

// heal ends all faults and runs until no work is pending.
func (w *world) heal() {
	w.drawn = nil // no more concurrent events
	w.unreachable = false
	for _, id := range slices.Sorted(maps.Keys(w.opened)) {
		w.commit(id)
	}
	for len(w.unpublished) > 0 {
		w.publish(0)
	}
	for _, n := range w.nodes {
		for p, messages := range n.inTransit {
			for _, text := range messages {
				n.hub.onMessage(p, text)
			}
			n.inTransit[p] = nil
		}
		if !n.subscribed {
			n.subscribed = true
			n.hub.subscribed()
		}
	}
	w.advanceTime(epochWithin)
	for range 10 {
		for _, n := range w.nodes {
			w.probe(n)
			w.advanceTime(6 * time.Second)
			w.probe(n)
			w.resync(n)
			w.replayPending(n)
		}
	}
	for i, n := range w.nodes {
		if p := n.hub.proven.Load(); n.hub.gapReason() != "" || p == nil || p.At < w.clock().Add(-time.Minute) {
			w.t.Fatalf("node %d has not recovered: gap reason %q, proven instant %v", i, n.hub.gapReason(), p)
		}
	}
}

func (w *world) checkDevices() {
	for i, d := range w.devices {
		w.read(d, 1000)
		if d.node == nil {
			w.connect(d, w.nodes[i%2])
			w.read(d, 1000)
		}
		for id, r := range w.rows {
			if got := d.known[id]; ownerOf(id) == d.user && (got.rev != r.rev || got.content != r.content) {
				w.t.Fatalf("device %d has order %s at rev %d (content %d), want rev %d (content %d)", i, id, got.rev, got.content,
					r.rev, r.content)
			}
		}
	}
}
