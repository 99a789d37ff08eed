package rehearse

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	"stampede/app"
	"stampede/app/wsclient"
)

const (
	// regrets is the share of orders that are cancelled; the rest runs out of time.
	regrets = 0.2
	// regretWithin is how long after its order a shopper cancels it, at most.
	regretWithin = 3 * time.Second
	// dialPatience is how long a shopper tries to come in: nodes know of the rehearsal after half a second.
	dialPatience = 20 * time.Second
	silence      = 60 * time.Second
	shortRest    = 100 * time.Millisecond
)

// shopper is one simulated person on one socket.
type shopper struct {
	seen *measures

	number int
	token  string
	sale   app.ID
	asks   bool // a buy must show a pass

	conn *wsclient.Conn
	free chan struct{} // a unit may be free
	over chan struct{} // an order of this shopper has ended

	mu      sync.Mutex
	left    bool // the connection ended, and was counted
	stock   int64
	pressed map[string]time.Time // by key, until the order is heard of
	ticks   map[int64]int        // by the second of this machine's clock
}

func newShopper(m *measures, number int, token string, sale app.ID) *shopper {
	return &shopper{
		seen: m, number: number, token: token, sale: sale, free: make(chan struct{}, 1), over: make(chan struct{}, 1),
		pressed: make(map[string]time.Time), ticks: make(map[int64]int),
	}
}

// arrive opens the socket, says hello and watches the sale. Handshakes that are refused for the moment are tried again.
func (s *shopper) arrive(ctx context.Context, o *Options) error {
	until := time.Now().Add(dialPatience)
	for {
		err := s.dial(ctx, o)
		if err == nil {
			return s.watch()
		}
		if ctx.Err() != nil || time.Now().After(until) {
			return err
		}
		s.seen.note(func(m *measures) { m.turnedAway++ })
		app.Sleep(ctx, shortRest+rand.N(400*time.Millisecond))
	}
}

func (s *shopper) dial(ctx context.Context, o *Options) error {
	dialer := wsclient.Dialer{Heard: s.heard, Ticket: s.token, TLS: o.TLS, Silence: silence}
	began := time.Now()
	conn, err := dialer.Dial(ctx, o.Target)
	if err != nil {
		return err
	}
	if _, err := conn.Hello(s.token, ""); err != nil {
		conn.Close()
		return fmt.Errorf("hello: %w", err)
	}
	s.seen.note(func(m *measures) { m.connect = append(m.connect, time.Since(began)) })
	s.conn = conn
	return nil
}

func (s *shopper) watch() error {
	var began time.Time
	err := s.conn.Patiently(func() error {
		began = time.Now() // a refusal is no stock
		view, err := s.conn.Watch(0, s.sale)
		if err == nil && len(view.Sales) == 1 {
			s.mu.Lock()
			s.stock, s.asks = view.Sales[0].Stock, view.Sales[0].Pass
			s.mu.Unlock()
		}
		return err
	}, app.Busy, app.NotFound, app.RateLimited) // the catalogue of a node is up to a second old
	if err != nil {
		return fmt.Errorf("watch: %w", err)
	}
	s.seen.note(func(m *measures) { m.firstStock = append(m.firstStock, time.Since(began)) })
	return nil
}

// tick takes in new numbers.
func (s *shopper) tick(lines []wsclient.TickLine) {
	s.mu.Lock()
	s.ticks[time.Now().Unix()]++
	for _, line := range lines {
		if line.ID == s.sale {
			s.stock = line.Stock
		}
	}
	free := s.stock > 0
	s.mu.Unlock()
	if free {
		stir(s.free)
	}
}

// heard takes in what comes, on the goroutine that reads.
func (s *shopper) heard(f *wsclient.Frame) {
	switch e := f.Event.(type) {
	case *wsclient.TickEvent:
		s.tick(e.Sales)
	case *wsclient.OrderEvent:
		s.mu.Lock()
		at, known := s.pressed[e.Key]
		s.mu.Unlock()
		waited := time.Duration(0)
		if known {
			waited = time.Since(at)
		}
		s.seen.heard(&e.Order, waited)
		if e.Order.State != app.Pending {
			stir(s.over)
		}
	}
}

// stir wakes whoever waits, or who waits next.
func stir(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// shop presses from its moment on, until the sale has closed or this shopper has bought as often as the sale allows.
func (s *shopper) shop(ctx context.Context, first time.Duration) {
	if !app.Sleep(ctx, first) {
		return
	}
	for n := 0; ctx.Err() == nil; n++ {
		order, err := s.press(ctx, fmt.Sprintf("rehearsal-%d-%d", s.number, n))
		switch wsclient.CodeOf(err) {
		case app.SoldOut:
			s.rest(ctx, s.free)
			continue
		case app.NotOpen, app.Paused:
			app.Sleep(ctx, shortRest)
			continue
		}
		if err != nil {
			return // the sale has closed, the limit is reached, the connection is gone, or nothing that waiting mends
		}
		if rand.Float64() < regrets && app.Sleep(ctx, rand.N(regretWithin)) {
			s.cancel(order)
		}
		s.rest(ctx, s.over)
	}
}

// rest waits until something has changed, and a moment longer: people do not react in one instant.
func (s *shopper) rest(ctx context.Context, changed <-chan struct{}) {
	select {
	case <-ctx.Done():
	case <-changed:
		app.Sleep(ctx, shortRest+rand.N(900*time.Millisecond))
	}
}

// press is one press of Buy, repeated with its key while the outcome is unknown (I6).
func (s *shopper) press(ctx context.Context, key string) (app.ID, error) {
	pass, err := s.getPass()
	if err != nil {
		return 0, err
	}
	began := time.Now()
	s.mu.Lock()
	s.pressed[key] = began
	s.mu.Unlock()
	s.seen.note(func(m *measures) { m.pressed++ })
	for {
		asked := time.Now()
		receipt, err := s.conn.BuyWith(pass, s.sale, 1, key)
		code := wsclient.CodeOf(err)
		if err != nil && code == "" {
			s.gone()
			return 0, err
		}
		s.seen.answered(code, time.Since(asked))
		switch code {
		case "":
			s.seen.reserved(receipt.Order)
			return receipt.Order, nil
		case app.Busy, app.RateLimited:
			if !app.Sleep(ctx, retryOf(err)) {
				return 0, ctx.Err()
			}
		default:
			return 0, err
		}
	}
}

func retryOf(err error) time.Duration {
	var e *app.Error
	if errors.As(err, &e) && e.RetryMS > 0 {
		return time.Duration(e.RetryMS) * time.Millisecond
	}
	return shortRest
}

// getPass gets a pass where the sale asks for one. A picture cannot be read by a program.
func (s *shopper) getPass() (pass string, err error) {
	if !s.asks {
		return "", nil
	}
	began := time.Now()
	err = s.conn.Patiently(func() error {
		pass, err = s.conn.GetPass(s.sale)
		return err
	}, app.Busy, app.RateLimited, app.NotOpen)
	switch {
	case errors.Is(err, errors.ErrUnsupported):
		s.seen.note(func(m *measures) { m.unsupported++ })
	case err != nil && wsclient.CodeOf(err) == "":
		s.gone()
	case err != nil:
		s.seen.note(func(m *measures) { m.answers[wsclient.CodeOf(err)]++ })
	default:
		s.seen.note(func(m *measures) { m.pass = append(m.pass, time.Since(began)) })
	}
	return pass, err
}

// cancel gives an order up. One that has expired meanwhile, or is cancelled, is as good.
func (s *shopper) cancel(order app.ID) {
	_, err := s.conn.Cancel(order)
	switch code := wsclient.CodeOf(err); {
	case err == nil, code == app.OrderExpired, code == app.Busy, code == app.WrongState:
	case code == "":
		s.gone()
	default:
		s.seen.note(func(m *measures) { m.answers[code]++ })
	}
}

// lookAfter counts a connection that has ended while its shopper only listened.
func (s *shopper) lookAfter() {
	if s.conn != nil && s.conn.Err() != nil {
		s.gone()
	}
}

// gone notes, once, that the connection ended while its shopper was there.
func (s *shopper) gone() {
	s.mu.Lock()
	known := s.left
	s.left = true
	s.mu.Unlock()
	if known {
		return
	}
	why := "silent"
	if err := s.conn.Err(); err != nil {
		why = reasonOf(err)
	}
	s.seen.note(func(m *measures) { m.lost[why]++ })
}

// reasonOf is a short word for the end of a connection, of few kinds.
func reasonOf(err error) string {
	if code := wsclient.CloseCode(err); code != 0 {
		return fmt.Sprintf("closed with %d", code)
	}
	if strings.Contains(err.Error(), "timeout") {
		return "nothing came"
	}
	return "ended"
}

// leave closes the socket.
func (s *shopper) leave() {
	if s.conn != nil {
		s.conn.Close()
	}
}

// busiestSecond is how many ticks came in the second in which most did.
func (s *shopper) busiestSecond() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return busiest(s.ticks)
}
