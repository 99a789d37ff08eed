package admission

import (
	"cmp"
	"context"
	"fmt"
	"net/netip"
	"sync/atomic"
	"time"

	"stampede/app/catalog"
	"stampede/app/shop"
)

// PassRequest is a request for a pass, or the solution of a task.
type PassRequest struct {
	User   shop.ID
	Sale   shop.ID
	From   netip.Addr // client address as seen by the node; zero: unknown
	Task   string     // ID of the solved task
	Answer string
}

// PassResult is a pass, or the task that must be solved first.
type PassResult struct {
	Pass  string      `json:"pass,omitempty"`
	Until shop.Millis `json:"until,omitempty"` // the pass is invalid from this instant on
	Task  *Task       `json:"challenge,omitempty"`
}

// PassSettings reads the settings from the database while the shop runs.
type PassSettings interface {
	WorkBits(ctx context.Context) (int, error)
}

// PassService issues passes: near the opening of a sale, and after the task that the sale requires.
//
//	request ──┬ too early, too late ─→ not_open, closed
//	          ├ pass, few requests from the address ─→ a pass
//	          ├ pass, many requests from the address; work ─→ a task ── solve ─→ a pass issued at the task's instant
//	          └ captcha ─→ a picture ── solve, one try ─→ a pass
//
// An address under pressure gets harder tasks but is never rejected: it may belong to a whole office.
type PassService struct {
	Catalogue *catalog.Catalogue
	Clock     *shop.Clock
	Passes    *Passes
	Captcha   Captcha // nil: work replaces captchas
	Settings  PassSettings

	bits     atomic.Int64 // last difficulty read; 0: not read yet
	pressure pressure
	tries    tries
}

// settingsEvery is the interval between reads of the task difficulty.
const settingsEvery = 500 * time.Millisecond

// Run reads the settings every settingsEvery until ctx ends. While the database is unavailable, they stay unchanged.
func (d *PassService) Run(ctx context.Context) error {
	return shop.Repeat(ctx, settingsEvery, "read the task difficulty", d.RunOnce)
}

// RunOnce reads the settings.
func (d *PassService) RunOnce(ctx context.Context) error {
	bits, err := d.Settings.WorkBits(ctx)
	if err != nil {
		return fmt.Errorf("read the task difficulty: %w", err)
	}
	d.bits.Store(int64(bits))
	return nil
}

// RequestPass returns a pass, or the task that must be solved first.
func (d *PassService) RequestPass(ctx context.Context, q PassRequest) (PassResult, error) {
	sale, now, err := d.admit(ctx, q)
	if err != nil {
		return PassResult{}, err
	}
	more := d.pressure.count(q.From, time.Now())
	switch {
	case sale.Challenge == shop.ChallengePass && more == 0:
		until := now.Add(passLife)
		return PassResult{Pass: d.Passes.issue(sale.ID, q.User, now, until), Until: until}, nil
	case sale.Challenge == shop.ChallengeCaptcha && d.Captcha != nil:
		return d.picture(ctx, q)
	}
	return PassResult{Task: d.Passes.work(sale.ID, q.User, now, d.workBits(more))}, nil
}

// SolvePass returns the pass for a solved task. For proofs of work a repeat of the solution returns the same pass.
func (d *PassService) SolvePass(ctx context.Context, q PassRequest) (PassResult, error) {
	sale, now, err := d.admit(ctx, q)
	if err != nil {
		return PassResult{}, err
	}
	if sale.Challenge == shop.ChallengeCaptcha && d.Captcha != nil {
		return d.solvePicture(ctx, q, now)
	}
	pass, until, ok := d.Passes.passForWork(q.Task, q.Answer, sale.ID, q.User, now)
	if !ok {
		return PassResult{}, shop.Fail(shop.PassRequired,
			"the nonce does not solve a task of this user and sale; request a new task")
	}
	return PassResult{Pass: pass, Until: until}, nil
}

// admit reports whether passes are available for the sale now. WrongState: the sale requires no pass. NotOpen, Closed:
// too early, too late.
func (d *PassService) admit(ctx context.Context, q PassRequest) (*shop.Sale, shop.Millis, error) {
	if q.Sale <= 0 {
		return nil, 0, shop.Fail(shop.BadRequest, "sale is missing")
	}
	sale, err := d.Catalogue.VisibleSale(ctx, q.Sale)
	if err != nil {
		return nil, 0, err
	}
	now := d.Clock.Now()
	switch early := sale.OpensAt.Sub(now) - PassBefore; {
	case !sale.Challenge.NeedsPass():
		return nil, 0, shop.Fail(shop.WrongState, "this sale requires no pass: buy without one")
	case early > 0:
		return nil, 0, shop.OpensIn(early) // the time until passes are issued
	case now >= sale.ClosesAt:
		return nil, 0, shop.Fail(shop.Closed, "the sale is closed")
	}
	return sale, now, nil
}

// workBits returns the task difficulty in bits, with more bits added for pressure.
func (d *PassService) workBits(more int) int {
	return min(cmp.Or(int(d.bits.Load()), DefaultWorkBits)+more, MaxWorkBits)
}
