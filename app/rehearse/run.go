package rehearse

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"stampede/app"
	"stampede/app/wsclient"
)

const (
	// doors is how many shoppers come in at a time: an address of this process never has more connections than that.
	doors = 32
	// knownAfter is when all nodes know of a rehearsal: they look twice a second.
	knownAfter = time.Second
	// opensAfter is between the last arrival and the opening: nodes hear of it within a second.
	opensAfter = 3 * time.Second
	// tokenSlack is how much longer tokens live than the rehearsal.
	tokenSlack = time.Minute
	keepEvery  = 3 * time.Second
	lookEvery  = time.Second
	cleanWhole = 3 * time.Minute
)

// run is a rehearsal under way.
type run struct {
	Options
	stage     *Stage
	rehearsal app.Rehearsal
	seen      *measures
	shoppers  []*shopper
	boards    boards
}

// Run rehearses and answers what it came to. An error means that there is no verdict. Either way nothing is left behind
// but the rows of the journal, unless the error says so.
func Run(ctx context.Context, stage *Stage, o Options) (result *Result, err error) {
	if err := reachable(ctx, &o); err != nil {
		return nil, err
	}
	id, err := stage.Mint()
	if err != nil {
		return nil, fmt.Errorf("mint the id of a sale: %w", err)
	}
	asks, err := stage.Asks(ctx, o.Sale)
	if err != nil {
		return nil, err
	}
	r := &run{Options: o, stage: stage, seen: newMeasures()}
	r.rehearsal, err = stage.Desk.Begin(ctx, stage.Actor, id, app.RehearsalAsk{
		Sale: o.Sale, Shoppers: o.Shoppers, Units: o.Units, Lasts: o.lasts(), Force: o.Force,
	})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.end(ctx, result, err)) }()
	result, err = r.play(ctx)
	if err == nil {
		result.NotRehearsed = append(result.NotRehearsed, unplayed(asks)...)
	}
	return result, err
}

// unplayed is what of an entry check a rehearsal says nothing about.
func unplayed(asks app.Challenge) []string {
	switch asks {
	case app.ChallengeCaptcha:
		return []string{"the sale asks for a picture, which a program cannot read: its copy asked for a pass instead"}
	case app.ChallengeWork:
		return []string{"how long people's devices take for the proof of work: this machine did the work of all of them"}
	}
	return nil
}

// reachable looks whether there is a server at the target, before anything is begun.
func reachable(ctx context.Context, o *Options) error {
	conn, err := (&wsclient.Dialer{TLS: o.TLS, Timeout: 10 * time.Second}).Dial(ctx, o.Target)
	if err != nil {
		return fmt.Errorf("no server answers at %s: %w; start it, or name another one with --target", o.Target, err)
	}
	conn.Close()
	return nil
}

// play goes through the rehearsal. When somebody else ends it, or ctx ends, there is no result.
func (r *run) play(ctx context.Context) (*Result, error) {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var beside sync.WaitGroup
	defer beside.Wait()
	defer stop(nil)
	beside.Go(func() { r.keep(ctx, stop) })
	before, err := r.stage.Board(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the live board: %w", err)
	}
	defer r.leave()
	app.Sleep(ctx, knownAfter)
	if err := r.arrive(ctx); err != nil {
		return nil, why(ctx, err)
	}
	r.boards.begin(&before, r.rehearsal.Partition)
	watching, seen := context.WithCancel(ctx)
	var board sync.WaitGroup
	board.Go(func() { r.watchBoard(watching) })
	defer board.Wait()
	defer seen()
	closes, err := r.open(ctx)
	if err != nil {
		return nil, why(ctx, err)
	}
	r.crowd(ctx, closes)
	r.settle(ctx)
	if ctx.Err() != nil {
		return nil, why(ctx, ctx.Err())
	}
	for _, s := range r.shoppers {
		s.lookAfter()
	}
	seen()
	board.Wait()
	reports, err := r.stage.Audit(ctx, r.rehearsal.Sale)
	if err != nil {
		return nil, fmt.Errorf("audit the sale of the rehearsal: %w", err)
	}
	return r.judge(reports[0]), nil
}

// why is what ended the rehearsal early.
func why(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return err
}

// keep says all the time that somebody runs the rehearsal.
func (r *run) keep(ctx context.Context, stop context.CancelCauseFunc) {
	for app.Sleep(ctx, keepEvery) {
		err := r.stage.Desk.Keep(ctx, &r.rehearsal)
		if errors.Is(err, &app.Error{Code: app.NotFound}) {
			stop(err)
			return
		}
	}
}

// arrive brings the crowd in, a few at a time.
func (r *run) arrive(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, connectFor,
		fmt.Errorf("the crowd of %d did not get in within %v", r.Shoppers, connectFor))
	defer cancel()
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	life := time.Until(r.rehearsal.UntilAt.Time()) + tokenSlack
	r.shoppers = make([]*shopper, 0, r.Shoppers)
	free, came := make(chan struct{}, doors), make(chan struct{}, r.Shoppers)
	var all sync.WaitGroup
	for n := range r.Shoppers {
		user, err := r.stage.Mint()
		if err != nil {
			return fmt.Errorf("mint the id of a shopper: %w", err)
		}
		token, err := r.stage.Token(user, r.rehearsal.Sale, life)
		if err != nil {
			return err
		}
		s := newShopper(r.seen, n, token, r.rehearsal.Sale)
		r.shoppers = append(r.shoppers, s)
		select {
		case free <- struct{}{}:
		case <-ctx.Done():
		}
		if ctx.Err() != nil {
			break
		}
		all.Go(func() {
			defer func() { <-free }()
			if err := s.arrive(ctx, &r.Options); err != nil {
				stop(fmt.Errorf("shopper %d did not get in: %w", n+1, err))
			}
			came <- struct{}{}
		})
		r.show("connect", len(came), r.Shoppers)
	}
	all.Wait()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	r.show("connect", r.Shoppers, r.Shoppers)
	return nil
}

// open has the sale open in a moment, and answers when it closes, by the clock of this machine.
func (r *run) open(ctx context.Context) (closes time.Time, err error) {
	now, err := r.stage.Desk.Inventory.Now(ctx)
	if err != nil {
		return closes, fmt.Errorf("read Redis time: %w", err)
	}
	opens := now.Add(opensAfter)
	begins := time.Now().Add(opensAfter)
	if err := r.stage.Desk.Open(ctx, &r.rehearsal, opens, opens.Add(r.For)); err != nil {
		return closes, err
	}
	app.Sleep(ctx, time.Until(begins))
	return begins.Add(r.For), nil
}

// crowd lets everybody shop until the sale closes.
func (r *run) crowd(ctx context.Context, closes time.Time) {
	began := time.Now()
	ctx, cancel := context.WithDeadline(ctx, closes)
	defer cancel()
	var all sync.WaitGroup
	for _, s := range r.shoppers {
		all.Go(func() { s.shop(ctx, time.Duration(rand.Float64()*float64(r.Rush))) })
	}
	for app.Sleep(ctx, lookEvery) {
		r.show("buy", int(time.Since(began).Seconds()), int(r.For.Seconds()))
	}
	all.Wait()
}

// settle waits until every reservation has become an order that its shopper has heard of, and every order has ended.
func (r *run) settle(ctx context.Context) {
	began := time.Now()
	for time.Since(began) < settleFor {
		if silent, unpaid := r.seen.unsettled(); silent+unpaid == 0 || !app.Sleep(ctx, shortRest) {
			return
		}
		r.show("settle", int(time.Since(began).Seconds()), int(settleFor.Seconds()))
	}
}

// leave closes all sockets. Those that were cut off before are counted.
func (r *run) leave() {
	var all sync.WaitGroup
	for _, s := range r.shoppers {
		all.Go(s.leave)
	}
	all.Wait()
}

// end journals the end and removes what is left, also when ctx has ended.
func (r *run) end(ctx context.Context, result *Result, failed error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanWhole)
	defer cancel()
	r.show("clean up", 0, 0)
	outcome := any(result)
	if result == nil {
		outcome = struct {
			Verdict string `json:"verdict"`
			Why     string `json:"why"`
		}{"none", failed.Error()}
	}
	actor := r.stage.Actor
	actor.Key = "rehearsal-end-" + r.rehearsal.Sale.String()
	err := r.stage.Desk.End(ctx, actor, &r.rehearsal, outcome)
	if err == nil {
		err = r.stage.Desk.Clean(ctx, &r.rehearsal)
	}
	if err != nil {
		return fmt.Errorf("the rehearsal is not removed yet (a server does it by itself, or stampede rehearse --clean): %w", err)
	}
	return nil
}

func (r *run) show(stage string, now, of int) {
	if r.Progress != nil {
		r.Progress(stage, now, of)
	}
}
