package app

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"time"
)

// A rehearsal is a crowd of simulated shoppers that buys in a copy of a sale, on the deployment that will sell it. The
// copy is a sale like any other to Redis, workers and sweepers, so that what is measured is what will happen; it is in
// no slot, so that it is listed nowhere, and only who shows a token of the rehearsal sees it. Nothing of it is paid, so
// neither gateway nor back office nor mails hear of it. Its life, in the row `rehearsals`:
//
//	Begin (an act) → running ── End, or nobody keeps it alive, or its time is over ─→ ending ── Clean ─→ gone
//
// Whoever runs it cleans up; when that process dies, the sweepers of the deployment do (RehearsalCleaner).

// RehearsalState is how far a rehearsal is.
type RehearsalState string

// The states of a rehearsal, in their order.
const (
	RehearsalRunning RehearsalState = "running" // its shoppers may buy
	RehearsalEnding  RehearsalState = "ending"  // nobody may, and what it has left is being removed
	RehearsalGone    RehearsalState = "gone"    // nothing is left
)

// Rehearsal is one rehearsal of a sale.
type Rehearsal struct {
	Sale      ID             `json:"sale"` // the copy
	Of        ID             `json:"of"`   // the sale that is rehearsed
	Partition int            `json:"partition"`
	Shoppers  int            `json:"shoppers"`
	Units     int64          `json:"units"`
	State     RehearsalState `json:"state"`
	BeganAt   Millis         `json:"began_at"`
	AliveAt   Millis         `json:"-"`
	UntilAt   Millis         `json:"until_at"`
	EndedAt   Millis         `json:"ended_at,omitempty"`
	By        string         `json:"by"`
}

const (
	// MostRehearsed is how many shoppers a rehearsal has at most: what one process can play.
	MostRehearsed = 10_000
	// RehearsalPayWindow is how long an order of a rehearsal waits for its payment, which never comes: short, so that a
	// rehearsal of half a minute sees units expire and be sold again.
	RehearsalPayWindow = 5 * time.Second
	// rehearsalSilence is after how long a rehearsal whose process says nothing is ended.
	rehearsalSilence = 15 * time.Second
	// rehearsalKept is how long the row of a rehearsal outlives it: far longer than an entry stays in a stream.
	rehearsalKept = 7 * 24 * time.Hour
	// openingBefore and openingAfter are the time around the opening of a real sale in which no rehearsal runs.
	openingBefore = 10 * time.Minute
	openingAfter  = 2 * time.Minute
)

// RehearsalStore is the durable truth about rehearsals. Errors wrap ErrTransient, ErrPermanent or ErrNoRow.
type RehearsalStore interface {
	// AddRehearsal writes a rehearsal and its sale, which lasts as long as said at most. Conflict: one is not gone yet.
	// It must be called within an act.
	AddRehearsal(ctx context.Context, r *Rehearsal, sale *Sale, lasts time.Duration) error
	// Rehearsing reads the rehearsal that is not gone, as of the instant that is answered. ErrNoRow: there is none.
	Rehearsing(ctx context.Context) (Rehearsal, Millis, error)
	// KeepRehearsal notes that somebody runs it. ErrNoRow: it does not run any more.
	KeepRehearsal(ctx context.Context, sale ID) error
	// OpenRehearsal sets the window of its sale. ErrNoRow: it does not run any more.
	OpenRehearsal(ctx context.Context, sale ID, opens, closes Millis) error
	// EndRehearsal takes a running one to ending, and closes its sale at the instant given, by Redis time. Done again,
	// it changes nothing.
	EndRehearsal(ctx context.Context, sale ID, now Millis) error
	// RemoveRehearsed removes orders of an ending rehearsal that have ended, and what belongs to them. more: there may
	// be others. ErrPermanent: one has not ended.
	RemoveRehearsed(ctx context.Context, sale ID, orders []ID) error
	// RemoveRehearsal removes the sale of an ending rehearsal, which has no orders any more: it is gone.
	RemoveRehearsal(ctx context.Context, sale ID) error
	// ForgetRehearsals removes the rows of those that were gone before the instant given.
	ForgetRehearsals(ctx context.Context, before Millis) error
	// NextOpening is the first sale that opens between two instants. ErrNoRow: none does.
	NextOpening(ctx context.Context, from, to Millis) (Sale, error)
}

// RehearsalAsk is what somebody wants to rehearse.
type RehearsalAsk struct {
	Sale     ID
	Shoppers int
	Units    int64         // 0: as many as the sale has
	Lasts    time.Duration // from now until it has to be over
	Force    bool          // also near the opening of a sale
}

// RehearsalDesk begins and ends rehearsals.
type RehearsalDesk struct {
	Journal   *Journal
	Store     RehearsalStore
	Sales     SaleStore
	Orders    OrderStore
	Inventory Inventory
	Redis     SaleKeeper
	Keys      RehearsalKeys
	Dead      DeadLetterBox
	Effects   *Effects
}

// Begin makes the copy of the sale. NotFound: there is no such sale; WrongState: it is over, or a sale is about to
// open; Conflict: another rehearsal is under way.
func (d *RehearsalDesk) Begin(ctx context.Context, actor Actor, id ID, ask RehearsalAsk) (Rehearsal, error) {
	if ask.Shoppers < 1 || ask.Shoppers > MostRehearsed || ask.Units < 0 {
		return Rehearsal{}, Fail(BadRequest, fmt.Sprintf("shoppers must be from 1 to %d, and units not below 0", MostRehearsed))
	}
	now, err := d.Inventory.Now(ctx)
	if err != nil {
		return Rehearsal{}, Unreadable("Redis time", err)
	}
	sale, err := d.Sales.Sale(ctx, ask.Sale)
	if err != nil {
		return Rehearsal{}, Unreadable("the sale", noSale(ask.Sale, err))
	}
	switch {
	case sale.Rehearses != 0:
		return Rehearsal{}, Fail(WrongState, "this is a rehearsal's own sale; name the sale itself")
	case now >= sale.ClosesAt:
		return Rehearsal{}, Fail(WrongState, "the sale is over: there is nothing to rehearse")
	}
	if err := d.farFromOpenings(ctx, now, ask); err != nil {
		return Rehearsal{}, err
	}
	shadow := shadowOf(&sale, id, now.Add(ask.Lasts), ask.Units)
	r := Rehearsal{
		Sale: id, Of: sale.ID, Partition: sale.Partition, Shoppers: ask.Shoppers, Units: shadow.Initial, By: actor.Name,
	}
	done, err := d.Journal.Act(ctx, actor, func(ctx context.Context) (Act, error) {
		if err := d.Store.AddRehearsal(ctx, &r, &shadow, ask.Lasts); err != nil {
			return Act{}, err
		}
		return Act{Kind: "rehearsal.begin", Object: saleObject(sale.ID), After: r, Answer: r}, nil
	})
	if err == nil {
		err = done.Into(&r)
	}
	if err == nil && r.Sale != id {
		err = Fail(WrongState, "a rehearsal was begun under this key before; name another one")
	}
	return r, err
}

// shadowOf is the copy of a sale that a rehearsal buys from: closed until the crowd is there. A picture cannot be read
// by a program, so where the sale asks for one, its copy asks for a pass.
func shadowOf(sale *Sale, id ID, until Millis, units int64) Sale {
	shadow := *sale
	shadow.ID, shadow.Slot, shadow.Rehearses = id, id, sale.ID // no slot has this id
	shadow.OpensAt, shadow.ClosesAt, shadow.Paused = until, until+1, false
	shadow.Version, shadow.Epoch, shadow.Withdrawn, shadow.Added = 1, 0, 0, 0
	shadow.Initial = sale.Initial + sale.Added - sale.Withdrawn
	if units > 0 {
		shadow.Initial = units
	}
	if shadow.Challenge == ChallengeCaptcha {
		shadow.Challenge = ChallengePass
	}
	return shadow
}

// farFromOpenings refuses a rehearsal that takes what a sale needs that opens meanwhile, or soon after.
func (d *RehearsalDesk) farFromOpenings(ctx context.Context, now Millis, ask RehearsalAsk) error {
	if ask.Force {
		return nil
	}
	next, err := d.Store.NextOpening(ctx, now.Add(-openingAfter), now.Add(ask.Lasts+openingBefore))
	switch {
	case errors.Is(err, ErrNoRow):
		return nil
	case err != nil:
		return Unreadable("the sales", err)
	}
	when := "opened a moment ago"
	if wait := next.OpensAt.Sub(now); wait > 0 {
		when = "opens in " + wait.Truncate(time.Second).String()
	}
	return Fail(WrongState, fmt.Sprintf("sale %s %s, and a rehearsal would take from it what it needs: rehearse more than "+
		"%v before an opening and %v after one, or force it", next.ID, when, openingBefore, openingAfter))
}

// Open has the sale of a rehearsal open at an instant of Redis time. NotFound: the rehearsal does not run any more.
func (d *RehearsalDesk) Open(ctx context.Context, r *Rehearsal, opens, closes Millis) error {
	if err := d.Store.OpenRehearsal(ctx, r.Sale, opens, closes); err != nil {
		return Unreadable("the rehearsal", endedEarly(err))
	}
	sale, err := d.Sales.Sale(ctx, r.Sale)
	if err == nil && sale.Epoch != 0 {
		err = d.Redis.SetTerms(ctx, &sale)
	}
	if err != nil {
		return fmt.Errorf("open the sale of the rehearsal: %w", err)
	}
	return nil
}

// Keep says that somebody runs the rehearsal. NotFound: it was ended.
func (d *RehearsalDesk) Keep(ctx context.Context, r *Rehearsal) error {
	return Unreadable("the rehearsal", endedEarly(d.Store.KeepRehearsal(ctx, r.Sale)))
}

func endedEarly(err error) error {
	if errors.Is(err, ErrNoRow) {
		return Fail(NotFound, "the rehearsal was ended by somebody else, or by a node that heard nothing of it")
	}
	return err
}

// Under reads the rehearsal that is not gone. NotFound: there is none.
func (d *RehearsalDesk) Under(ctx context.Context) (Rehearsal, error) {
	r, _, err := d.Store.Rehearsing(ctx)
	if errors.Is(err, ErrNoRow) {
		return r, Fail(NotFound, "no rehearsal is under way, and nothing is left of one")
	}
	return r, Unreadable("the rehearsal", err)
}

// End journals what a rehearsal has come to, and lets nobody buy in it any more. Clean removes it.
func (d *RehearsalDesk) End(ctx context.Context, actor Actor, r *Rehearsal, result any) error {
	now, err := d.Inventory.Now(ctx)
	if err != nil {
		return Unreadable("Redis time", err)
	}
	_, err = d.Journal.Act(ctx, actor, func(ctx context.Context) (Act, error) {
		err := d.Store.EndRehearsal(ctx, r.Sale, now)
		return Act{Kind: "rehearsal.end", Object: saleObject(r.Of), Before: r, After: result}, err
	})
	return err
}

// EndAny ends the rehearsal that is under way, whoever runs it. Who asks again under the same key is answered the same,
// also when it is gone by then.
func (d *RehearsalDesk) EndAny(ctx context.Context, actor Actor) (r Rehearsal, err error) {
	now, err := d.Inventory.Now(ctx)
	if err != nil {
		return r, Unreadable("Redis time", err)
	}
	done, err := d.Journal.Act(ctx, actor, func(ctx context.Context) (Act, error) {
		r, err := d.Under(ctx)
		if err != nil {
			return Act{}, err
		}
		before := r
		if err := d.Store.EndRehearsal(ctx, r.Sale, now); err != nil {
			return Act{}, err
		}
		r.State = RehearsalEnding
		return Act{
			Kind: "rehearsal.end", Object: saleObject(r.Of), Before: before, After: r, Note: "ended by an operator", Answer: r,
		}, nil
	})
	if err == nil {
		err = done.Into(&r)
	}
	return r, err
}

// rehearsalNet begins the addresses of simulated shoppers: multicast, which nobody ever comes from.
const rehearsalNet = 0xff

// RehearsalAddr is the address that a shopper of a rehearsal counts as, whichever one the process that plays it has:
// each has an address of its own, as shoppers have, and none takes what an address of a real one may do.
func RehearsalAddr(user ID) netip.Addr {
	var b [16]byte
	b[0] = rehearsalNet
	for i := range 7 { // a customer of IPv6 is told by the first eight bytes
		b[7-i] = byte(user >> (8 * i))
	}
	return netip.AddrFrom16(b)
}

// IsRehearsalAddr reports whether it is such an address.
func IsRehearsalAddr(addr netip.Addr) bool { return addr.Is6() && addr.As16()[0] == rehearsalNet }

type rehearsalKey struct{}

// Rehearsing is the context of a shopper of a rehearsal: its sale, and no other one, is offered to them.
func Rehearsing(ctx context.Context, sale ID) context.Context {
	return context.WithValue(ctx, rehearsalKey{}, sale)
}

// Offered is Sale for shoppers: the sale of a rehearsal is there for its own shoppers alone, and they have no other.
func (c *Catalogue) Offered(ctx context.Context, id ID) (*Sale, error) {
	mine, _ := ctx.Value(rehearsalKey{}).(ID)
	if mine != 0 && mine != id {
		return nil, Fail(Forbidden, "a token of a rehearsal is good for the sale of the rehearsal alone")
	}
	sale, err := c.Sale(ctx, id)
	if err == nil && sale.Rehearses != 0 && mine != id {
		return nil, Fail(NotFound, "no such sale")
	}
	return sale, err
}
