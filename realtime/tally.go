package realtime

// tally counts what happens for every frame. Each connection has its own, under its own lock: one counter of the node, which
// all processors write to, costs an op more than decoding its frame.
type tally struct {
	frames uint64 // written
	events uint64 // personal ones, queued
}

func (t *tally) add(other tally) {
	t.frames += other.frames
	t.events += other.events
}

// tally adds up what all connections have had, those that have left included.
func (h *Hub) tally() tally {
	h.mu.Lock()
	defer h.mu.Unlock()
	sum := h.past
	for c := range h.clients {
		c.mu.Lock()
		sum.add(c.tally)
		c.mu.Unlock()
	}
	return sum
}

// keepTally keeps what a connection has counted when it ends, so that no sum is ever lower than one before.
func (h *Hub) keepTally(c *client) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.keepTallyLocked(c)
}

func (h *Hub) keepTallyLocked(c *client) {
	c.mu.Lock()
	defer c.mu.Unlock()
	h.past.add(c.tally)
	c.tally = tally{}
}
