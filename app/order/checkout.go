package order

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"strconv"
	"sync"
	"time"

	"stampede/app/admission"
	"stampede/app/board"
	"stampede/app/catalog"
	"stampede/app/shop"
	"stampede/app/trace"
)

// BuyRequest is the content of a buy attempt. The user comes from the token, never from the request.
type BuyRequest struct {
	Sale    shop.ID       `json:"sale"`
	Qty     int           `json:"qty"`
	Key     string        `json:"key"` // chosen by the client, 8–64 characters; retries use the same key
	Address *shop.Address `json:"address,omitempty"`
	Pass    string        `json:"pass,omitempty"`
	Span    *trace.Span   `json:"-"` // started when the buy arrived; it ends with the reply; nil: not traced
}

// Receipt is the reply to an accepted buy, whether accepted now or earlier under the same key.
type Receipt struct {
	Order  shop.ID         `json:"order"`
	Ticket int64           `json:"ticket"`
	Place  int64           `json:"place"`
	State  shop.OrderState `json:"state"` // reserved; for a repeated key, the current state of the order
}

const (
	// windowMargin is the assumed maximum clock error of a node that rejects a buy by its own clock.
	windowMargin = 2 * time.Second
	// gateTimeout is how long a buy may wait for its Lua step if the context of the caller has no deadline.
	gateTimeout = 10 * time.Second
	// maxOrderIDs is the maximum number of IDs that a buy tries. An ID is in use if another node generated the same ID.
	maxOrderIDs = 4
	// maxQty keeps a quantity within the range of every layer. The limit per buyer is much lower.
	maxQty = 1_000_000
)

// errSoldOut is the most frequent result of a hot sale. It is shared and never changed.
var errSoldOut = shop.Fail(shop.SoldOut, "sold out")

// errPassRequired is the error for all invalid passes, so that callers cannot find out which check failed. It is never
// changed.
var errPassRequired = shop.Fail(shop.PassRequired, "this sale requires an unused pass; request one first")

// Gate reserves units for buys. It groups waiting buys of the same sale into one Lua call.
type Gate interface {
	// Reserve calls the function `then` exactly once, at once or from another goroutine, with the result, or with an
	// error if the outcome is unknown. This function must not block, because other callers wait for it.
	Reserve(b shop.Buy, until time.Time, then func(shop.GateResult, error))
}

// Checkout is flow 1: a buy becomes a reservation.
//
//	check (memory) ─→ reserve ─→ gate (Lua step) ─→ decided: one switch over the verdict ─→ end
//	                     ↑                             │
//	                     └── warm: sale not in Redis ──┤
//	                                                   └── a repeat or a limit reads Redis or the database ─→ end
//
// No check in memory may reject a buyer who already has a reservation or an order in this sale (I9).
type Checkout struct {
	Catalogue *catalog.Catalogue
	Gate      Gate
	SoldOut   *SoldOutFlags
	Warmer    *catalog.Warmer
	Queue     Queue
	Store     Store
	Clock     *shop.Clock
	Passes    *admission.Passes       // nil: every pass is invalid
	Mint      func() (shop.ID, error) // returns the next order ID
	Counts    *board.BuyCounts        // nil: buys are not counted

	background sync.WaitGroup // steps that read Redis or the database
}

// Close waits until all background steps have replied. The gate must be closed first.
func (c *Checkout) Close() { c.background.Wait() }

// Buy reserves units for the user. The same (user, sale, key) gives the same order during the life of the sale (P4).
// Busy means that the outcome is unknown: repeat with the same key.
func (c *Checkout) Buy(ctx context.Context, user shop.ID, req BuyRequest) (receipt Receipt, err error) {
	replied := make(chan struct{})
	c.BuyAsync(ctx, user, req, func(r Receipt, failed error) {
		receipt, err = r, failed
		close(replied)
	})
	<-replied
	return receipt, err
}

// BuyAsync is Buy without waiting. It calls the function `reply` exactly once, at once or from another goroutine. This
// function must not block, because other callers wait for it. ctx must stay valid until the reply; the Lua step uses
// only its deadline.
func (c *Checkout) BuyAsync(ctx context.Context, user shop.ID, req BuyRequest, reply func(Receipt, error)) {
	req.Span.NoteID("sale", int64(req.Sale))
	b := buying{checkout: c, ctx: ctx, reply: reply}
	b.buy.User, b.buy.Sale.ID, b.buy.Span = user, req.Sale, req.Span
	if err := b.check(&req); err != nil {
		b.end(Receipt{}, shop.LayerNode, err)
		return
	}
	sent := new(buying) // allocated after the checks: a rejection in memory allocates nothing
	*sent = b
	sent.reserve()
}

// buying is the state of one buy from the request to the reply.
type buying struct {
	checkout *Checkout
	ctx      context.Context
	sale     *shop.Sale // nil until the sale is found
	buy      shop.Buy
	reply    func(Receipt, error)

	ids      int  // number of IDs tried
	warmed   bool // the sale was loaded into Redis for this buy
	reserved bool // accepted by this buy, not by an earlier buy with the same key
}

// end is the only exit of a buy. It counts the result, with the layer of a rejection, replies, and ends the span.
func (b *buying) end(r Receipt, layer shop.Layer, err error) {
	b.checkout.Counts.Count(board.BuyResult{
		Sale: b.buy.Sale.ID, SaleFound: b.sale != nil, Layer: layer, Reserved: b.reserved, Err: err,
	})
	b.reply(r, err)
	if span := b.buy.Span; span != nil {
		if err == nil {
			span.NoteID("order", int64(r.Order))
			span.Note("state", string(r.State))
		}
		span.Finish(err)
	}
}

// check does all checks in memory and prepares the Lua step.
func (b *buying) check(req *BuyRequest) (err error) {
	if err := req.validate(); err != nil {
		return err
	}
	sale, err := b.checkout.Catalogue.VisibleSale(b.ctx, req.Sale)
	if err != nil {
		return err
	}
	b.sale = sale
	// No buyer can have a reservation before the sale opens, so this rejection is safe without Redis.
	if wait := sale.OpensAt.Sub(b.checkout.Clock.Now()); wait > windowMargin {
		return shop.OpensIn(wait)
	}
	if b.checkout.SoldOut.Rejects(sale.ID, b.buy.User) {
		if b.checkout.Clock.Now() >= sale.ClosesAt {
			return shop.Fail(shop.Closed, "the sale is closed")
		}
		return errSoldOut
	}
	b.buy.Sale, b.buy.Qty, b.buy.Key, b.buy.Hash = sale.Ref(), req.Qty, req.Key, req.contentHash()
	if sale.Challenge.NeedsPass() {
		// A buy without a pass continues: its key may have been accepted before (I9).
		now := b.checkout.Clock.Now()
		b.buy.NeedsPass, b.buy.Passed = true, b.checkout.Passes.Issued(req.Pass, sale.ID, b.buy.User, now)
	}
	if req.Address != nil {
		text, err := json.Marshal(req.Address)
		if err != nil {
			return fmt.Errorf("encode address: %w", err)
		}
		b.buy.Address = string(text)
	}
	b.buy.Order, err = b.checkout.orderID()
	return err
}

func (c *Checkout) orderID() (shop.ID, error) {
	id, err := c.Mint()
	if err != nil {
		return 0, fmt.Errorf("mint order id: %w",
			errors.Join(err, shop.FailBusy("no order id is available; repeat with the same key", shop.BusyRetry)))
	}
	return id, nil
}

// reserve passes the buy to the gate, which calls decided once.
func (b *buying) reserve() {
	until, limited := b.ctx.Deadline()
	if !limited {
		until = time.Now().Add(gateTimeout)
	}
	b.ids++
	b.checkout.Gate.Reserve(b.buy, until, b.decided)
}

// decided turns the verdict of the Lua step into a reply or the next step.
func (b *buying) decided(d shop.GateResult, err error) {
	layer := shop.LayerRedis
	if err != nil {
		b.end(Receipt{}, layer, b.unknownOutcome(err))
		return
	}
	if d.Local {
		layer = shop.LayerNode
	}
	switch d.Verdict {
	case shop.VerdictReserved:
		b.reserved = true
		b.end(receiptOf(d), layer, nil)
		return
	case shop.VerdictRepeated:
		b.query(func() (Receipt, error) { return b.currentState(receiptOf(d)), nil })
		return
	case shop.VerdictLimit:
		b.query(func() (Receipt, error) {
			return Receipt{}, b.limitReached(fmt.Sprintf("at most %d per buyer in this sale", b.sale.Limit))
		})
		return
	case shop.VerdictCap:
		b.query(func() (Receipt, error) {
			return Receipt{}, b.limitReached(fmt.Sprintf("at most %d reservations per buyer in this sale", b.sale.Cap))
		})
		return
	case shop.VerdictNotLoaded:
		if !b.warmed {
			b.warmed = true
			b.checkout.background.Go(b.warm)
			return
		}
		err = notReady()
	case shop.VerdictUsedID:
		err = notReady()
		if b.ids < maxOrderIDs {
			if b.buy.Order, err = b.checkout.orderID(); err == nil {
				b.reserve() // the same key with another ID
				return
			}
			layer = shop.LayerNode
		}
	case shop.VerdictOtherHash:
		err = shop.Fail(shop.DuplicateKey, "this key was used for another buy of this sale")
	case shop.VerdictNotOpen:
		err = shop.OpensIn(b.sale.OpensAt.Sub(b.checkout.Clock.Now()))
	case shop.VerdictClosed:
		err = shop.Fail(shop.Closed, "the sale is closed")
	case shop.VerdictPass:
		err = errPassRequired
	case shop.VerdictPaused:
		err = shop.Fail(shop.Paused, "the sale is paused")
	case shop.VerdictSoldOut:
		err = errSoldOut
		if d.Free == 0 {
			b.checkout.SoldOut.Suspect(b.sale.Ref())
		}
	case shop.VerdictBacklog:
		err = shop.FailBusy("too many orders are waiting; repeat with the same key", 4*shop.BusyRetry)
	default: // units in cooldown for too long, recovering, another epoch
		err = notReady()
	}
	b.end(Receipt{}, layer, err)
}

// notReady returns the error of temporary states of a sale.
func notReady() error {
	return shop.FailBusy("the sale is not ready yet; repeat with the same key", shop.BusyRetry)
}

// receiptOf returns the receipt of a reservation.
func receiptOf(d shop.GateResult) Receipt {
	return Receipt{Order: d.Order, Ticket: d.Ticket, Place: shop.PlaceOf(d.Ticket, d.Done), State: shop.Reserved}
}

// unknownOutcome wraps an error after which the outcome of the buy is unknown.
func (b *buying) unknownOutcome(err error) error {
	err = fmt.Errorf("reserve order %s of sale %s: %w", b.buy.Order, b.buy.Sale.ID,
		errors.Join(err, shop.FailBusy("the outcome is unknown; repeat with the same key", shop.BusyRetry)))
	return shop.WithErrorIDs(err, "order", b.buy.Order, "sale", b.buy.Sale.ID)
}

// warm loads a missing sale into Redis, once, and sends the buy again.
func (b *buying) warm() {
	_, err := recoverPanic(func() (Receipt, error) {
		// The keys of a sale stay in Redis long after its close.
		if b.checkout.Clock.Now().Sub(b.sale.ClosesAt) > windowMargin {
			return Receipt{}, shop.Fail(shop.Closed, "the sale is closed")
		}
		if err := b.checkout.Warmer.Ensure(b.ctx, b.sale.ID); err != nil {
			return Receipt{}, b.unknownOutcome(err)
		}
		return Receipt{}, nil
	})
	if err != nil {
		b.end(Receipt{}, shop.LayerNode, err)
		return
	}
	b.ids = 0
	b.reserve()
}

// query runs a query to Redis or the database in the background and ends the buy with its result.
func (b *buying) query(query func() (Receipt, error)) {
	b.checkout.background.Go(func() {
		receipt, err := recoverPanic(query)
		b.end(receipt, shop.LayerRedis, err)
	})
}

// recoverPanic turns a panic into an internal error without the text of the panic.
func recoverPanic(step func() (Receipt, error)) (r Receipt, err error) {
	defer func() {
		if p := recover(); p != nil {
			slog.Error("checkout panicked", "panic", p, "stack", string(debug.Stack()))
			r, err = Receipt{}, errors.New("panic")
		}
	}()
	return step()
}

// currentState returns the receipt of a repeated key: the same order in its current state. If the database is
// unavailable, it returns "reserved", the weaker claim (P3). If the ID belongs to the order of another buyer, the state
// is refused (ErrIDTaken).
func (b *buying) currentState(receipt Receipt) Receipt {
	order, err := b.checkout.Store.Order(b.ctx, receipt.Order)
	switch {
	case err != nil:
	case order.User != b.buy.User || order.Sale != b.buy.Sale.ID:
		receipt.State, receipt.Place = shop.Refused, 0
	default:
		receipt.State, receipt.Place = order.State, 0
	}
	return receipt
}

// limitReached returns an error that lists the orders for which the buyer holds units. It omits orders that it cannot
// read. It reads the waiting reservations before the rows. An order gets its row before it stops waiting, so no order
// is missed between the two reads.
func (b *buying) limitReached(message string) error {
	e := shop.Fail(shop.LimitReached, message)
	waiting, waitingErr := b.checkout.Queue.Waiting(b.ctx, b.buy.User)
	mine := shop.OrdersQuery{User: b.buy.User, Sale: b.buy.Sale.ID, Limit: 100}
	rows, _, err := b.checkout.Store.OrdersOf(b.ctx, mine)
	listed := make(map[shop.ID]bool, len(rows))
	if err == nil {
		for _, row := range rows {
			listed[row.ID] = true
			if row.HoldsUnits() {
				e.Orders = append(e.Orders, shop.OrderRef{ID: row.ID, State: row.State})
			}
		}
	}
	if waitingErr == nil {
		for _, r := range waiting {
			if r.Sale == b.buy.Sale.ID && !listed[r.Order] {
				e.Orders = append(e.Orders, shop.OrderRef{ID: r.Order, State: shop.Reserved})
			}
		}
	}
	return e
}

func (r *BuyRequest) validate() error {
	if r.Sale <= 0 {
		return shop.Fail(shop.BadRequest, "sale is missing")
	}
	if r.Qty < 1 {
		return shop.Fail(shop.BadRequest, "qty must be a whole number of at least 1")
	}
	if r.Qty > maxQty {
		return shop.Failf(shop.LimitReached, "qty %d is above the limit of %d", r.Qty, maxQty)
	}
	if !validKey(r.Key) {
		return shop.Fail(shop.BadRequest, "key must be 8 to 64 characters of A-Z a-z 0-9 . _ -")
	}
	if r.Address != nil {
		return r.Address.Clean()
	}
	return nil
}

// validKey accepts only characters without a special meaning in any layer.
func validKey(key string) bool {
	if len(key) < 8 || len(key) > 64 {
		return false
	}
	for i := range len(key) {
		if !keyCharacters[key[i]] {
			return false
		}
	}
	return true
}

var keyCharacters = func() (ok [256]bool) {
	for _, c := range []byte("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-") {
		ok[c] = true
	}
	return ok
}()

// contentHash identifies the content of a buy, so that reuse of a key for another buy is detected. It is short, because
// each reservation stores it in three places. Without an address it is the quantity, which is always shorter than a
// hash.
func (r *BuyRequest) contentHash() string {
	a, qty := r.Address, strconv.Itoa(r.Qty)
	if a == nil {
		return qty
	}
	h := sha256.New()
	h.Write([]byte(qty))
	for _, part := range []string{a.Name, a.Phone, a.Text} {
		h.Write([]byte{0})
		h.Write([]byte(part))
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}
