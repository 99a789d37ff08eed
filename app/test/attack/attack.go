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

	Token        func() string                                // returns the token of a new user
	SolveCaptcha func(task string) (solution string, _ error) // solves the captcha of a task
}

// Result contains the outcome for the attacker and for the honest shoppers.
type Result struct {
	AttackerOrders int     // reservations of the attacker
	Honest         int     // honest shoppers with a reservation
	Share          float64 // the attacker's share of all reservations
	Work           float64 // the attacker's share of the expected hashes of all solved tasks
	Pictures       int     // captchas solved for the attacker
	Sent           int     // requests of the attacker
	Blocked        int     // accounts of the attacker without a socket when the sale opened

	Refused  map[shop.Code]int // requests of the attacker by error code
	Failures []error
}

// Attacker is a script. It starts its bots and returns.
type Attacker func(b *contest)

// contest is the state of one competition.
type contest struct {
	Options
	ctx            context.Context
	opensAt        time.Time
	captchaLimiter *rate.Limiter // limits the captchas solved for the attacker

	honest       []*shopper
	bots         []*shopper
	recordings   chan recordedRequest // requests of honest shoppers that the attacker recorded
	running      sync.WaitGroup
	requestsSent chan struct{} // closed after Options.Requests requests

	mu             sync.Mutex
	result         Result
	attackerOrders map[shop.ID]bool // ids of the attacker's orders
	work           [2]float64       // expected hashes of solved tasks: of honest shoppers, of the attacker
}

// recordedRequest is a request of an honest shopper as read on the network.
type recordedRequest struct{ pass, key string }

// Run lets honest shoppers and the attacker compete for the sale. It returns when all honest shoppers have a
// reservation or have given up, and the attacker's script has ended or sent enough requests. An error means that there
// is no result.
func Run(ctx context.Context, attacker Attacker, o Options) (Result, error) {
	opensAt := o.Sale.OpensAt.Time()
	ctx, cancel := context.WithDeadline(ctx, opensAt.Add(o.For))
	defer cancel()
	b := &contest{
		Options: o, ctx: ctx, opensAt: opensAt, captchaLimiter: rate.NewLimiter(o.Pictures, 1),
		recordings: make(chan recordedRequest,
			o.Honest), requestsSent: make(chan struct{}), attackerOrders: make(map[shop.ID]bool),
		result: Result{Refused: make(map[shop.Code]int)},
	}
	defer b.closeAll()
	for i := range o.Honest {
		b.honest = append(b.honest, b.newShopper(honestAddress(i)))
	}
	if err := b.connectAll(ctx, b.honest); err != nil {
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
	case <-b.requestsSent:
	case <-ended:
	case <-ctx.Done():
	}
	cancel()
	<-ended
	return b.outcome(), nil
}

// awaitSales waits until the server has loaded the sales: its catalogue is up to a second old.
func (c *contest) awaitSales() error {
	conn := c.honest[0].conn
	err := conn.RetryOnCodes(func() error {
		_, err := conn.Watch(0, c.Sale.ID, c.Other.ID)
		return err
	}, shop.NotFound, shop.Busy, shop.RateLimited)
	if err != nil {
		return fmt.Errorf("watch the sales: %w", err)
	}
	return nil
}

// connectAll connects the shoppers, at most 32 at a time.
func (c *contest) connectAll(ctx context.Context, all []*shopper) error {
	errs := make([]error, len(all))
	var connecting sync.WaitGroup
	limit := make(chan struct{}, 32)
	for i, s := range all {
		connecting.Go(func() {
			limit <- struct{}{}
			defer func() { <-limit }()
			errs[i] = s.connect(ctx)
		})
	}
	connecting.Wait()
	return errors.Join(errs...)
}

// closeAll closes all connections.
func (c *contest) closeAll() {
	for _, s := range slices.Concat(c.honest, c.bots) {
		if s.conn != nil {
			s.conn.Close()
		}
	}
}

func (c *contest) outcome() Result {
	r := c.result
	r.AttackerOrders = len(c.attackerOrders)
	if all := r.AttackerOrders + r.Honest; all > 0 {
		r.Share = float64(r.AttackerOrders) / float64(all)
	}
	if all := c.work[0] + c.work[1]; all > 0 {
		r.Work = c.work[1] / all
	}
	return r
}

// countReply counts the response to a buy of the attacker.
func (c *contest) countReply(r order.Receipt, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.result.Sent++; c.result.Sent == c.Requests {
		close(c.requestsSent)
	}
	switch code := wsclient.CodeOf(err); {
	case err == nil:
		c.attackerOrders[r.Order] = true
	case code != "":
		c.result.Refused[code]++
	default:
		c.result.Refused["no_answer"]++
	}
}

// fail records a failure, unless the end of the competition caused it.
func (c *contest) fail(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ctx.Err() == nil && len(c.result.Failures) < 5 {
		c.result.Failures = append(c.result.Failures, err)
	}
}

// honestAddress returns the loopback address 127.2.x.y of an honest shopper. Bots have addresses 127.1.0.x.
func honestAddress(i int) net.Addr { return loopback(2, i) }

func botAddress(i int) net.Addr { return loopback(1, i) }

func loopback(net2, i int) net.Addr {
	return &net.TCPAddr{IP: net.IPv4(127, byte(net2), byte(i/250), byte(1+i%250))}
}
