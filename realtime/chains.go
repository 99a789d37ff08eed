package realtime

import (
	"time"

	"stampede/app/shop"
)

// chains records which messages of all partitions this node has received, and what that proves. It only holds state:
// callers read Redis and the database and pass the results, with the time since the hub began.
//
//	subscribed ─ ask ─ restart ─┬─ heard … ask ─ looked ─ proven …   as long as nothing is missing
//	     ▲           ▲          │
//	     └───────────┴──────────┴─ broken: messages may be lost; rows have to be read, from ask on again
//
// Each message of a partition names its predecessor, so the next message shows a loss. The ends of the chains, read
// after the database's clock, show whether the last ones came: when every end is reached, that instant is proven.
// A partition that is away has no end: nothing is proven then, and its new subscription breaks again when it is back.
type chains struct {
	within time.Duration // for a message to come after its number was read
	parts  []chain
	looks  []look // whose ends are not all heard yet, the oldest first
	broken string // why rows have to be read; "" when they need not
}

// chain is one partition.
type chain struct {
	epoch int64
	heard int64         // number of the last message that came, or up to which rows were read
	asked int64         // heard, when the ends were last asked for
	late  time.Duration // until then messages up to heard may come: rows were read before they did

	// Of a new subscription nobody knows where it begins until the ends have been asked for.
	fresh bool
	some  bool  // a message has come
	from  int64 // the number before the first one
}

// look is an instant of the database's clock and the ends of the chains that were read after it.
type look struct {
	at    Cursor
	asked time.Duration // when the clock was asked
	ends  []shop.ChainEnd
	until time.Duration
}

func newChains(partitions int, within time.Duration) chains {
	return chains{within: within, parts: make([]chain, partitions)}
}

// breakOff notes that messages may be lost.
func (c *chains) breakOff(why string) {
	if c.broken == "" {
		c.broken = why
	}
	c.looks = nil
}

// subscribed notes that messages come by a new subscription from here on.
func (c *chains) subscribed() {
	for i := range c.parts {
		p := &c.parts[i]
		p.fresh, p.some = true, false
	}
	c.breakOff("subscribed anew")
}

// ask precedes reading the ends of the chains: later messages may be before or behind them.
func (c *chains) ask() {
	for i := range c.parts {
		c.parts[i].asked = c.parts[i].heard
	}
}

// restart continues from ends that were read after ask, because rows will be read. A gap since ask may have been
// published after the end: then it remains, and rows are read once more.
func (c *chains) restart(now time.Duration, ends []shop.ChainEnd) {
	for i := range c.parts {
		if ends[i].Away {
			continue
		}
		if !c.parts[i].restart(ends[i], now+c.within) {
			c.breakOff("lost while rows were to be read")
		}
	}
}

// restart reports whether nothing behind the end can be lost.
func (p *chain) restart(end shop.ChainEnd, late time.Duration) bool {
	first, came := p.asked, p.heard != p.asked
	if p.fresh {
		first, came = p.from, p.some
	}
	p.fresh, p.epoch = false, end.Epoch
	switch {
	case !came || end.Told >= p.heard: // all that came was published before the end was read
		p.heard, p.late = end.Told, late
		return true
	case end.Told < first: // some between the end and the first that came are lost, or numbers have gone back
		return false
	default: // they go on behind the end
		p.late = 0
		return true
	}
}

// heard takes the number of a message; its changes have been delivered.
func (c *chains) heard(now time.Duration, partition int, before, number int64) {
	p := &c.parts[partition]
	switch {
	case p.fresh && !p.some:
		p.some, p.from, p.heard = true, before, number
	case before == p.heard:
		p.heard, p.late = number, 0
	case number <= p.heard && now < p.late: // rows were read after it was published
	default: // one before it is lost, or the number comes again; what follows it does not break anything anew
		p.from, p.heard = before, number
		c.breakOff("a message is missing")
	}
}

// looked takes an instant of the database's clock and the ends that were read after it and after ask.
func (c *chains) looked(now time.Duration, at Cursor, asked time.Duration, ends []shop.ChainEnd) {
	if c.broken != "" {
		return
	}
	away := false
	for i := range c.parts {
		switch p := &c.parts[i]; {
		case ends[i].Away:
			away = true
		case p.fresh:
			c.breakOff("a partition is back")
			return
		case ends[i].Epoch != p.epoch:
			c.breakOff("another epoch of Redis")
			return
		case ends[i].Told < max(p.asked, c.lastEnd(i)):
			c.breakOff("the numbers of messages went back")
			return
		}
	}
	if away {
		return
	}
	c.looks = append(c.looks, look{at, asked, ends, now + c.within})
}

// lastEnd is the end of a partition at the last look that is not proven yet.
func (c *chains) lastEnd(partition int) int64 {
	if len(c.looks) == 0 {
		return 0
	}
	return c.looks[len(c.looks)-1].ends[partition].Told
}

// proven returns the newest look whose ends were all reached; false: none since. Call it after each message and look:
// a look that is overdue breaks the chains, whatever has come since.
func (c *chains) proven(now time.Duration) (newest look, ok bool) {
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

// notReached is the reason that may mean that the subscription is half dead.
const notReached = "a message did not come in time"

func (c *chains) reached(ends []shop.ChainEnd) bool {
	for i := range c.parts {
		if c.parts[i].heard < ends[i].Told {
			return false
		}
	}
	return true
}
