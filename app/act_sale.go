package app

import (
	"context"
	"errors"
	"log/slog"
)

// SaleTerms is a sale as operators decide about it.
type SaleTerms struct {
	ID        ID        `json:"id"`
	Version   int64     `json:"version"`
	Paused    bool      `json:"paused"`
	Challenge Challenge `json:"challenge"`
	PriceFen  int64     `json:"price_fen"`
	Limit     int       `json:"limit"`
	Cap       int       `json:"cap"`
	OpensAt   Millis    `json:"opens_at"`
	ClosesAt  Millis    `json:"closes_at"`
	Initial   int64     `json:"initial"`
	Added     int64     `json:"added"`
	Withdrawn int64     `json:"withdrawn"` // by operators; refunds are not in it
}

// TermsOf makes them of a sale.
func TermsOf(s *Sale) SaleTerms {
	return SaleTerms{
		ID: s.ID, Version: s.Version, Paused: s.Paused, Challenge: s.Challenge, PriceFen: s.PriceFen, Limit: s.Limit,
		Cap: s.Cap, OpensAt: s.OpensAt, ClosesAt: s.ClosesAt,
		Initial: s.Initial, Added: s.Added, Withdrawn: s.Withdrawn,
	}
}

// OperatorSale is a sale as an act leaves it: what was decided, and what moves, as of now.
type OperatorSale struct {
	SaleTerms
	Slot        ID     `json:"slot"`
	ProductName string `json:"product_name"`
	Phase       Phase  `json:"phase"`
	Stock       int64  `json:"stock"`
	Held        int64  `json:"held"`
	Sold        int64  `json:"sold"`
}

// SaleEditor changes what operators may change while people buy. Errors wrap ErrTransient or ErrPermanent.
type SaleEditor interface {
	// EditTerms changes a sale that is at the version given, and raises it and that of the catalogue. change may
	// refuse. Changed: it is at another version. ErrNoRow: there is no such sale.
	EditTerms(ctx context.Context, sale ID, version int64, change func(s *Sale) error) (before, after Sale, err error)
	// AskStock enters that units are to be taken out, as pending, and answers it with its number.
	AskStock(ctx context.Context, sale ID, units int64) (StockAct, error)
	// StockAct reads one. ErrNoRow if there is none.
	StockAct(ctx context.Context, id int64) (StockAct, error)
	// SettleStock counts the units that Redis took under the epoch as withdrawn, once, and returns the act.
	// ErrStaleEpoch: Redis was recovered since, and decides again.
	SettleStock(ctx context.Context, id, taken, epoch int64) (StockAct, error)
	// RefuseStock ends a pending act of a sale that will never be in Redis again.
	RefuseStock(ctx context.Context, id int64) (StockAct, error)
	// PendingStock lists acts that are not settled, the oldest first.
	PendingStock(ctx context.Context, limit int) ([]StockAct, error)
}

// SaleKeeper makes what was decided count in Redis.
type SaleKeeper interface {
	// SetTerms sets price, limits, window, pause and added units, unless Redis has a newer version. ErrLost: the sale
	// is not in Redis.
	SetTerms(ctx context.Context, s *Sale) error
	// TakeOut takes at most so many of the free units, once for each act: a repeat returns what was taken, and the
	// epoch under which that is known. ErrLost: the sale is not in Redis.
	TakeOut(ctx context.Context, sale SaleRef, act, units int64) (taken, epoch int64, err error)
}

// SaleDesk is where operators act on a sale while people buy. What they decide is committed first; then Redis hears of
// it, at once or, when it is away or this process dies, from the SaleFinisher of any node:
//
//	COMMIT (terms, version + 1, journal) ──▶ terms.lua, by version ──▶ ticks and `sale` events
//
// Units that are added go the same way: to the database first, so that its guard has them before they are sold (I2).
// Units are withdrawn the other way round, see WithdrawStock.
type SaleDesk struct {
	Journal   *Journal
	Store     SaleEditor
	Sales     SaleStore
	Redis     SaleKeeper
	Inventory Inventory
	// Load brings a sale into Redis that was never there.
	Load func(ctx context.Context, sale ID) error
	// Guest issues the token of a new guest that is bound to the sale.
	Guest func(sale ID) (string, error)
}

// SaleAct is what an operator asks for on a sale.
type SaleAct struct {
	Version int64
	Note    string
}

// Terms reads a sale. NotFound: there is none.
func (d *SaleDesk) Terms(ctx context.Context, sale ID) (SaleTerms, error) {
	s, err := d.Sales.Sale(ctx, sale)
	return TermsOf(&s), Unreadable("the sale", missing("sale", sale, err))
}

// PauseSale stops buys; who has reserved keeps the place, who has an order pays on.
func (d *SaleDesk) PauseSale(ctx context.Context, actor Actor, sale ID, a SaleAct) (OperatorSale, error) {
	return d.edit(ctx, actor, "sale.pause", sale, a, func(s *Sale, _ Millis) error {
		if s.Paused {
			return Fail(WrongState, "the sale is paused already")
		}
		s.Paused = true
		return nil
	})
}

// ResumeSale lets buys in again.
func (d *SaleDesk) ResumeSale(ctx context.Context, actor Actor, sale ID, a SaleAct) (OperatorSale, error) {
	return d.edit(ctx, actor, "sale.resume", sale, a, func(s *Sale, _ Millis) error {
		if !s.Paused {
			return Fail(WrongState, "the sale is not paused")
		}
		s.Paused = false
		return nil
	})
}

// EndSale closes an open sale now, or a hidden one before it opens. Unpaid orders keep their time to pay.
func (d *SaleDesk) EndSale(ctx context.Context, actor Actor, sale ID, a SaleAct) (OperatorSale, error) {
	return d.edit(ctx, actor, "sale.end", sale, a, func(s *Sale, now Millis) error {
		switch PhaseAt(now, s.OpensAt, s.ClosesAt) {
		case Upcoming:
			if s.Hidden {
				s.OpensAt, s.ClosesAt = now-1, now
				return nil
			}
			return Fail(WrongState, "the sale is not open yet; only an open one can be ended")
		case Open:
			s.ClosesAt = max(now, s.OpensAt+1)
			return nil
		default:
			return Fail(WrongState, "the sale is closed already")
		}
	})
}

// SetSaleChallenge says what a sale asks of its buyers from now on.
func (d *SaleDesk) SetSaleChallenge(
	ctx context.Context, actor Actor, sale ID, a SaleAct, c Challenge,
) (OperatorSale, error) {
	if _, err := ParseChallenge(string(c)); err != nil {
		return OperatorSale{}, err
	}
	return d.edit(ctx, actor, "sale.challenge", sale, a, func(s *Sale, _ Millis) error {
		s.Challenge = c
		return nil
	})
}

// mostAdded bounds what is added at once: a slip of the keyboard is not sold.
const mostAdded = 1_000_000

// AddStock puts further units on sale.
func (d *SaleDesk) AddStock(ctx context.Context, actor Actor, sale ID, a SaleAct, units int64) (OperatorSale, error) {
	if units < 1 || units > mostAdded {
		return OperatorSale{}, failf(BadRequest, "units must be from 1 to %d", mostAdded)
	}
	return d.edit(ctx, actor, "sale.add_stock", sale, a, func(s *Sale, now Millis) error {
		if PhaseAt(now, s.OpensAt, s.ClosesAt) == Ended {
			return Fail(WrongState, "the sale is closed; nothing of it is sold any more")
		}
		s.Added += units
		return nil
	})
}

// edit is an act that changes the terms of a sale.
func (d *SaleDesk) edit(
	ctx context.Context, actor Actor, kind string, sale ID, a SaleAct, change func(s *Sale, now Millis) error,
) (OperatorSale, error) {
	if err := CheckNote(a.Note); err != nil {
		return OperatorSale{}, err
	}
	now, err := d.Inventory.Now(ctx)
	if err != nil {
		return OperatorSale{}, Unreadable("Redis time", err)
	}
	terms, err := actFor[SaleTerms](ctx, d.Journal, actor, func(ctx context.Context) (Act, error) {
		before, after, err := d.Store.EditTerms(ctx, sale, a.Version, func(s *Sale) error { return change(s, now) })
		if err != nil {
			return Act{}, missing("sale", sale, err)
		}
		terms := TermsOf(&after)
		return Act{
			Kind: kind, Object: object("sale", sale), Before: TermsOf(&before), After: terms, Note: a.Note,
			Answer: terms,
		}, nil
	})
	if err != nil {
		return OperatorSale{}, d.moved(ctx, sale, err)
	}
	d.Tell(ctx, sale)
	return d.show(ctx, sale, terms)
}

// show joins the decided terms with the moving numbers. Without numbers from Redis nothing counts as taken.
func (d *SaleDesk) show(ctx context.Context, id ID, terms SaleTerms) (OperatorSale, error) {
	sale, err := d.Sales.Sale(ctx, id)
	if err != nil {
		return OperatorSale{}, Unreadable("the sale", missing("sale", id, err))
	}
	shown := OperatorSale{
		SaleTerms: terms, Slot: sale.Slot, ProductName: sale.Product.Name,
		Stock: terms.Initial + terms.Added - terms.Withdrawn,
	}
	now, err := d.Inventory.Now(ctx)
	if err != nil {
		return shown, Unreadable("Redis time", err)
	}
	shown.Phase = PhaseAt(now, terms.OpensAt, terms.ClosesAt)
	counters, err := d.Inventory.Counters(ctx, []SaleRef{sale.Ref()})
	if err != nil {
		return shown, Unreadable("the sale", err)
	}
	if c := counters[0]; c.Loaded {
		shown.Stock, shown.Held, shown.Sold = c.Stock, c.Held, c.Sold
	}
	return shown, nil
}

// moved lets a conflict carry the sale as it is shown.
func (d *SaleDesk) moved(ctx context.Context, id ID, err error) error {
	var said *Error
	if errors.As(err, &said) {
		if terms, is := said.Current.(SaleTerms); is {
			if shown, failed := d.show(ctx, id, terms); failed == nil {
				return Changed("the sale", shown)
			}
		}
	}
	return err
}

// Tell brings decisions about sales into Redis. The act is committed: SaleFinisher repeats what fails.
func (d *SaleDesk) Tell(ctx context.Context, sales ...ID) {
	for _, id := range sales {
		sale, err := d.Sales.Sale(ctx, id)
		if err == nil && sale.Epoch != 0 {
			err = d.Redis.SetTerms(ctx, &sale)
		}
		if err != nil {
			slog.WarnContext(ctx, "Redis does not know yet what was decided about a sale", "sale", id, "err", err)
		}
	}
}
