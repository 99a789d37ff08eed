package app

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
)

// BuyRequest is what a shopper asks for when pressing Buy. Who asks comes from the token, never from here.
type BuyRequest struct {
	Sale    ID       `json:"sale"`
	Qty     int      `json:"qty"`
	Key     string   `json:"key"` // chosen by the client, 8–64 characters; the same for every retry
	Address *Address `json:"address,omitempty"`
	Pass    string   `json:"pass,omitempty"`
	Span    *Span    `json:"-"` // begun where the buy came in, when it is traced; it ends with the answer
}

// Receipt answers a buy that was accepted, now or under the same key before.
type Receipt struct {
	Order  ID         `json:"order"`
	Ticket int64      `json:"ticket"`
	Place  int64      `json:"place"`
	State  OrderState `json:"state"` // reserved, or the state it has by now
}

const (
	// windowMargin is how far a node's clock may be off before it turns a buy away on its own.
	windowMargin = 2 * time.Second
	// busyRetry is the pause that a buyer with an unknown outcome is asked to keep.
	busyRetry = 500 * time.Millisecond
	// gateWithin is how long a buy may wait for its Lua step when its caller sets no limit.
	gateWithin = 10 * time.Second
	// maxQty keeps a quantity within what every layer can carry; the limit per buyer is far below.
	maxQty = 1_000_000
)

// errSoldOut is what most people hear at a hot sale: one for all of them, so nobody may change it.
var errSoldOut = Fail(SoldOut, "sold out")

// errPassRequired is said of every pass that does not count, whether it was forged, foreign, spent or has ended: who
// tries learns nothing. One for all, so nobody may change it.
var errPassRequired = Fail(PassRequired, "this sale asks for a pass that was not used yet; ask for one first")

// Checkout is flow 1: a buy becomes a reservation. It asks the cheap questions first, in memory, and leaves the
// decision to the Lua step behind the gate. Nothing in memory may turn away a buyer who already has
// something in this sale (I9).
//
//	admit ── the gate ──┬ reserved, or refused in a word ─→ then
//	 (memory) (Lua step) └ a repeat, a limit, a sale not in Redis: more is asked, on a goroutine of the checkout ─→ then
type Checkout struct {
	Catalogue *Catalogue
	Gate      Gate
	SoldOut   *SoldOutFlags
	Warmer    *Warmer
	Inventory Inventory
	Orders    OrderStore
	Clock     *Clock
	Passes    *Passes            // nil: no pass is in order
	Mint      func() (ID, error) // the next order id
	Tallies   *Tallies           // nil: nobody counts
	Counts    *SaleCounts        // the same by the sale; nil: nobody counts

	asking sync.WaitGroup
}

// Close waits until everybody has been told for whom more is asked. The gate is closed before.
func (t *Checkout) Close() { t.asking.Wait() }

// Buy reserves units for the user. The same (user, sale, key) gives the same order as long as the sale
// lives (P4). Busy means unknown: repeat with the same key.
func (t *Checkout) Buy(ctx context.Context, user ID, req BuyRequest) (receipt Receipt, err error) {
	told := make(chan struct{})
	t.BuyThen(ctx, user, req, func(r Receipt, failed error) {
		receipt, err = r, failed
		close(told)
	})
	<-told
	return receipt, err
}

// BuyThen is Buy for who does not wait. then is called exactly once: at once, or from another goroutine, where others
// are told after it, so it must not wait for anything. ctx must last until then; of its end only the deadline counts
// for the Lua step.
func (t *Checkout) BuyThen(ctx context.Context, user ID, req BuyRequest, then func(Receipt, error)) {
	t.Tallies.Of(req.Sale).press()
	req.Span.NoteID("sale", req.Sale)
	t.buy(ctx, user, req, receipted(req.Span, then))
}

func (t *Checkout) buy(ctx context.Context, user ID, req BuyRequest, then func(Receipt, error)) {
	sale, buy, err := t.admit(ctx, user, req)
	if sale != nil {
		t.Counts.pressOf(sale.ID)
	}
	if err != nil {
		t.refuse(then, req.Sale, LayerNode, err)
		return
	}
	t.reserve(ctx, sale, buy, then, func(d GateAnswer) {
		if d.Verdict == VerdictNotLoaded {
			t.asking.Go(func() { t.warmThenReserve(ctx, sale, buy, then) })
			return
		}
		t.answer(ctx, sale, buy, d, then)
	})
}

// admit asks what can be asked in memory. It answers the sale also when it refuses, if there is one.
func (t *Checkout) admit(ctx context.Context, user ID, req BuyRequest) (*Sale, Buy, error) {
	if err := req.validate(); err != nil {
		return nil, Buy{}, err
	}
	sale, err := t.Catalogue.Offered(ctx, req.Sale)
	if err != nil {
		return nil, Buy{}, err
	}
	// Before the window nobody can hold anything yet, so this answer is safe without Redis.
	if wait := sale.OpensAt.Sub(t.Clock.Now()); wait > windowMargin {
		return sale, Buy{}, notOpen(wait)
	}
	if t.SoldOut.TurnsAway(sale.ID, user) {
		if t.Clock.Now() >= sale.ClosesAt {
			return sale, Buy{}, Fail(Closed, "the sale is closed")
		}
		return sale, Buy{}, errSoldOut
	}
	buy, err := t.prepare(sale, user, req)
	return sale, buy, err
}

func (t *Checkout) prepare(sale *Sale, user ID, req BuyRequest) (Buy, error) {
	order, err := t.Mint()
	if err != nil {
		return Buy{}, fmt.Errorf("mint order id: %w",
			errors.Join(err, FailBusy("no order number can be given right now; repeat with the same key", busyRetry)))
	}
	buy := Buy{
		Order: order, User: user, Sale: sale.Ref(), Qty: req.Qty, Key: req.Key, Hash: req.contentHash(),
		Span: req.Span,
	}
	if sale.Challenge.NeedsPass() {
		// Whoever has none goes on all the same: the key may be one that was accepted before (I9).
		buy.NeedsPass, buy.Passed = true, t.Passes.issued(req.Pass, sale.ID, user, t.Clock.Now())
	}
	if req.Address != nil {
		text, err := json.Marshal(req.Address)
		if err != nil {
			return Buy{}, fmt.Errorf("encode address: %w", err)
		}
		buy.Address = string(text)
	}
	return buy, nil
}

// reserve runs the Lua step and goes on with its answer; when that is not known, then is told.
func (t *Checkout) reserve(
	ctx context.Context, sale *Sale, buy Buy, then func(Receipt, error), next func(GateAnswer),
) {
	until, limited := ctx.Deadline()
	if !limited {
		until = time.Now().Add(gateWithin)
	}
	t.Gate.Reserve(buy, until, func(d GateAnswer, err error) {
		if err != nil {
			t.refuse(then, sale.ID, LayerRedis, unknown(buy, err))
			return
		}
		next(d)
	})
}

// warmThenReserve brings a sale into Redis that is not there yet, once, and tries again.
func (t *Checkout) warmThenReserve(ctx context.Context, sale *Sale, buy Buy, then func(Receipt, error)) {
	_, err := contained(func() (Receipt, error) {
		if t.Clock.Now().Sub(sale.ClosesAt) > windowMargin { // its keys were retired long after it closed
			return Receipt{}, Fail(Closed, "the sale is closed")
		}
		return Receipt{}, unknown(buy, t.Warmer.Ensure(ctx, buy.Sale.ID))
	})
	if err != nil {
		t.refuse(then, sale.ID, LayerNode, err)
		return
	}
	t.reserve(ctx, sale, buy, then, func(d GateAnswer) { t.answer(ctx, sale, buy, d, then) })
}

// unknown says of an error that nobody knows what became of the buy.
func unknown(buy Buy, err error) error {
	if err == nil {
		return nil
	}
	err = fmt.Errorf("reserve order %s of sale %s: %w", buy.Order, buy.Sale.ID,
		errors.Join(err, FailBusy("the outcome is unknown; repeat with the same key", busyRetry)))
	return Named(err, "order", buy.Order, "sale", buy.Sale.ID)
}

// ask answers a question to Redis or the database, on a goroutine of the checkout.
func (t *Checkout) ask(then func(Receipt, error), sale ID, question func() (Receipt, error)) {
	t.asking.Go(func() {
		receipt, err := contained(question)
		if err != nil {
			t.refuse(then, sale, LayerRedis, err)
			return
		}
		then(receipt, nil)
	})
}

// refuse tells somebody no, and counts which layer has said so.
func (t *Checkout) refuse(then func(Receipt, error), sale ID, layer Layer, err error) {
	t.Tallies.Of(sale).refuse(err)
	t.Counts.turnAway(sale, layer, err)
	then(Receipt{}, err)
}

// contained keeps what a panic says on our side.
func contained(question func() (Receipt, error)) (r Receipt, err error) {
	defer func() {
		if p := recover(); p != nil {
			slog.Error("checkout panicked", "panic", p, "stack", string(debug.Stack()))
			r, err = Receipt{}, errors.New("panic")
		}
	}()
	return question()
}

// answer puts the verdict of the Lua step into the words of the protocol.
func (t *Checkout) answer(ctx context.Context, sale *Sale, buy Buy, d GateAnswer, then func(Receipt, error)) {
	switch d.Verdict {
	case VerdictReserved:
		t.Tallies.Of(sale.ID).reserve()
		t.Counts.reserve(sale.ID)
		then(reserved(d), nil)
	case VerdictRepeated:
		t.ask(then, sale.ID, func() (Receipt, error) { return t.stateByNow(ctx, reserved(d)), nil })
	case VerdictLimit:
		t.ask(then, sale.ID, func() (Receipt, error) {
			return Receipt{}, t.limitReached(ctx, sale, buy.User,
				fmt.Sprintf("at most %d per buyer in this sale", sale.Limit))
		})
	case VerdictCap:
		t.ask(then, sale.ID, func() (Receipt, error) {
			return Receipt{}, t.limitReached(ctx, sale, buy.User,
				fmt.Sprintf("at most %d reservations per buyer in this sale", sale.Cap))
		})
	default:
		t.away(sale, d, then)
	}
}

// away refuses in a word.
func (t *Checkout) away(sale *Sale, d GateAnswer, then func(Receipt, error)) {
	layer := LayerRedis
	if d.Unasked {
		layer = LayerNode
	}
	t.refuse(then, sale.ID, layer, t.refusal(sale, d))
}

// reserved is the receipt of a reservation.
func reserved(d GateAnswer) Receipt {
	return Receipt{Order: d.Order, Ticket: d.Ticket, Place: PlaceOf(d.Ticket, d.Done), State: Reserved}
}

// refusal is what is said of verdicts that need no more than a word.
func (t *Checkout) refusal(sale *Sale, d GateAnswer) error {
	switch d.Verdict {
	case VerdictOtherHash:
		return Fail(DuplicateKey, "this key was used for another buy of this sale")
	case VerdictNotOpen:
		return notOpen(sale.OpensAt.Sub(t.Clock.Now()))
	case VerdictClosed:
		return Fail(Closed, "the sale is closed")
	case VerdictPass:
		return errPassRequired
	case VerdictPaused:
		return Fail(Paused, "the sale is paused")
	case VerdictSoldOut:
		if d.Free == 0 {
			t.SoldOut.Suspect(sale.Ref())
		}
		return errSoldOut
	case VerdictBacklog:
		return FailBusy("too many orders are waiting; repeat with the same key", 4*busyRetry)
	default: // resting for too long, not loaded, rebuilding, other epoch: it will pass
		return FailBusy("the sale is getting ready; repeat with the same key", busyRetry)
	}
}

// stateByNow answers a repeated key: the same order, with the state it has by now. When the database cannot
// tell, "reserved" is the weaker claim (P3).
func (t *Checkout) stateByNow(ctx context.Context, receipt Receipt) Receipt {
	if order, err := t.Orders.Order(ctx, receipt.Order); err == nil {
		receipt.State, receipt.Place = order.State, 0
	}
	return receipt
}

// limitReached names what the buyer already holds, as far as it can be read now. What waits is read before the rows: an
// order has its row before it stops waiting, so none can slip through between the two reads.
func (t *Checkout) limitReached(ctx context.Context, sale *Sale, user ID, message string) error {
	e := Fail(LimitReached, message)
	waiting, waitingErr := t.Inventory.Waiting(ctx, user)
	rows, _, err := t.Orders.OrdersOf(ctx, OrdersQuery{User: user, Sale: sale.ID, Limit: 100})
	seen := make(map[ID]bool, len(rows))
	if err == nil {
		for _, row := range rows {
			seen[row.ID] = true
			if row.HoldsUnits() {
				e.Orders = append(e.Orders, OrderRef{ID: row.ID, State: row.State})
			}
		}
	}
	if waitingErr == nil {
		for _, r := range waiting {
			if r.Sale == sale.ID && !seen[r.Order] {
				e.Orders = append(e.Orders, OrderRef{ID: r.Order, State: Reserved})
			}
		}
	}
	return e
}

func notOpen(wait time.Duration) error {
	e := Fail(NotOpen, "the sale has not opened yet")
	e.RetryMS = max(0, wait.Milliseconds())
	return e
}

func (r *BuyRequest) validate() error {
	if r.Sale <= 0 {
		return Fail(BadRequest, "sale is missing")
	}
	if r.Qty < 1 {
		return Fail(BadRequest, "qty must be a whole number of at least 1")
	}
	if r.Qty > maxQty {
		return Fail(LimitReached, "qty is far above the limit per buyer")
	}
	if !validKey(r.Key) {
		return Fail(BadRequest, "key must be 8 to 64 characters of A-Z a-z 0-9 . _ -")
	}
	if r.Address != nil {
		return r.Address.Validate()
	}
	return nil
}

// validKey keeps keys to characters that mean nothing to any layer they pass through.
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

// contentHash identifies what is asked under a key, so that a key reused for something else is noticed. It is kept with
// each reservation in three places: without an address the quantity, which is never as long as a hash, says it all.
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
