package sim

import (
	"net/http"
	"time"
)

// Options configures a simulator. The zero value is valid.
type Options struct {
	// Schedule contains the pauses between deliveries of a notification until the shop replies success; nil:
	// DefaultSchedule.
	Schedule []time.Duration
	Keys     *Keys            // nil: generated keys
	Now      func() time.Time // nil: time.Now
	// ListDelay is how long after a change a trade or refund appears in the lists.
	ListDelay time.Duration
}

// DefaultSchedule is the real schedule (4 m, 10 m, 10 m, 1 h, 2 h, 6 h, 15 h), 240 times as fast.
var DefaultSchedule = []time.Duration{
	time.Second, 2500 * time.Millisecond, 2500 * time.Millisecond, 15 * time.Second, 30 * time.Second, 90 * time.Second,
	225 * time.Second,
}

// Simulator is one gateway with one shop. Call New, send requests to ServeHTTP, then call Close.
type Simulator struct {
	keys      *Keys
	now       func() time.Time
	zone      *time.Location
	mux       *http.ServeMux
	book      *book
	faults    *faults
	deliverer *deliverer
	listDelay time.Duration
	bills     *bills
}

// New returns a simulator. It opens no listener: the caller serves it.
func New(o Options) (*Simulator, error) {
	zone, err := time.LoadLocation("Asia/Shanghai")
	if err != nil {
		return nil, err
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Schedule == nil {
		o.Schedule = DefaultSchedule
	}
	if o.Keys == nil {
		if o.Keys, err = NewKeys(); err != nil {
			return nil, err
		}
	}
	s := &Simulator{
		keys: o.Keys, now: o.Now, zone: zone, book: newBook(o.Now), faults: &faults{},
		deliverer: newDeliverer(o.Schedule),
		mux:       http.NewServeMux(), listDelay: o.ListDelay, bills: &bills{},
	}
	for pattern, handler := range s.routes() {
		s.mux.HandleFunc(pattern, handler)
	}
	return s, nil
}

// routes returns the handlers of all addresses.
func (s *Simulator) routes() map[string]http.HandlerFunc {
	return map[string]http.HandlerFunc{
		"POST /gateway.do":                   s.gateway,
		"GET /gateway.do":                    s.openCashier,
		"GET /qr/{token}":                    s.openScannedCode,
		"GET /cashier/{token}":               s.cashier,
		"POST /cashier/{token}/{press}":      s.handleButton,
		"GET /bill/{token}":                  s.billFile,
		"GET /assets/":                       http.FileServerFS(assets).ServeHTTP,
		"GET /admin/ledger":                  show(func() any { return s.Ledger() }),
		"POST /admin/trades/{order}/{press}": s.handleBuyerAction,
		"GET /admin/faults":                  show(func() any { return map[string]any{"faults": s.faults.all()} }),
		"POST /admin/faults":                 s.addFault,
		"DELETE /admin/faults":               s.dropFaults,
		"DELETE /admin/faults/{id}":          s.dropFault,
	}
}

// ServeHTTP implements http.Handler. Compressed bodies are rejected, never decoded.
func (s *Simulator) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Content-Encoding") != "" {
		http.Error(w, "send the body without an encoding", http.StatusUnsupportedMediaType)
		return
	}
	s.mux.ServeHTTP(w, r)
}

// Keys returns the ids and keys of the shop.
func (s *Simulator) Keys() *Keys { return s.keys }

// Close stops the delivery of notifications and waits until the current deliveries have ended.
func (s *Simulator) Close() { s.deliverer.close() }
