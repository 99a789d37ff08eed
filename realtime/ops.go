package realtime

import (
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"strconv"
	"sync"
	"time"

	"stampede/app"
)

// op carries out one kind of request. It answers what goes into `ok`, or sent when it has replied by itself, or later
// when it goes on after it has returned and will finish the request.
type op func(c *client, ctx *opContext, r *request) (any, error)

type remark string

const (
	sent  = remark("sent already")
	later = remark("not finished yet")
)

var ops = map[string]op{
	"hello":   (*client).hello,
	"renew":   (*client).renew,
	"time":    (*client).time,
	"watch":   (*client).watch,
	"unwatch": (*client).unwatch,
	"buy":     (*client).buy,
	"pass":    (*client).pass,
	"solve":   (*client).solve,
	"cancel":  ofOrder(cancel),
	"pay":     ofOrder(pay),
	"refund":  ofOrder(refund),
	"orders":  (*client).orders,
	"seen":    (*client).seen,
	"board":   (*client).watchBoard,
}

// requests holds requests for reuse; nobody keeps one longer than its op.
var requests = sync.Pool{New: func() any { return new(request) }}

// handle answers one frame, perhaps after it has returned. Ops of one connection are carried out one after the other:
// the next one waits here for its turn, and its time begins with that.
func (c *client) handle(frame []byte) {
	now := c.alive()
	r := requests.Get().(*request)
	defer requests.Put(r)
	failed := r.decode(frame)
	begins := now
	if !c.turn.TryLock() {
		c.turn.Lock()
		begins = time.Now()
	}
	if wait, out := c.pace.spend(now); wait > 0 {
		failed = app.Fail(app.RateLimited, "too many ops on this connection")
		failed.RetryMS = (wait + time.Millisecond - 1).Milliseconds() // rounded up: not a moment too early
		if out {
			defer c.depart(CloseTooFast)
		}
	}
	if r.unreadable && c.unreadable.strike(now) {
		defer c.depart(CloseProtocol)
	}
	run, known := ops[r.op]
	switch {
	case failed != nil:
	case !known:
		failed = app.Fail(app.UnknownOp, "unknown op "+strconv.Quote(clip(r.op)))
	case r.op != "hello" && !c.isGreeted():
		failed = app.Fail(app.BadRequest, "say hello first")
	}
	if failed != nil {
		c.refuse(r.id, failed)
		c.turn.Unlock()
		return
	}
	c.answer(run, r, begins.Add(c.hub.options.OpWithin))
}

// answer runs the op, and finishes it unless it will do so itself.
func (c *client) answer(run op, r *request, until time.Time) {
	ctx := newOpContext(c, until, r)
	ok, err := c.contain(run, ctx, r)
	if ok != later {
		c.finish(ctx, ok, err)
	}
}

// contain runs the op. A panic is a fault of ours like any other; its text stays here.
func (c *client) contain(run op, ctx *opContext, r *request) (ok any, err error) {
	defer func() {
		if p := recover(); p != nil {
			slog.ErrorContext(ctx, "op panicked", "panic", p, "stack", string(debug.Stack()))
			ok, err = nil, errPanicked
		}
	}()
	return run(c, ctx, r)
}

var errPanicked = errors.New("panic")

// finish replies, unless the op has done so, and lets the next op begin.
func (c *client) finish(ctx *opContext, ok any, err error) {
	defer c.turn.Unlock()
	ctx.release()
	switch {
	case err != nil:
		e := app.AsError(err)
		switch {
		case e.Code == app.Internal && !errors.Is(err, errPanicked):
			slog.ErrorContext(ctx, "op failed", "err", err)
		case e.Code == app.Busy && slog.Default().Enabled(ctx, slog.LevelDebug):
			slog.DebugContext(ctx, "op was told to come back", "err", err)
		}
		c.refuse(ctx.id, e)
	case ok != sent:
		c.send(replyFrame(ctx.id, ok))
	}
}

func (c *client) refuse(id int64, e *app.Error) {
	c.hub.metrics.refusedAs(e.Code).Inc()
	c.send(refusalFrame(id, e))
}

func (c *client) time(_ *opContext, r *request) (any, error) {
	t0, failed := r.roundTrip()
	if failed != nil {
		return nil, failed
	}
	return roundTrip{T0: t0, Now: c.hub.shop.Now()}, nil
}

// watch adds a slot or sales to what is watched, and answers their snapshot. What changes between the snapshot and
// the first tick is offered again from what was said lately, and with a tick of the whole set.
func (c *client) watch(ctx *opContext, r *request) (any, error) {
	slot, sales, failed := r.watched()
	if failed != nil {
		return nil, failed
	}
	mark := c.hub.news.mark()
	view, err := c.hub.shop.Watch(c.bound(ctx), slot, sales)
	if err != nil {
		return nil, err
	}
	c.hub.enrol(&view, sales)
	next := c.hub.stillWatched(c.watching.with(view.Slot, sales))
	if len(next.slots) > maxWatchedSlots || len(next.sales) > maxWatchedSales {
		return nil, app.Fail(app.RateLimited, fmt.Sprintf(
			"at most %d slots and %d single sales may be watched; unwatch some first", maxWatchedSlots,
			maxWatchedSales))
	}
	if view.Slots == nil {
		view.Slots = []app.Slot{}
	}
	if view.Sales == nil {
		view.Sales = []app.SaleView{}
	}
	if busy := c.hub.join(c, next, encode(reply{r.id, view})); busy != nil {
		return nil, busy
	}
	c.watching = next
	for _, e := range c.hub.news.since(mark) {
		if e.sale == 0 || c.hub.watches(c, e.sale) {
			c.offerNews(e.subject, e.frame)
		}
	}
	return sent, nil
}

func (c *client) unwatch(_ *opContext, r *request) (any, error) {
	slot, sales, failed := r.watched()
	if failed != nil {
		return nil, failed
	}
	next := c.hub.stillWatched(c.watching.without(slot, sales))
	if busy := c.hub.join(c, next, encode(reply{r.id, empty{}})); busy != nil {
		return nil, busy
	}
	c.watching = next
	return sent, nil
}

func (c *client) buy(ctx *opContext, r *request) (any, error) {
	user, err := c.buyer()
	if err != nil {
		return nil, err
	}
	req, failed := r.buyRequest()
	if failed != nil {
		return nil, failed
	}
	if c.hub.options.MayBuy != nil {
		if err := c.hub.options.MayBuy(user, c.addr, req.Sale); err != nil {
			return nil, err
		}
	}
	req.Span = c.hub.options.Tracer.Sample("socket", ctx.until.Add(-c.hub.options.OpWithin))
	c.hub.shop.BuyThen(c.bound(ctx), user, req, func(receipt app.Receipt, err error) {
		if err != nil {
			c.finish(ctx, nil, err) // without the receipt, which would have to be copied to become an any
			return
		}
		c.finish(ctx, receipt, nil)
	})
	return later, nil
}

func (c *client) pass(ctx *opContext, r *request) (any, error) {
	return c.atDesk(r, func(q app.PassQuestion) (app.PassAnswer, error) {
		return c.hub.shop.AskPass(c.bound(ctx), q)
	})
}

func (c *client) solve(ctx *opContext, r *request) (any, error) {
	return c.atDesk(r, func(q app.PassQuestion) (_ app.PassAnswer, err error) {
		var failed *app.Error
		if q.Task, failed = r.text("task"); failed != nil {
			return app.PassAnswer{}, failed
		}
		if q.Answer, failed = r.text("answer"); failed != nil {
			return app.PassAnswer{}, failed
		}
		return c.hub.shop.SolvePass(c.bound(ctx), q)
	})
}

// atDesk asks for a pass, as who this is.
func (c *client) atDesk(r *request, ask func(q app.PassQuestion) (app.PassAnswer, error)) (any, error) {
	user, err := c.buyer()
	if err != nil {
		return nil, err
	}
	sale, failed := r.requiredID("sale")
	if failed != nil {
		return nil, failed
	}
	return ask(app.PassQuestion{User: user, Sale: sale, From: c.addr})
}

// ofOrder makes an op about an order of who asks; whether it is theirs is for the flow to see.
func ofOrder(do func(ctx *opContext, shop Shop, user, order app.ID, r *request) (any, error)) op {
	return func(c *client, ctx *opContext, r *request) (any, error) {
		user, err := c.buyer()
		if err != nil {
			return nil, err
		}
		order, failed := r.requiredID("order")
		if failed != nil {
			return nil, failed
		}
		answer, err := do(ctx, c.hub.shop, user, order, r)
		return answer, app.Named(err, "order", order)
	}
}

func cancel(ctx *opContext, shop Shop, user, order app.ID, _ *request) (any, error) {
	state, err := shop.Cancel(ctx, user, order)
	return stateReply{state}, err
}

func pay(ctx *opContext, shop Shop, user, order app.ID, r *request) (any, error) {
	via, failed := r.text("via")
	if failed != nil {
		return nil, failed
	}
	return shop.Pay(ctx, user, order, app.PayVia(via))
}

func refund(ctx *opContext, shop Shop, user, order app.ID, r *request) (any, error) {
	reason, failed := r.text("reason")
	if failed != nil {
		return nil, failed
	}
	state, err := shop.AskRefund(ctx, user, order, reason)
	return stateReply{state}, err
}

func (c *client) orders(ctx *opContext, r *request) (any, error) {
	user, err := c.buyer()
	if err != nil {
		return nil, err
	}
	q, failed := r.ordersQuery()
	if failed != nil {
		return nil, failed
	}
	q.User = user
	orders, more, err := c.hub.shop.OrdersOf(ctx, q)
	if err != nil {
		return nil, err
	}
	if orders == nil {
		orders = []app.Order{}
	}
	return orderPage{Orders: orders, More: more}, nil
}

// seen is a mark that says how far the user has looked; it changes nothing of what is replayed.
func (c *client) seen(_ *opContext, r *request) (any, error) {
	if _, err := c.buyer(); err != nil {
		return nil, err
	}
	cursor, failed := r.text("cursor")
	if failed != nil {
		return nil, failed
	}
	if cursor == "" {
		return nil, app.Fail(app.BadRequest, "cursor is missing")
	}
	return empty{}, nil
}

// clip keeps foreign text short in messages.
func clip(s string) string {
	const most = 32
	if len(s) <= most {
		return s
	}
	return s[:most] + "…"
}
