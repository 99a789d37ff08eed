package app

import (
	"maps"
	"time"
)

// soldOutFlag is what a node knows of one sale that sold out. The buyers are kept while the flag is down: when the
// units that came back are gone again, only later ones are read.
type soldOutFlag struct {
	sale    SaleRef
	wanted  time.Time // the last time that a buyer was turned away
	read    time.Time // when the newest read began that has answered
	until   time.Time // the flag counts until then; zero while it is down
	raising bool      // buyers are being read
	known   BuyersMark
	buyers  map[ID]struct{} // everyone up to the mark
}

// confirm takes counters of a read that began at the instant given: it keeps the flag up or takes it down. It reports
// whether the sale is sold out and its buyers have to be read before the flag may go up.
func (f *soldOutFlag) confirm(began time.Time, c Counters) (unknown bool) {
	if began.Before(f.read) {
		return false // a later read was faster
	}
	f.read, f.until = began, time.Time{}
	switch {
	case !c.Loaded, c.Epoch != f.known.Epoch, c.Tickets < f.known.Tickets:
		f.known, f.buyers = BuyersMark{}, nil // another history
	case c.Stock == 0 && c.Tickets == f.known.Tickets:
		f.until = began.Add(FlagLife)
	}
	return c.Loaded && c.Stock == 0 && f.until.IsZero()
}

// learn takes buyers that were read from the instant given on, since the mark, and raises the flag if nothing is left.
func (f *soldOutFlag) learn(began time.Time, since BuyersMark, b Buyers, users map[ID]struct{}) {
	switch {
	case b.All:
		f.buyers = users
	case f.known == since:
		maps.Copy(f.buyers, users)
	default:
		return // they follow others than those who are known now
	}
	f.known = b.Mark
	if began.After(f.read) {
		f.read = began
	}
	if b.Loaded && b.Stock == 0 {
		f.until = began.Add(FlagLife)
	}
}

// turnsAway reports whether the flag counts and does not know the user.
func (f *soldOutFlag) turnsAway(user ID, now time.Time) bool {
	_, bought := f.buyers[user]
	return !bought && now.Before(f.until)
}
