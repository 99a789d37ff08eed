package realtime

import (
	"time"

	"stampede/app/shop"
)

// sequences tracks which messages of every partition this node has received, and which instant these messages prove. It
// only holds state: callers read Redis and the database, and pass the results with the time since connections.began.
//
//	subscribed ─ beforeRead ─ restart ─┬─ received … beforeRead ─ recordProbe ─ proven …   while no message is missing
//	     ▲           ▲                 │
//	     └───────────┴─────────────────┴─ recordGap: messages may be lost; rows are read, then again from beforeRead
//
// Each message of a partition contains the number of its predecessor, so the next message reveals a loss. To detect the
// loss of the last messages, a probe reads the database's clock and then the latest number of each partition from
// Redis. When this node has received all messages up to these numbers, the instant of the probe is proven. If the Redis
// of a partition is unreachable, its latest number is unknown and no instant is proven. When that Redis is reachable
// again, the new subscription counts as a gap.
type sequences struct {
	within    time.Duration // time limit for a message after its number was read
	parts     []sequence
	probes    []probe // probes that are not proven yet, oldest first
	gapReason string  // reason for the read of rows; "": no gap
}

// sequence is the state of one partition.
type sequence struct {
	epoch          int64
	received       int64         // number of the last received message, or the latest number at the last restart
	receivedAtRead int64         // value of received at the last call of beforeRead
	lateUntil      time.Duration // until this time, messages up to received may still arrive; their rows were read

	// The start of a new subscription is unknown until the latest numbers are read.
	startUnknown bool
	anyReceived  bool  // whether a message was received since the subscription
	from         int64 // number before the first message
}

// probe is an instant of the database's clock, with the latest message numbers. The numbers were read after the clock.
type probe struct {
	at     Cursor
	readAt time.Duration // time at which the clock was read, since connections.began
	ends   []shop.SequenceEnd
	until  time.Duration // deadline for the messages up to ends, since connections.began
}

func newSequences(partitions int, within time.Duration) sequences {
	return sequences{within: within, parts: make([]sequence, partitions)}
}

// recordGap records that messages may be lost.
func (s *sequences) recordGap(reason string) {
	if s.gapReason == "" {
		s.gapReason = reason
	}
	s.probes = nil
}

// subscribed records that a new subscription delivers the messages from now on.
func (s *sequences) subscribed() {
	for i := range s.parts {
		p := &s.parts[i]
		p.startUnknown, p.anyReceived = true, false
	}
	s.recordGap("new subscription")
}

// beforeRead must be called before the latest numbers are read. A message that is received after this call may have a
// number up to the latest number, or a greater one.
func (s *sequences) beforeRead() {
	for i := range s.parts {
		s.parts[i].receivedAtRead = s.parts[i].received
	}
}

// restart continues from the latest numbers. They were read after beforeRead, and the caller reads rows next. A gap
// that was detected since beforeRead stays recorded, because its messages may be newer than these numbers. In this
// case the rows are read again.
func (s *sequences) restart(now time.Duration, ends []shop.SequenceEnd) {
	for i := range s.parts {
		if ends[i].Unreachable {
			continue
		}
		if !s.parts[i].restart(ends[i], now+s.within) {
			s.recordGap("a message is missing since the numbers were read")
		}
	}
}

// restart reports whether no message after the latest number can be lost.
func (s *sequence) restart(end shop.SequenceEnd, lateUntil time.Duration) bool {
	first, receivedSince := s.receivedAtRead, s.received != s.receivedAtRead
	if s.startUnknown {
		first, receivedSince = s.from, s.anyReceived
	}
	s.startUnknown, s.epoch = false, end.Epoch
	switch {
	case !receivedSince || end.Last >= s.received: // all received messages were published before the number was read
		s.received, s.lateUntil = end.Last, lateUntil
		return true
	case end.Last < first: // messages before the first received one are lost, or numbers went back
		return false
	default: // received messages continue beyond the number
		s.lateUntil = 0
		return true
	}
}

// received records a message whose changes are queued.
func (s *sequences) received(now time.Duration, partition int, before, number int64) {
	p := &s.parts[partition]
	switch {
	case p.startUnknown && !p.anyReceived:
		p.anyReceived, p.from, p.received = true, before, number
	case before == p.received:
		p.received, p.lateUntil = number, 0
	case number <= p.received && now < p.lateUntil: // a late message: the rows were read after its publication
	default: // a message is lost or a number is repeated; its successors do not report this gap again
		p.from, p.received = before, number
		s.recordGap("a message is missing")
	}
}

// recordProbe records an instant of the database's clock and the latest numbers. The numbers were read after the clock
// and after beforeRead.
func (s *sequences) recordProbe(now time.Duration, at Cursor, readAt time.Duration, ends []shop.SequenceEnd) {
	if s.gapReason != "" {
		return
	}
	unreachable := false
	for i := range s.parts {
		switch p := &s.parts[i]; {
		case ends[i].Unreachable:
			unreachable = true
		case p.startUnknown:
			s.recordGap("a partition is reachable again")
			return
		case ends[i].Epoch != p.epoch:
			s.recordGap("another epoch of Redis")
			return
		case ends[i].Last < max(p.receivedAtRead, s.lastEnd(i)):
			s.recordGap("message numbers went back")
			return
		}
	}
	if unreachable {
		return
	}
	s.probes = append(s.probes, probe{at, readAt, ends, now + s.within})
}

// lastEnd returns the latest number of the partition in the newest unproven probe; 0: no such probe.
func (s *sequences) lastEnd(partition int) int64 {
	if len(s.probes) == 0 {
		return 0
	}
	return s.probes[len(s.probes)-1].ends[partition].Last
}

// proven returns the newest probe whose messages were all received. It returns false if no probe was proven since the
// last call. Call it after each message and each probe. An overdue probe is a gap, even if its messages have arrived
// since.
func (s *sequences) proven(now time.Duration) (newest probe, ok bool) {
	if len(s.probes) > 0 && now > s.probes[0].until {
		s.recordGap(lateMessage)
	}
	for i := len(s.probes) - 1; i >= 0; i-- {
		if s.reached(s.probes[i].ends) {
			newest = s.probes[i]
			s.probes = s.probes[i+1:]
			return newest, true
		}
	}
	return probe{}, false
}

// lateMessage is the reason of a gap that a subscription without deliveries may have caused.
const lateMessage = "a message did not arrive in time"

func (s *sequences) reached(ends []shop.SequenceEnd) bool {
	for i := range s.parts {
		if s.parts[i].received < ends[i].Last {
			return false
		}
	}
	return true
}
