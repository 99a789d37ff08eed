package load

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"stampede/app"
	"stampede/app/wsclient"
)

// AttackOptions say who attacks, and what the sale asks of its buyers meanwhile.
type AttackOptions struct {
	Address   string          // host:port of the server
	Honest    int             // shoppers, each from an address of their own
	Accounts  int             // of the attacker
	Units     int             // on sale
	Lead      time.Duration   // from the moment a sale is on offer to its opening: for passes and work
	For       time.Duration   // how long a sale is fought for after it has opened, at most
	Attackers []string        // by name; nil: all
	Defences  []app.Challenge // nil: all
	Pictures  float64         // a second that the attacker who pays for it has read, by people or a program
}

// Attack is what an attacker got of a sale.
type Attack struct {
	Attacker string        `json:"attacker"`
	Defence  app.Challenge `json:"defence"`
	Units    int           `json:"units"`    // on sale
	Theirs   int           `json:"theirs"`   // reservations that the attacker got
	Honest   int           `json:"honest"`   // honest shoppers who got one
	Shoppers int           `json:"shoppers"` // honest ones, with and without
	Share    float64       `json:"share"`    // of the reservations, the attacker's
	Work     float64       `json:"work"`     // of the hashes that all solved tasks cost on average, the attacker's
	Pictures int           `json:"pictures"` // that were read for the attacker
	Sent     int           `json:"sent"`     // requests of the attacker
	KeptOut  int           `json:"kept_out"` // accounts of the attacker that had no socket in time

	Refused  map[app.Code]int `json:"refused,omitempty"`  // of them, by code
	Failures []string         `json:"failures,omitempty"` // checks that failed
}

// Attacker is one way to get more than one's share.
type Attacker struct {
	Name string
	Does string
	plan func(b *battle)

	works    bool          // there is enough for everybody who has worked
	persists bool          // units come back, and honest shoppers wait for them
	only     app.Challenge // it is about this alone; "": it tries all
}

// Attackers are all there are, in the order in which they come.
func Attackers() []Attacker {
	return []Attacker{
		{
			Name: "replay", plan: replay,
			Does: "one account repeats its accepted buy, fifty others send what they recorded of honest shoppers",
		},
		{Name: "flood", plan: hammer, Does: "one account presses as fast as it can, on ten sockets and over HTTP"},
		{
			Name: "prepared", plan: prepared,
			Does: "requests of all accounts, made before the opening, some with passes of another sale",
		},
		{
			Name: "one-address", plan: farm(1),
			Does: "all accounts, programs that do what the page does, from one address",
		},
		{Name: "fifty-addresses", plan: farm(fiftyAddresses), Does: "the same from fifty addresses"},
		{
			Name: "solver", plan: solver, works: true, only: app.ChallengeWork,
			Does: "the same, all work on one core; there is enough for everybody who has worked (work alone)",
		},
		{
			Name: "paid-reader", plan: paidReader, only: app.ChallengeCaptcha,
			Does: "all accounts from fifty addresses, and somebody is paid for reading their pictures (captcha alone)",
		},
		{
			Name: "hoarder", plan: hoarder, persists: true,
			Does: "fifty accounts that reserve, let it expire and reserve again, to keep units from being sold",
		},
	}
}

const fiftyAddresses = 50

// RunAttacks lets each attacker fight for a sale of its own under each defence. An error means that there is no figure;
// a failed check is part of the row.
func RunAttacks(ctx context.Context, shop *Shop, o AttackOptions, told func(Attack)) error {
	to, err := newTarget(o.Address, 1, false)
	if err != nil {
		return err
	}
	o.Address = to.address.String()
	defences := o.Defences
	if defences == nil {
		defences = []app.Challenge{app.ChallengeNone, app.ChallengePass, app.ChallengeWork, app.ChallengeCaptcha}
	}
	for _, a := range Attackers() {
		if o.Attackers != nil && !slices.Contains(o.Attackers, a.Name) {
			continue
		}
		for _, defence := range defences {
			if a.only != "" && defence != a.only {
				continue
			}
			row, err := fight(ctx, shop, o, a, defence)
			if err != nil {
				return fmt.Errorf("%s against %s: %w", a.Name, defence, err)
			}
			told(row)
		}
	}
	return nil
}

// battle is one sale that honest shoppers and an attacker want.
type battle struct {
	AttackOptions
	ctx    context.Context
	shop   *Shop
	sale   app.Sale
	before app.Sale // another sale, which asks for the same, for what is prepared
	gun    time.Time
	end    time.Time

	honest  []*shopper
	bots    []*shopper
	reader  *rate.Limiter // who reads pictures for the attacker; nil: nobody
	passes  chan recorded // what an attacker has recorded of honest shoppers
	running sync.WaitGroup

	mu      sync.Mutex
	theirs  map[app.ID]bool // orders
	gained  int             // honest shoppers who have one
	work    [2]float64      // expected hashes of solved tasks: honest, the attacker's
	read    int             // pictures for the attacker
	sent    int
	out     int // bots that had no socket in time
	refused map[app.Code]int
	failed  []error
}

// recorded is a request of an honest shopper, as somebody on the way could read it.
type recorded struct{ pass, key string }

func fight(ctx context.Context, shop *Shop, o AttackOptions, a Attacker, defence app.Challenge) (Attack, error) {
	b := &battle{
		AttackOptions: o, shop: shop, passes: make(chan recorded, o.Honest), theirs: make(map[app.ID]bool),
		refused: make(map[app.Code]int),
	}
	if a.works {
		b.Units = o.Honest + o.Accounts // so that who has worked gets one, and the share is that of the work
	}
	defer b.leave()
	if err := b.offer(ctx, defence); err != nil {
		return Attack{}, err
	}
	var cancel context.CancelFunc
	b.ctx, cancel = context.WithDeadline(ctx, b.end)
	defer cancel()
	for i := range o.Honest {
		b.honest = append(b.honest, &shopper{b: b, from: honestAddress(i)})
	}
	if err := b.arrive(ctx, b.honest); err != nil {
		return Attack{}, fmt.Errorf("bring in %d shoppers: %w", o.Honest, err)
	}
	var shopping sync.WaitGroup
	for _, s := range b.honest {
		shopping.Go(func() { s.shop(a.persists) })
	}
	a.plan(b)
	shopping.Wait()
	if !a.works { // nothing is left to fight for; of those who work each is to have pressed
		cancel()
	}
	b.running.Wait()
	return b.result(ctx, a.Name, defence)
}

// offer puts the sale on offer, and another one for what is prepared, and waits until the server knows both.
func (b *battle) offer(ctx context.Context, defence app.Challenge) error {
	b.gun = time.Now().Add(b.Lead).Truncate(time.Millisecond)
	b.end = b.gun.Add(b.For)
	offered := app.Sale{
		Initial: int64(b.Units), Limit: 1, Cap: 3, Challenge: defence, OpensAt: app.MillisOf(b.gun),
	}
	var err error
	if b.before, err = b.shop.offerOne(ctx, offered); err == nil {
		b.sale, err = b.shop.offerOne(ctx, offered)
	}
	if err != nil {
		return fmt.Errorf("offer a sale: %w", err)
	}
	visitor := &shopper{b: b, from: honestAddress(0)}
	if err := visitor.connect(ctx); err != nil {
		return err
	}
	defer visitor.conn.Close()
	return visitor.conn.Patiently(func() error {
		_, err := visitor.conn.Watch(0, b.sale.ID, b.before.ID)
		return err
	}, app.NotFound, app.Busy, app.RateLimited)
}

// arrive connects people, so many at a time.
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

// leave ends all connections.
func (b *battle) leave() {
	for _, s := range slices.Concat(b.honest, b.bots) {
		if s.conn != nil {
			s.conn.Close()
		}
	}
}

func (b *battle) result(ctx context.Context, name string, defence app.Challenge) (Attack, error) {
	r := Attack{
		Attacker: name, Defence: defence, Units: b.Units, Theirs: len(b.theirs), Honest: b.gained, Shoppers: b.Honest,
		Pictures: b.read, Sent: b.sent, KeptOut: b.out, Refused: b.refused,
	}
	if all := r.Theirs + r.Honest; all > 0 {
		r.Share = float64(r.Theirs) / float64(all)
	}
	if all := b.work[0] + b.work[1]; all > 0 {
		r.Work = b.work[1] / all
	}
	for _, err := range b.failed {
		r.Failures = append(r.Failures, err.Error())
	}
	_, failures, err := b.shop.audit(ctx, []app.ID{b.sale.ID})
	r.Failures = append(r.Failures, failures...)
	return r, err
}

// got notes what a bot was answered.
func (b *battle) got(r app.Receipt, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.sent++
	switch code := wsclient.CodeOf(err); {
	case err == nil:
		b.theirs[r.Order] = true
	case code != "":
		b.refused[code]++
	default:
		b.refused["no_answer"]++
	}
}
