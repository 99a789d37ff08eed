package realtime

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"strconv"
	"sync"
	"time"

	"stampede/app/admission"
	"stampede/app/limits"
	"stampede/app/order"
	"stampede/app/payment"
	"stampede/app/shop"
)

// op executes one kind of request. It returns the body of the reply, or `sent` if it has sent the reply itself, or
// `unfinished` if it calls finish later.
type op func(c *client, ctx *opContext, r *request) (any, error)

type opStatus string

const (
	sent       = opStatus("already sent")
	unfinished = opStatus("not finished yet")
)

// ops maps names to ops. An op without a class is limited only by the rate of its connection. TestOpsHaveALimitClass
// lists the reason for each of these exemptions.
var ops = map[string]struct {
	run   op
	class limits.Class
}{
	"hello":   {opHello, ""},
	"renew":   {opRenew, ""},
	"time":    {opTime, ""},
	"watch":   {opWatch, limits.Watch},
	"unwatch": {opUnwatch, limits.Watch},
	"buy":     {opBuy, ""},
	"pass":    {opPass, limits.Pass},
	"solve":   {opSolve, limits.Pass},
	"cancel":  {orderOp(cancel), limits.Cancel},
	"pay":     {orderOp(pay), limits.Pay},
	"address": {orderOp(setAddress), limits.Orders},
	"refund":  {orderOp(refund), limits.Refund},
	"orders":  {opOrders, limits.Orders},
	"seen":    {opSeen, ""},
	"board":   {opBoard, ""},
}

// requests is the pool of requests. No op keeps its request after the op ends.
var requests = sync.Pool{New: func() any { return new(request) }}

// handle executes the op of one frame. The reply may follow after handle returns. Ops of one connection run one at a
// time: handle waits for the previous op, and the time limit of the op starts after this wait.
func (c *client) handle(frame []byte) {
	now := c.markAlive()
	r := requests.Get().(*request)
	defer requests.Put(r)
	failed := r.decode(frame)
	begins := now
	if !c.opMu.TryLock() {
		c.opMu.Lock()
		begins = time.Now()
	}
	if wait, exhausted := c.pace.spend(now); wait > 0 {
		failed = shop.Fail(shop.RateLimited, "too many ops on this connection")
		failed.RetryMS = (wait + time.Millisecond - 1).Milliseconds() // rounded up
		if exhausted {
			defer c.startClose(CloseTooFast)
		}
	}
	if r.invalidID && c.unreadableFrames.add(now) {
		defer c.startClose(CloseProtocol)
	}
	kind, known := ops[r.op]
	switch {
	case failed != nil:
	case !known:
		failed = shop.Fail(shop.UnknownOp, "unknown op "+strconv.Quote(clip(r.op)))
	case r.op != "hello" && !c.isGreeted():
		failed = shop.Fail(shop.BadRequest, "the first op must be hello")
	default:
		failed = c.hub.admit(c, kind.class)
	}
	if failed != nil {
		c.reject(r.id, failed)
		c.opMu.Unlock()
		return
	}
	ctx := newOpContext(c, begins.Add(c.hub.options.OpWithin), r)
	if ok, err := runRecovered(kind.run, c, ctx, r); ok != unfinished {
		c.finish(ctx, ok, err)
	}
}

// admit counts an op of a class against the limits of its user and address.
func (h *Hub) admit(c *client, class limits.Class) *shop.Error {
	if class == "" || h.options.Admit == nil {
		return nil
	}
	if err := h.options.Admit(class, c.currentIdentity().User, c.addr); err != nil {
		return shop.AsError(err)
	}
	return nil
}

// runRecovered runs the op and turns a panic into an internal error.
func runRecovered(run op, c *client, ctx *opContext, r *request) (ok any, err error) {
	defer func() {
		if p := recover(); p != nil {
			slog.ErrorContext(ctx, "op panicked", "panic", p, "stack", string(debug.Stack()))
			ok, err = nil, errPanicked
		}
	}()
	return run(c, ctx, r)
}

var errPanicked = errors.New("panic")

// finish sends the reply, unless the op has sent it, and unlocks opMu for the next op.
func (c *client) finish(ctx *opContext, ok any, err error) {
	defer c.opMu.Unlock()
	ctx.release()
	switch {
	case err != nil:
		e := shop.AsError(err)
		switch {
		case e.Code == shop.Internal && !errors.Is(err, errPanicked):
			slog.ErrorContext(ctx, "op failed", "err", err)
		case e.Code == shop.Busy && slog.Default().Enabled(ctx, slog.LevelDebug):
			slog.DebugContext(ctx, "op returned busy", "err", err)
		}
		c.reject(ctx.id, e)
	case ok != sent:
		c.send(replyFrame(ctx.id, ok))
	}
}

func (c *client) reject(id int64, e *shop.Error) {
	c.hub.metrics.rejectedCounter(e.Code).Inc()
	c.send(rejectionFrame(id, e))
}

func opTime(c *client, _ *opContext, r *request) (any, error) {
	t0, failed := r.roundTrip()
	if failed != nil {
		return nil, failed
	}
	return roundTrip{T0: t0, Now: c.hub.options.Shop.Now()}, nil
}

// opWatch adds a slot or sales to the watch set and replies with their snapshot. Changes between the snapshot and the
// first tick are sent again, from recentHints and with a tick of the whole set. A whole slot is never rejected: if no
// place is left for a combined set, the client watches this slot alone.
func opWatch(c *client, ctx *opContext, r *request) (any, error) {
	slot, sales, failed := r.watchFields()
	if failed != nil {
		return nil, failed
	}
	mark := c.hub.recentHints.mark()
	view, err := c.hub.options.Shop.Watch(boundContext(c, ctx), slot, sales)
	if err != nil {
		return nil, err
	}
	c.hub.recordSnapshot(&view, sales)
	next := c.hub.stillWatched(c.watching.with(view.Slot, sales))
	if len(next.slots) > maxWatchedSlots || len(next.sales) > maxWatchedSales {
		return nil, shop.Fail(shop.RateLimited, fmt.Sprintf("at most %d slots and %d single sales may be watched; "+
			"unwatch some first", maxWatchedSlots, maxWatchedSales))
	}
	if view.Slots == nil {
		view.Slots = []shop.Slot{}
	}
	if view.Sales == nil {
		view.Sales = []shop.SaleView{}
	}
	frame := encode(reply{r.id, view})
	busy := c.hub.join(c, next, frame)
	if busy != nil && view.Slot != 0 && len(sales) == 0 {
		next = watching{slots: []shop.ID{view.Slot}}
		busy = c.hub.join(c, next, frame)
	}
	if busy != nil {
		return nil, busy
	}
	c.watching = next
	for _, e := range c.hub.recentHints.since(mark) {
		if e.sale == 0 || c.hub.watches(c, e.sale) {
			c.offerHint(e.subject, e.frame)
		}
	}
	return sent, nil
}

func opUnwatch(c *client, _ *opContext, r *request) (any, error) {
	slot, sales, failed := r.watchFields()
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

func opBuy(c *client, ctx *opContext, r *request) (any, error) {
	user, err := c.buyer()
	if err != nil {
		return nil, err
	}
	req, failed := r.buyRequest()
	if failed != nil {
		return nil, failed
	}
	if c.hub.options.AdmitBuy != nil {
		if err := c.hub.options.AdmitBuy(user, c.addr, req.Sale); err != nil {
			return nil, err
		}
	}
	req.Span = c.hub.options.Tracer.Sample("socket", ctx.deadline.Add(-c.hub.options.OpWithin))
	c.hub.options.Shop.BuyAsync(boundContext(c, ctx), user, req, func(receipt order.Receipt, err error) {
		if err != nil {
			c.finish(ctx, nil, err) // no receipt here: its conversion to any would copy it
			return
		}
		c.finish(ctx, receipt, nil)
	})
	return unfinished, nil
}

func opPass(c *client, ctx *opContext, r *request) (any, error) {
	return requestPass(c, r, func(q admission.PassRequest) (admission.PassResult, error) {
		return c.hub.options.Shop.RequestPass(boundContext(c, ctx), q)
	})
}

func opSolve(c *client, ctx *opContext, r *request) (any, error) {
	return requestPass(c, r, func(q admission.PassRequest) (admission.PassResult, error) {
		f := fieldReader{request: r}
		if q.Task, q.Answer = f.text("task"), f.text("answer"); f.err != nil {
			return admission.PassResult{}, f.err
		}
		return c.hub.options.Shop.SolvePass(boundContext(c, ctx), q)
	})
}

// requestPass requests a pass for the user of the connection.
func requestPass(
	c *client, r *request, call func(q admission.PassRequest) (admission.PassResult, error),
) (any, error) {
	user, err := c.buyer()
	if err != nil {
		return nil, err
	}
	f := fieldReader{request: r}
	q := admission.PassRequest{User: user, Sale: f.requiredID("sale"), From: c.addr}
	if f.err != nil {
		return nil, f.err
	}
	return call(q)
}

// orderOp returns an op on an order of the user. The called service checks the owner of the order.
func orderOp(call func(ctx *opContext, services Shop, user, order shop.ID, f *fieldReader) (any, error)) op {
	return func(c *client, ctx *opContext, r *request) (any, error) {
		user, err := c.buyer()
		if err != nil {
			return nil, err
		}
		f := fieldReader{request: r}
		order := f.requiredID("order")
		if f.err != nil {
			return nil, f.err
		}
		frame, err := call(ctx, c.hub.options.Shop, user, order, &f)
		return frame, shop.WithErrorIDs(err, "order", order)
	}
}

func cancel(ctx *opContext, services Shop, user, order shop.ID, _ *fieldReader) (any, error) {
	state, err := services.Cancel(ctx, user, order)
	return stateReply{state}, err
}

func pay(ctx *opContext, services Shop, user, order shop.ID, f *fieldReader) (any, error) {
	via := f.text("via")
	if f.err != nil {
		return nil, f.err
	}
	return services.Pay(ctx, user, order, payment.PayVia(via))
}

func setAddress(ctx *opContext, services Shop, user, order shop.ID, f *fieldReader) (any, error) {
	address := f.address()
	if f.err != nil {
		return nil, f.err
	}
	state, err := services.SetAddress(ctx, user, order, address)
	return stateReply{state}, err
}

func refund(ctx *opContext, services Shop, user, order shop.ID, f *fieldReader) (any, error) {
	reason := f.text("reason")
	if f.err != nil {
		return nil, f.err
	}
	state, err := services.RequestRefund(ctx, user, order, reason)
	return stateReply{state}, err
}

func opOrders(c *client, ctx *opContext, r *request) (any, error) {
	user, err := c.buyer()
	if err != nil {
		return nil, err
	}
	q, failed := r.ordersQuery()
	if failed != nil {
		return nil, failed
	}
	q.User = user
	orders, more, err := c.hub.options.Shop.OrdersOf(ctx, q)
	if err != nil {
		return nil, err
	}
	if orders == nil {
		orders = []shop.Order{}
	}
	return orderPage{Orders: orders, More: more}, nil
}

// opSeen accepts the cursor up to which the user has read events. The cursor has no effect on replays.
func opSeen(c *client, _ *opContext, r *request) (any, error) {
	if _, err := c.buyer(); err != nil {
		return nil, err
	}
	f := fieldReader{request: r}
	if f.text("cursor") == "" {
		f.fail("cursor is missing")
	}
	if f.err != nil {
		return nil, f.err
	}
	return empty{}, nil
}

// clip shortens a text from a client for use in messages.
func clip(s string) string {
	const maxLength = 32
	if len(s) <= maxLength {
		return s
	}
	return s[:maxLength] + "…"
}

// opContext is the context of one op, with the request data for its reply. Its deadline starts a timer only when a
// caller waits for it. Most ops only read the deadline, and a timer would cost as much as decoding their frame.
type opContext struct {
	client   *client
	deadline time.Time
	id       int64 // id of the request
	op       string

	mu    sync.Mutex
	timer context.Context // context with the timer; nil until the first call of Done or Err
	stop  context.CancelFunc
}

// newOpContext returns the context of a request. The caller must release it.
func newOpContext(c *client, until time.Time, r *request) *opContext {
	return &opContext{client: c, deadline: until, id: r.id, op: r.op}
}

// Value returns the ids for log lines, and nil for all other keys.
func (o *opContext) Value(key any) any {
	if o.client == nil || !shop.IsLogIDs(key) {
		return nil
	}
	return []any{"op", o.op, "request", o.id, "session", o.client.session}
}

func (o *opContext) Deadline() (time.Time, bool) { return o.deadline, true }

func (o *opContext) Done() <-chan struct{} { return o.timerContext().Done() }

// Err uses the same timer as Done, so that Err is not nil as soon as Done is closed.
func (o *opContext) Err() error { return o.timerContext().Err() }

func (o *opContext) timerContext() context.Context {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.timer == nil {
		o.timer, o.stop = context.WithDeadline(context.Background(), o.deadline)
	}
	return o.timer
}

// release ends the context. Done and Err must not be called for the first time after release.
func (o *opContext) release() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.stop != nil {
		o.stop()
	}
}
