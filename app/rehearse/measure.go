package rehearse

import (
	"slices"
	"sync"
	"time"

	"stampede/app"
)

// Times is a distribution, in milliseconds; of how many.
type Times struct {
	N   int     `json:"n"`
	P50 float64 `json:"p50_ms"`
	P99 float64 `json:"p99_ms"`
	Max float64 `json:"max_ms"`
}

// times collects durations.
type times []time.Duration

func (t times) quantile(q float64) float64 {
	return float64(t[min(len(t)-1, int(q*float64(len(t))))].Microseconds()) / 1000
}

func (t times) sum() Times {
	if len(t) == 0 {
		return Times{}
	}
	slices.Sort(t)
	return Times{N: len(t), P50: t.quantile(0.5), P99: t.quantile(0.99), Max: t.quantile(1)}
}

// measures is what the crowd has met. Shoppers write to it side by side.
type measures struct {
	mu sync.Mutex

	connect, firstStock, pass, answer, order, expiry times

	pressed     int              // presses of Buy, repeats with the same key left out
	answers     map[app.Code]int // refusals by code; "" for what was reserved
	turnedAway  int              // handshakes that were refused and tried again
	lost        map[string]int   // connections that ended before their shopper left, by reason
	unsupported int              // presses that were not made because a picture came first
	bySecond    map[int64]int    // answered buys by the second of this machine's clock

	orders map[app.ID]*fate // what was reserved
}

// fate is what became of a reservation.
type fate struct {
	state app.OrderState // the newest that its shopper has heard of; "" while nothing is known but the reservation
	rev   int
}

func newMeasures() *measures {
	return &measures{
		answers: make(map[app.Code]int), lost: make(map[string]int), bySecond: make(map[int64]int),
		orders: make(map[app.ID]*fate),
	}
}

// note changes the measures under their lock.
func (m *measures) note(change func(m *measures)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	change(m)
}

// answered counts an answer to a press.
func (m *measures) answered(code app.Code, took time.Duration) {
	m.note(func(m *measures) {
		m.answers[code]++
		m.answer = append(m.answer, took)
		m.bySecond[time.Now().Unix()]++
	})
}

func (m *measures) fateOf(order app.ID) *fate {
	f := m.orders[order]
	if f == nil {
		f = &fate{}
		m.orders[order] = f
	}
	return f
}

// reserved notes a reservation, which its order event may have overtaken.
func (m *measures) reserved(order app.ID) { m.note(func(m *measures) { m.fateOf(order) }) }

// heard notes what has become of an order; waited is since its press, 0: not known.
func (m *measures) heard(o *app.Order, waited time.Duration) {
	m.note(func(m *measures) {
		f := m.fateOf(o.ID)
		if o.Rev <= f.rev {
			return
		}
		if f.rev == 0 && waited > 0 {
			m.order = append(m.order, waited)
		}
		f.state, f.rev = o.State, o.Rev
		if o.State == app.Expired {
			m.expiry = append(m.expiry, max(0, o.CancelledAt.Sub(o.PayBy)))
		}
	})
}

// unsettled counts reservations that nobody has heard more of, and orders that have not ended.
func (m *measures) unsettled() (silent, unpaid int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, f := range m.orders {
		switch f.state {
		case "", app.Reserved:
			silent++
		case app.Pending:
			unpaid++
		}
	}
	return silent, unpaid
}

// busiest is the most that happened in one second.
func busiest(bySecond map[int64]int) int {
	most := 0
	for _, n := range bySecond {
		most = max(most, n)
	}
	return most
}
