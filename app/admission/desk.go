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

// PassQuestion is somebody at the desk: for a pass, or with the answer to a task.
type PassQuestion struct {
	User   shop.ID
	Sale   shop.ID
	From   netip.Addr // as the node saw it; zero: not known
	Task   string     // the id of the task that is answered
	Answer string
}

// PassAnswer is a pass, or the task that stands before it.
type PassAnswer struct {
	Pass  string      `json:"pass,omitempty"`
	Until shop.Millis `json:"until,omitempty"` // the pass counts no more at that instant
	Task  *Task       `json:"challenge,omitempty"`
}

// PassSettings are read from the database while the shop runs.
type PassSettings interface {
	WorkBits(ctx context.Context) (int, error)
}

// PassDesk is where passes are asked for: near the opening, and after the task that the sale sets.
//
//	ask ──┬ too early, too late ─→ not_open, closed
//	      ├ pass, from an address that asks little ─→ a pass
//	      ├ pass, from an address under pressure; work ─→ a task ── solve ─→ a pass of the task's instant
//	      └ captcha ─→ a picture ── solve, one try ─→ a pass
//
// An address is a reason to ask for more work, never to refuse: behind one there may be a whole office.
type PassDesk struct {
	Catalogue *catalog.Catalogue
	Clock     *shop.Clock
	Passes    *Passes
	Captcha   Captcha // nil: where a picture is asked for, work is
	Settings  PassSettings

	bits     atomic.Int64 // as they were read last; 0: not yet
	pressure pressure
	tries    tries
}

// settingsEvery is how often a node looks how difficult the tasks are.
const settingsEvery = 500 * time.Millisecond

// Run keeps the settings up to date until ctx ends. While the database does not answer, they stay as they were.
func (d *PassDesk) Run(ctx context.Context) error {
	return shop.Repeat(ctx, settingsEvery, "read the settings of passes", d.RunOnce)
}

// RunOnce reads the settings.
func (d *PassDesk) RunOnce(ctx context.Context) error {
	bits, err := d.Settings.WorkBits(ctx)
	if err != nil {
		return fmt.Errorf("difficulty of tasks: %w", err)
	}
	d.bits.Store(int64(bits))
	return nil
}

// AskPass answers a pass, or the task that stands before it.
func (d *PassDesk) AskPass(ctx context.Context, q PassQuestion) (PassAnswer, error) {
	sale, now, err := d.admit(ctx, q)
	if err != nil {
		return PassAnswer{}, err
	}
	more := d.pressure.ask(q.From, time.Now())
	switch {
	case sale.Challenge == shop.ChallengePass && more == 0:
		until := now.Add(passLife)
		return PassAnswer{Pass: d.Passes.issue(sale.ID, q.User, now, until), Until: until}, nil
	case sale.Challenge == shop.ChallengeCaptcha && d.Captcha != nil:
		return d.picture(ctx, q)
	}
	return PassAnswer{Task: d.Passes.work(sale.ID, q.User, now, d.workBits(more))}, nil
}

// SolvePass answers the pass for a solved task. The same solution sent again is answered with the same pass.
func (d *PassDesk) SolvePass(ctx context.Context, q PassQuestion) (PassAnswer, error) {
	sale, now, err := d.admit(ctx, q)
	if err != nil {
		return PassAnswer{}, err
	}
	if sale.Challenge == shop.ChallengeCaptcha && d.Captcha != nil {
		return d.read(ctx, q, now)
	}
	pass, until, ok := d.Passes.done(q.Task, q.Answer, sale.ID, q.User, now)
	if !ok {
		return PassAnswer{}, shop.Fail(shop.PassRequired, "this does not solve a task of yours in this sale; ask for a new one")
	}
	return PassAnswer{Pass: pass, Until: until}, nil
}

// admit looks whether there are passes for the sale at this time.
func (d *PassDesk) admit(ctx context.Context, q PassQuestion) (*shop.Sale, shop.Millis, error) {
	if q.Sale <= 0 {
		return nil, 0, shop.Fail(shop.BadRequest, "sale is missing")
	}
	sale, err := d.Catalogue.Offered(ctx, q.Sale)
	if err != nil {
		return nil, 0, err
	}
	now := d.Clock.Now()
	switch early := sale.OpensAt.Sub(now) - PassBefore; {
	case !sale.Challenge.NeedsPass():
		return nil, 0, shop.Fail(shop.WrongState, "this sale asks for no pass: just buy")
	case early > 0:
		return nil, 0, shop.OpensIn(early) // come again when passes are given
	case now >= sale.ClosesAt:
		return nil, 0, shop.Fail(shop.Closed, "the sale is closed")
	}
	return sale, now, nil
}

// workBits is the difficulty of a task for an address under so much pressure.
func (d *PassDesk) workBits(more int) int {
	return min(cmp.Or(int(d.bits.Load()), DefaultWorkBits)+more, MostWorkBits)
}
