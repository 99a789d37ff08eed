// Package attack contains scripted attackers that compete with honest shoppers for the units of one sale. Tests run
// them against a node and check how much each attacker gets.
package attack

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"stampede/app/order"
	"stampede/app/shop"
	"stampede/app/wsclient"
)

// Options describe the competition for one sale.
type Options struct {
	Address  string        // host:port of the server
	Sale     shop.Sale     // opens soon; passes and proofs of work are requested before the opening
	Other    shop.Sale     // another sale with the same challenge; Prepared uses passes of it
	Honest   int           // honest shoppers, each with its own address
	Accounts int           // accounts of the attacker
	Requests int           // requests of the attacker after which its script may stop; 0: it runs to its end
	For      time.Duration // limit after the opening
	Persist  bool          // honest shoppers wait for returned units after SoldOut
	Pictures rate.Limit    // captchas per second that are solved for the attacker

	Token func() string                              // returns the token of a new user
	Read  func(task string) (answer string, _ error) // solves the captcha of a task
}

// Result contains the outcome for both sides.
type Result struct {
	Theirs   int     // reservations of the attacker
	Honest   int     // honest shoppers with a reservation
	Share    float64 // the attacker's share of all reservations
	Work     float64 // the attacker's share of the expected hashes of all solved tasks
	Pictures int     // captchas solved for the attacker
	Sent     int     // requests of the attacker
	Blocked  int     // accounts of the attacker without a socket when the sale opened

	Refused  map[shop.Code]int // requests of the attacker by error code
	Failures []error
}

// Attacker is a script. It starts its bots and returns.
type Attacker func(b *battle)

// battle is the state of one competition.
type battle struct {
	Options
	ctx    context.Context
	opens  time.Time
	reader *rate.Limiter // limits the captchas solved for the attacker

	honest  []*shopper
	bots    []*shopper
	passes  chan recorded // requests of honest shoppers that the attacker recorded
	running sync.WaitGroup
	enough  chan struct{} // closed after Options.Requests requests

	mu     sync.Mutex
	result Result
	theirs map[shop.ID]bool // orders
	work   [2]float64       // expected hashes of solved tasks: of honest shoppers, of the attacker
}

// recorded is a request of an honest shopper as read on the network.
type recorded struct{ pass, key string }

// Run lets honest shoppers and the attacker compete for the sale. It returns when all honest shoppers have a
// reservation or have given up, and the attacker's script has ended or sent enough requests. An error means that there
// is no result.
func Run(ctx context.Context, attacker Attacker, o Options) (Result, error) {
	opens := o.Sale.OpensAt.Time()
	ctx, cancel := context.WithDeadline(ctx, opens.Add(o.For))
	defer cancel()
	b := &battle{
		Options: o, ctx: ctx, opens: opens, reader: rate.NewLimiter(o.Pictures, 1),
		passes: make(chan recorded, o.Honest), enough: make(chan struct{}), theirs: make(map[shop.ID]bool),
		result: Result{Refused: make(map[shop.Code]int)},
	}
	defer b.leave()
	for i := range o.Honest {
		b.honest = append(b.honest, b.newShopper(honestAddress(i)))
	}
	if err := b.arrive(ctx, b.honest); err != nil {
		return Result{}, fmt.Errorf("connect %d shoppers: %w", o.Honest, err)
	}
	if err := b.awaitSales(); err != nil {
		return Result{}, err
	}
	var shopping sync.WaitGroup
	for _, s := range b.honest {
		shopping.Go(s.shop)
	}
	attacker(b)
	ended := make(chan struct{})
	go func() { defer close(ended); b.running.Wait() }()
	shopping.Wait()
	select {
	case <-b.enough:
	case <-ended:
	case <-ctx.Done():
	}
	cancel()
	<-ended
	return b.outcome(), nil
}

// awaitSales waits until the server has loaded the sales: its catalogue is up to a second old.
func (b *battle) awaitSales() error {
	conn := b.honest[0].conn
	err := conn.Patiently(func() error {
		_, err := conn.Watch(0, b.Sale.ID, b.Other.ID)
		return err
	}, shop.NotFound, shop.Busy, shop.RateLimited)
	if err != nil {
		return fmt.Errorf("watch the sales: %w", err)
	}
	return nil
}

// arrive connects the shoppers, at most 32 at a time.
func (b *battle) arrive(ctx context.Context, all []*shopper) error {
	errs := make([]error, len(all))
	var coming sync.WaitGroup
	doors := make(chan struct{}, 32)
	for i, s := range all {
		coming.Go(func() {
			doors <- struct{}{}
			defer func() { <-doors }()
			errs[i] = s.connect(ctx)
		})
	}
	coming.Wait()
	return errors.Join(errs...)
}

// leave closes all connections.
func (b *battle) leave() {
	for _, s := range slices.Concat(b.honest, b.bots) {
		if s.conn != nil {
			s.conn.Close()
		}
	}
}

func (b *battle) outcome() Result {
	r := b.result
	r.Theirs = len(b.theirs)
	if all := r.Theirs + r.Honest; all > 0 {
		r.Share = float64(r.Theirs) / float64(all)
	}
	if all := b.work[0] + b.work[1]; all > 0 {
		r.Work = b.work[1] / all
	}
	return r
}

// got counts the response to a buy of the attacker.
func (b *battle) got(r order.Receipt, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.result.Sent++; b.result.Sent == b.Requests {
		close(b.enough)
	}
	switch code := wsclient.CodeOf(err); {
	case err == nil:
		b.theirs[r.Order] = true
	case code != "":
		b.result.Refused[code]++
	default:
		b.result.Refused["no_answer"]++
	}
}

// fail records a failure, unless the end of the competition caused it.
func (b *battle) fail(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ctx.Err() == nil && len(b.result.Failures) < 5 {
		b.result.Failures = append(b.result.Failures, err)
	}
}

// Honest shoppers have loopback addresses 127.2.x.y, bots 127.1.0.x.
func honestAddress(i int) net.Addr { return loopback(2, i) }

func botAddress(i int) net.Addr { return loopback(1, i) }

func loopback(net2, i int) net.Addr {
	return &net.TCPAddr{IP: net.IPv4(127, byte(net2), byte(i/250), byte(1+i%250))}
}
