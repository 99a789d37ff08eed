package realtime

import (
	"time"

	"stampede/app/shop"
)

// sequences tracks which messages of every partition this node has received, and which instant they prove. It only
// holds state: callers read Redis and the database, and pass the results with the time since Hub.began.
//
//	subscribed ─ `ask` ─ restart ─┬─ received … `ask` ─ looked ─ proven …   while no message is missing
//	     ▲         ▲              │
//	     └─────────┴──────────────┴─ broken: messages may be lost; rows are read, then again from `ask`
//
// Each message of a partition contains the number of its predecessor, so the next message reveals a loss. To detect the
// loss of the last messages, a look reads the database's clock and then the latest number of each partition from Redis.
// When this node has received all messages up to these numbers, the instant of that clock is proven. If the Redis of a
// partition is unreachable, its latest number is unknown and no instant is proven. When it returns, the new
// subscription counts as a gap.
type sequences struct {
	within    time.Duration // time limit for a message after its number was read
	parts     []sequence
	probes    []probe // not proven yet, oldest first
	gapReason string  // why rows must be read; "": no gap
}

// sequence is the state of one partition.
type sequence struct {
	epoch    int64
	received int64         // number of the last received message, or the number up to which rows were read
	atRead   int64         // value of received when the latest numbers were last read
	late     time.Duration // until then, messages up to received may still arrive: their rows were already read

	// The start of a new subscription is unknown until the latest numbers are read.
	fresh       bool
	anyReceived bool  // a message was received
	from        int64 // number before the first message
}

// probe is an instant of the database's clock, with the latest message numbers that were read after it.
type probe struct {
	at     Cursor
	atRead time.Duration // when the clock was read, since Hub.began
	ends   []shop.SequenceEnd
	until  time.Duration
}

func newSequences(partitions int, within time.Duration) sequences {
	return sequences{within: within, parts: make([]sequence, partitions)}
}

// recordGap records that messages may be lost.
func (c *sequences) recordGap(why string) {
	if c.gapReason == "" {
		c.gapReason = why
	}
	c.probes = nil
}

// subscribed records that a new subscription delivers the messages from now on.
func (c *sequences) subscribed() {
	for i := range c.parts {
		p := &c.parts[i]
		p.fresh, p.anyReceived = true, false
	}
	c.recordGap("new subscription")
}

// beforeRead is called before the latest numbers are read. Messages received after it may be up to these numbers or
// beyond.
func (c *sequences) beforeRead() {
	for i := range c.parts {
		c.parts[i].atRead = c.parts[i].received
	}
}

// restart continues from numbers that were read after `ask`, because rows will be read. A gap detected since `ask`
// stays recorded, because its messages may be newer than the numbers. Rows are then read again.
func (c *sequences) restart(now time.Duration, ends []shop.SequenceEnd) {
	for i := range c.parts {
		if ends[i].Away {
			continue
		}
		if !c.parts[i].restart(ends[i], now+c.within) {
			c.recordGap("a message is missing since the numbers were read")
		}
	}
}

// restart reports whether no message after the latest number can be lost.
func (p *sequence) restart(end shop.SequenceEnd, late time.Duration) bool {
	first, came := p.atRead, p.received != p.atRead
	if p.fresh {
		first, came = p.from, p.anyReceived
	}
	p.fresh, p.epoch = false, end.Epoch
	switch {
	case !came || end.Last >= p.received: // all received messages were published before the number was read
		p.received, p.late = end.Last, late
		return true
	case end.Last < first: // messages before the first received one are lost, or numbers went back
		return false
	default: // received messages continue beyond the number
		p.late = 0
		return true
	}
}

// received records a message whose changes are queued.
func (c *sequences) received(now time.Duration, partition int, before, number int64) {
	p := &c.parts[partition]
	switch {
	case p.fresh && !p.anyReceived:
		p.anyReceived, p.from, p.received = true, before, number
	case before == p.received:
		p.received, p.late = number, 0
	case number <= p.received && now < p.late: // late: rows were read after it was published
	default: // a message is lost or a number is repeated; its successors do not report this gap again
		p.from, p.received = before, number
		c.recordGap("a message is missing")
	}
}

// recordProbe records an instant of the database's clock and the latest numbers, read after it and after `ask`.
func (c *sequences) recordProbe(now time.Duration, at Cursor, atRead time.Duration, ends []shop.SequenceEnd) {
	if c.gapReason != "" {
		return
	}
	away := false
	for i := range c.parts {
		switch p := &c.parts[i]; {
		case ends[i].Away:
			away = true
		case p.fresh:
			c.recordGap("a partition is reachable again")
			return
		case ends[i].Epoch != p.epoch:
			c.recordGap("another epoch of Redis")
			return
		case ends[i].Last < max(p.atRead, c.lastEnd(i)):
			c.recordGap("message numbers went back")
			return
		}
	}
	if away {
		return
	}
	c.probes = append(c.probes, probe{at, atRead, ends, now + c.within})
}

// lastEnd returns the number of the partition in the newest unproven look; 0: no such look.
func (c *sequences) lastEnd(partition int) int64 {
	if len(c.probes) == 0 {
		return 0
	}
	return c.probes[len(c.probes)-1].ends[partition].Last
}

// proven returns the newest look whose numbers were all reached; false: none since the last call. Call it after each
// message and each look. An overdue look is a gap, even if its messages have arrived since.
func (c *sequences) proven(now time.Duration) (newest probe, ok bool) {
	if len(c.probes) > 0 && now > c.probes[0].until {
		c.recordGap(notReached)
	}
	for i := len(c.probes) - 1; i >= 0; i-- {
		if c.reached(c.probes[i].ends) {
			newest = c.probes[i]
			c.probes = c.probes[i+1:]
			return newest, true
		}
	}
	return probe{}, false
}

// notReached is the reason that may mean a half-dead subscription.
const notReached = "a message did not arrive in time"

func (c *sequences) reached(ends []shop.SequenceEnd) bool {
	for i := range c.parts {
		if c.parts[i].received < ends[i].Last {
			return false
		}
	}
	return true
}
