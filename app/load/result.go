package load

// Result is the result of one scenario.
type Result struct {
	Scenario string   `json:"scenario"`
	Sockets  int      `json:"sockets"`
	Rate     float64  `json:"rate,omitempty"` // ops per second of an open loop; 0: closed loop
	Seconds  float64  `json:"seconds"`        // measured time
	Ops      int64    `json:"ops"`            // number of ops that ended in that time; for fanout, of received frames
	PerSec   float64  `json:"per_second"`
	Latency  *Latency `json:"latency,omitempty"` // from op to reply; for fanout, the age of a tick on arrival
	Order    *Latency `json:"order,omitempty"`   // from op to order event

	// Figures contains values of single scenarios. Each name includes the unit.
	Figures map[string]float64 `json:"figures,omitempty"`

	// Reserved counts buys whose reply has the state `reserved`, in all scenarios of the run so far.
	Reserved int            `json:"reserved,omitempty"`
	Orders   int            `json:"orders,omitempty"`   // distinct orders received so far
	Refusals map[string]int `json:"refusals,omitempty"` // refused ops by error code
	Losses   map[string]int `json:"losses,omitempty"`   // lost connections by reason
	Failures []string       `json:"failures,omitempty"` // failed checks; empty on success
}

func (r *Result) setFigure(name string, value float64) {
	if r.Figures == nil {
		r.Figures = make(map[string]float64)
	}
	r.Figures[name] = value
}

func (r *Result) fail(message string) { r.Failures = append(r.Failures, message) }

// setMeasured sets the fields that come from a workResult.
func (r *Result) setMeasured(p *workResult) {
	r.Ops, r.Seconds = p.Ops, p.Seconds
	if r.Seconds > 0 {
		r.PerSec = float64(r.Ops) / r.Seconds
	}
	r.Latency, r.Order = p.Replies.latency(), p.Orders.latency()
}
