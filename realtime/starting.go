package realtime

import "runtime"

// mostStarting is how many writers may be waiting for a processor when one thing is told to many.
const mostStarting = 256

// tooManyStarting reports whether so many writers have been started that they should begin before there are more. Each
// brings a stack along: those of a whole crowd at once would be as much memory as its sockets'.
func (h *Hub) tooManyStarting() bool { return h.starting.Load() > mostStarting }

// letWritersBegin lets writers begin until there are few who have not. It waits for processors only, not for clients: a
// writer has begun before it writes.
func (h *Hub) letWritersBegin() {
	for h.tooManyStarting() {
		runtime.Gosched()
	}
}
