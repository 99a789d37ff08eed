package sim

import (
	"fmt"
	"slices"
	"sync"
	"time"
)

// Kind is the kind of a fault. The package documentation describes all kinds.
type Kind string

const (
	NotifyDuplicate Kind = "notify_duplicate"
	NotifyDelay     Kind = "notify_delay"
	NotifyReorder   Kind = "notify_reorder"
	NotifyLose      Kind = "notify_lose"
	NotifyAmount    Kind = "notify_amount"
	NotifyApp       Kind = "notify_app"
	NotifySignature Kind = "notify_signature"
	NotifyCert      Kind = "notify_cert"
	NotifyGBK       Kind = "notify_gbk"

	PaidAfterClose    Kind = "paid_after_close"
	PaidBeforeClose   Kind = "paid_before_close"
	ErrorAfterSuccess Kind = "error_though_done"
	Lost              Kind = "lost"
	Garbage           Kind = "garbage"
	InvalidSignature  Kind = "answer_signature"
	Down              Kind = "down"
	Slow              Kind = "slow"
	NotPermitted      Kind = "not_permitted"
)

// Kinds lists all faults.
var Kinds = []Kind{
	NotifyDuplicate, NotifyDelay, NotifyReorder, NotifyLose, NotifyAmount, NotifyApp, NotifySignature, NotifyCert,
	NotifyGBK, PaidAfterClose, PaidBeforeClose, ErrorAfterSuccess, Lost, Garbage, InvalidSignature, Down, Slow,
	NotPermitted,
}

// maxDelay is the maximum delay. It limits the effect of a typing error.
const maxDelay = time.Hour

// Fault is one active fault.
type Fault struct {
	ID      int64  `json:"id"`
	Kind    Kind   `json:"kind"`
	Order   string `json:"order,omitempty"`    // empty: all orders
	Method  string `json:"method,omitempty"`   // method of a call, like alipay.trade.close; empty: all methods
	Times   int    `json:"times,omitempty"`    // remaining number of uses; 0: until it is deleted
	DelayMS int64  `json:"delay_ms,omitempty"` // notify_delay, slow
}

func (f *Fault) delay() time.Duration { return time.Duration(f.DelayMS) * time.Millisecond }

type faults struct {
	mu   sync.Mutex
	last int64
	list []Fault
}

// Inject activates a fault and returns it with its id.
func (s *Simulator) Inject(f Fault) (Fault, error) {
	if !slices.Contains(Kinds, f.Kind) {
		return Fault{}, fmt.Errorf("kind %q: want one of %v", f.Kind, Kinds)
	}
	if f.Times < 0 || f.DelayMS < 0 || f.delay() > maxDelay {
		return Fault{}, fmt.Errorf("times and delay_ms must not be negative, nor delay_ms more than %v", maxDelay)
	}
	s.faults.mu.Lock()
	defer s.faults.mu.Unlock()
	s.faults.last++
	f.ID = s.faults.last
	s.faults.list = append(s.faults.list, f)
	return f, nil
}

// RemoveFaults removes all faults.
func (s *Simulator) RemoveFaults() {
	s.faults.mu.Lock()
	defer s.faults.mu.Unlock()
	s.faults.list = nil
}

// removeFault removes one fault.
func (s *Simulator) removeFault(id int64) (found bool) {
	s.faults.mu.Lock()
	defer s.faults.mu.Unlock()
	before := len(s.faults.list)
	s.faults.list = slices.DeleteFunc(s.faults.list, func(f Fault) bool { return f.ID == id })
	return len(s.faults.list) < before
}

func (f *faults) all() []Fault {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]Fault{}, f.list...)
}

// take returns an active fault of the kind for this order and method, if any, and counts its use.
func (f *faults) take(kind Kind, order, method string) (Fault, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i := range f.list {
		fault := &f.list[i]
		if fault.Kind != kind || fault.Order != "" && fault.Order != order || fault.Method != "" &&
			fault.Method != method {
			continue
		}
		taken := *fault
		if fault.Times > 0 {
			if fault.Times--; fault.Times == 0 {
				f.list = slices.Delete(f.list, i, i+1)
			}
		}
		return taken, true
	}
	return Fault{}, false
}
