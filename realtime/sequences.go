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
	within time.Duration // time limit for a message after its number was read
	parts  []chain
	looks  []look // not proven yet, oldest first
	broken string // why rows must be read; "": no gap
}

// chain is the state of one partition.
type chain struct {
	epoch    int64
	received int64         // number of the last received message, or the number up to which rows were read
	asked    int64         // value of received when the latest numbers were last read
	late     time.Duration // until then, messages up to received may still arrive: their rows were already read

	// The start of a new subscription is unknown until the latest numbers are read.
	fresh bool
	some  bool  // a message was received
	from  int64 // number before the first message
}

// look is an instant of the database's clock, with the latest message numbers that were read after it.
type look struct {
	at    Cursor
	asked time.Duration // when the clock was read, since Hub.began
	ends  []shop.SequenceEnd
	until time.Duration
}

func newSequences(partitions int, within time.Duration) sequences {
	return sequences{within: within, parts: make([]chain, partitions)}
}

// breakOff records that messages may be lost.
func (c *sequences) breakOff(why string) {
	if c.broken == "" {
		c.broken = why
	}
	c.looks = nil
}

// subscribed records that a new subscription delivers the messages from now on.
func (c *sequences) subscribed() {
	for i := range c.parts {
		p := &c.parts[i]
		p.fresh, p.some = true, false
	}
	c.breakOff("new subscription")
}

// ask is called before the latest numbers are read. Messages received after it may be up to these numbers or beyond.
func (c *sequences) ask() {
	for i := range c.parts {
		c.parts[i].asked = c.parts[i].received
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
			c.breakOff("a message is missing since the numbers were read")
		}
	}
}

// restart reports whether no message after the latest number can be lost.
func (p *chain) restart(end shop.SequenceEnd, late time.Duration) bool {
	first, came := p.asked, p.received != p.asked
	if p.fresh {
		first, came = p.from, p.some
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
	case p.fresh && !p.some:
		p.some, p.from, p.received = true, before, number
	case before == p.received:
		p.received, p.late = number, 0
	case number <= p.received && now < p.late: // late: rows were read after it was published
	default: // a message is lost or a number is repeated; its successors do not report this gap again
		p.from, p.received = before, number
		c.breakOff("a message is missing")
	}
}

// looked records an instant of the database's clock and the latest numbers, read after it and after `ask`.
func (c *sequences) looked(now time.Duration, at Cursor, asked time.Duration, ends []shop.SequenceEnd) {
	if c.broken != "" {
		return
	}
	away := false
	for i := range c.parts {
		switch p := &c.parts[i]; {
		case ends[i].Away:
			away = true
		case p.fresh:
			c.breakOff("a partition is reachable again")
			return
		case ends[i].Epoch != p.epoch:
			c.breakOff("another epoch of Redis")
			return
		case ends[i].Last < max(p.asked, c.lastEnd(i)):
			c.breakOff("message numbers went back")
			return
		}
	}
	if away {
		return
	}
	c.looks = append(c.looks, look{at, asked, ends, now + c.within})
}

// lastEnd returns the number of the partition in the newest unproven look; 0: no such look.
func (c *sequences) lastEnd(partition int) int64 {
	if len(c.looks) == 0 {
		return 0
	}
	return c.looks[len(c.looks)-1].ends[partition].Last
}

// proven returns the newest look whose numbers were all reached; false: none since the last call. Call it after each
// message and each look. An overdue look is a gap, even if its messages have arrived since.
func (c *sequences) proven(now time.Duration) (newest look, ok bool) {
	if len(c.looks) > 0 && now > c.looks[0].until {
		c.breakOff(notReached)
	}
	for i := len(c.looks) - 1; i >= 0; i-- {
		if c.reached(c.looks[i].ends) {
			newest = c.looks[i]
			c.looks = c.looks[i+1:]
			return newest, true
		}
	}
	return look{}, false
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
