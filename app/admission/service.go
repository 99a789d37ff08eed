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
	From   netip.Addr // client address; zero: unknown
	Task   string     // ID of the solved task
	Answer string
}

// PassResult is a pass, or the task that must be solved first.
type PassResult struct {
	Pass  string      `json:"pass,omitempty"`
	Until shop.Millis `json:"until,omitempty"` // the pass is invalid from this instant on
	Task  *Task       `json:"challenge,omitempty"`
}

// PassService issues passes: from PassBefore before the opening until the end of a sale, after the task that the sale
// requires.
//
//	request ──┬ too early, too late ─→ not_open, closed
//	          ├ challenge `pass`, few requests from the address ─→ a pass
//	          ├ challenge `pass`, many requests from the address ─┐
//	          ├ challenge `work` ─────────────────────────────────┴→ a task ── solve ─→ a pass, issued at the task's time
//	          └ challenge `captcha` ─→ a picture ── solve, one try ─→ a pass
//
// An address with too many requests gets harder tasks but is never rejected: a whole office may share the address.
type PassService struct {
	Catalogue *catalog.Catalogue
	Clock     *shop.Clock
	Passes    *Passes
	Captcha   Captcha // nil: work replaces captchas
	// WorkBits reads the difficulty of tasks from the database while the shop runs.
	WorkBits func(ctx context.Context) (int, error)

	bits          atomic.Int64 // the last difficulty that was read; 0: none was read yet
	pressure      pressure
	captchaCounts captchaCounts
}

// settingsEvery is the interval at which Run reads the task difficulty.
const settingsEvery = 500 * time.Millisecond

// Run reads the settings every settingsEvery until ctx ends. While the database is unavailable, the settings stay
// unchanged.
func (s *PassService) Run(ctx context.Context) error {
	return shop.Repeat(ctx, settingsEvery, "read the task difficulty", s.RunOnce)
}

// RunOnce reads the settings.
func (s *PassService) RunOnce(ctx context.Context) error {
	bits, err := s.WorkBits(ctx)
	if err != nil {
		return fmt.Errorf("read the task difficulty: %w", err)
	}
	s.bits.Store(int64(bits))
	return nil
}

// RequestPass returns a pass, or the task that must be solved first.
func (s *PassService) RequestPass(ctx context.Context, q PassRequest) (PassResult, error) {
	sale, now, err := s.admit(ctx, q)
	if err != nil {
		return PassResult{}, err
	}
	addedBits := s.pressure.count(q.From, time.Now())
	switch {
	case sale.Challenge == shop.ChallengePass && addedBits == 0:
		until := now.Add(passLife)
		return PassResult{Pass: s.Passes.issue(sale.ID, q.User, now, until), Until: until}, nil
	case sale.Challenge == shop.ChallengeCaptcha && s.Captcha != nil:
		return s.newCaptchaTask(ctx, q)
	}
	return PassResult{Task: s.Passes.newTask(sale.ID, q.User, now, s.workBits(addedBits))}, nil
}

// SolvePass returns the pass for a solved task. A solved proof of work that is sent again returns the same pass.
func (s *PassService) SolvePass(ctx context.Context, q PassRequest) (PassResult, error) {
	sale, now, err := s.admit(ctx, q)
	if err != nil {
		return PassResult{}, err
	}
	if sale.Challenge == shop.ChallengeCaptcha && s.Captcha != nil {
		return s.solvePicture(ctx, q, now)
	}
	pass, until, ok := s.Passes.passForWork(q.Task, q.Answer, sale.ID, q.User, now)
	if !ok {
		return PassResult{}, shop.Fail(shop.PassRequired,
			"the nonce does not solve a task of this user and sale; request a new task")
	}
	return PassResult{Pass: pass, Until: until}, nil
}

// admit returns the sale and the current time if passes are available for the sale now. WrongState: the sale requires
// no pass. NotOpen: it is too early. Closed: it is too late.
func (s *PassService) admit(ctx context.Context, q PassRequest) (*shop.Sale, shop.Millis, error) {
	if q.Sale <= 0 {
		return nil, 0, shop.Fail(shop.BadRequest, "sale is missing")
	}
	sale, err := s.Catalogue.VisibleSale(ctx, q.Sale)
	if err != nil {
		return nil, 0, err
	}
	now := s.Clock.Now()
	switch untilPasses := sale.OpensAt.Sub(now) - PassBefore; {
	case !sale.Challenge.NeedsPass():
		return nil, 0, shop.Fail(shop.WrongState, "this sale requires no pass: buy without one")
	case untilPasses > 0:
		return nil, 0, shop.OpensIn(untilPasses) // the time until passes are issued
	case now >= sale.ClosesAt:
		return nil, 0, shop.Fail(shop.Closed, "the sale is closed")
	}
	return sale, now, nil
}

// workBits returns the task difficulty in bits, with addedBits for an address with too many requests.
func (s *PassService) workBits(addedBits int) int {
	return min(cmp.Or(int(s.bits.Load()), DefaultWorkBits)+addedBits, MaxWorkBits)
}
