package load

// Result is what one scenario found.
type Result struct {
	Scenario string   `json:"scenario"`
	Sockets  int      `json:"sockets"`
	Rate     float64  `json:"rate,omitempty"` // ops a second that were sent by the clock; 0: a closed loop
	Seconds  float64  `json:"seconds"`        // over which was counted
	Ops      int64    `json:"ops"`            // ended in that time; for fanout, frames
	PerSec   float64  `json:"per_second"`
	Latency  *Latency `json:"latency,omitempty"` // press to answer; for fanout, the age of a tick on arrival
	Order    *Latency `json:"order,omitempty"`   // press to order event

	// Figures has what only some scenarios find, each name with its unit.
	Figures map[string]float64 `json:"figures,omitempty"`

	// buys answered with reserved, over all that the crowd did so far
	Reserved int            `json:"reserved,omitempty"`
	Orders   int            `json:"orders,omitempty"`   // order events heard by then
	Refusals map[string]int `json:"refusals,omitempty"` // by error code
	Losses   map[string]int `json:"losses,omitempty"`   // connections that ended, by reason
	Failures []string       `json:"failures,omitempty"` // checks that failed; none means that all held
}

func (r *Result) figure(name string, value float64) {
	if r.Figures == nil {
		r.Figures = make(map[string]float64)
	}
	r.Figures[name] = value
}

func (r *Result) fail(what string) { r.Failures = append(r.Failures, what) }

// took fills in what some pressing found.
func (r *Result) took(p *pressed) {
	r.Ops, r.Seconds = p.Ops, p.Seconds
	if r.Seconds > 0 {
		r.PerSec = float64(r.Ops) / r.Seconds
	}
	r.Latency, r.Order = p.Answers.latency(), p.Orders.latency()
}
