package rehearse

import (
	"time"

	"stampede/app"
)

// The verdicts.
const (
	Go   = "GO"
	NoGo = "NO-GO"
)

// Result is what a rehearsal came to.
type Result struct {
	Verdict   string        `json:"verdict"`
	Rehearsal app.Rehearsal `json:"rehearsal"`
	Target    string        `json:"target"`
	ForS      float64       `json:"for_s"`
	Checks    []Check       `json:"checks"`
	// NotRehearsed is what the verdict says nothing about.
	NotRehearsed []string `json:"not_rehearsed,omitempty"`

	Connect    Times `json:"connect"`     // handshake and hello
	FirstStock Times `json:"first_stock"` // from watch to the stock
	Pass       Times `json:"pass"`        // from asking for a pass to having it, work included
	Answer     Times `json:"answer"`      // from a press to its answer
	Order      Times `json:"order"`       // from a press to the order, as its shopper hears of it
	Expiry     Times `json:"expiry"`      // from the deadline of an unpaid order to its end

	Pressed    int              `json:"pressed"`    // repeats with the same key left out
	Reserved   int              `json:"reserved"`   // orders
	AnsweredS  int              `json:"answered_s"` // in the busiest second
	Refused    map[app.Code]int `json:"refused"`    // answers by code
	TurnedAway int              `json:"turned_away"`
	Lost       map[string]int   `json:"lost"`    // connections, by how they ended
	TicksS     float64          `json:"ticks_s"` // of the middle shopper in the busiest second

	Lag      int64            `json:"lag"`       // the longest of the partition
	Waiting  int64            `json:"waiting"`   // the most entries that waited for the database
	OldestMS int64            `json:"oldest_ms"` // the oldest of them
	Nodes    []NodeShare      `json:"nodes"`
	Audit    *app.AuditReport `json:"audit"`
}

// The states of a check.
const (
	OK   = "ok"
	Warn = "warn" // worth a look, and no reason to say no
	Fail = "fail"
)

// Check is one reason for the verdict.
type Check struct {
	Name     string  `json:"name"`
	State    string  `json:"state"`
	Measured float64 `json:"measured"`
	Limit    float64 `json:"limit,omitempty"` // 0: none, or nothing may be there
	Unit     string  `json:"unit,omitempty"`
	Says     string  `json:"says,omitempty"` // what is wrong
	Do       string  `json:"do,omitempty"`   // what to do about it
}

// within adds a check of a time that has to stay below its limit; 0 is no limit.
func (r *Result) within(name string, ms float64, limit time.Duration, do string) {
	if limit == 0 {
		return
	}
	c := Check{Name: name, State: OK, Measured: ms, Limit: float64(limit.Milliseconds()), Unit: "ms"}
	if ms > c.Limit {
		c.State, c.Do = Fail, do
	}
	r.Checks = append(r.Checks, c)
}

// atLeast adds a check of what must not be less; 0 is no limit.
func (r *Result) atLeast(name string, measured, least float64, unit, do string) {
	if least == 0 {
		return
	}
	c := Check{Name: name, State: OK, Measured: measured, Limit: least, Unit: unit}
	if measured < least {
		c.State, c.Do = Fail, do
	}
	r.Checks = append(r.Checks, c)
}

// none adds a check of what must not be at all.
func (r *Result) none(name string, found int, says, do string) {
	c := Check{Name: name, State: OK, Measured: float64(found)}
	if found > 0 {
		c.State, c.Says, c.Do = Fail, says, do
	}
	r.Checks = append(r.Checks, c)
}
