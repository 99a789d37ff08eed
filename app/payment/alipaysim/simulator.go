package alipaysim

import (
	"net/http"
	"time"
)

// Options are what can be chosen. The zero value is good.
type Options struct {
	// Schedule holds the pauses before the second and each further delivery of a notification that was not answered
	// with success; nil: DefaultSchedule.
	Schedule []time.Duration
	Keys     *Keys            // nil: new ones
	Now      func() time.Time // nil: time.Now
}

// DefaultSchedule is the real one (4 m, 10 m, 10 m, 1 h, 2 h, 6 h, 15 h), 240 times as fast.
var DefaultSchedule = []time.Duration{
	time.Second, 2500 * time.Millisecond, 2500 * time.Millisecond,
	15 * time.Second, 30 * time.Second, 90 * time.Second, 225 * time.Second,
}

// Simulator is one gateway with one shop. Its life: New, requests through ServeHTTP, Close.
type Simulator struct {
	keys   *Keys
	now    func() time.Time
	zone   *time.Location
	mux    *http.ServeMux
	book   *book
	faults *faults
	post   *postman
}

// New makes a simulator. It listens nowhere by itself: serve it.
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
	s := &Simulator{keys: o.Keys, now: o.Now, zone: zone, book: newBook(o.Now), faults: &faults{}}
	s.post = newPostman(o.Schedule)
	s.routes()
	return s, nil
}

func (s *Simulator) routes() {
	s.mux = http.NewServeMux()
	s.mux.HandleFunc("POST /gateway.do", s.gateway)
	s.mux.HandleFunc("GET /gateway.do", s.arrive)
	s.mux.HandleFunc("GET /qr/{token}", s.scanned)
	s.mux.HandleFunc("GET /cashier/{token}", s.cashier)
	s.mux.HandleFunc("POST /cashier/{token}/{press}", s.pressed)
	s.mux.Handle("GET /assets/", http.FileServerFS(assets))
	s.mux.HandleFunc("GET /admin/ledger", s.showLedger)
	s.mux.HandleFunc("POST /admin/trades/{order}/{press}", s.act)
	s.mux.HandleFunc("GET /admin/faults", s.showFaults)
	s.mux.HandleFunc("POST /admin/faults", s.addFault)
	s.mux.HandleFunc("DELETE /admin/faults", s.dropFaults)
	s.mux.HandleFunc("DELETE /admin/faults/{id}", s.dropFault)
}

// ServeHTTP implements http.Handler.
func (s *Simulator) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.mux.ServeHTTP(w, r) }

// Keys are what the shop needs to know.
func (s *Simulator) Keys() *Keys { return s.keys }

// Close stops delivering notifications and waits until none is under way.
func (s *Simulator) Close() { s.post.close() }
