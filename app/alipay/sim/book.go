package sim

import (
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"
)

// Status is the gateway's state of a trade.
type Status string

// The states of a trade:
//
//	(signed) ── the buyer opens the cashier ──▶ waiting ──▶ success ── full refund ──▶ closed
//	                                              └──▶ closed (by the shop, by the buyer, at expiry)
const (
	Waiting Status = "WAIT_BUYER_PAY"
	Success Status = "TRADE_SUCCESS"
	Closed  Status = "TRADE_CLOSED"
)

// Refund is one refund by its request number.
type Refund struct {
	Request   string    `json:"request"`
	AmountFen int64     `json:"amount_fen"`
	At        time.Time `json:"at"`
}

// Trade is one trade in the book.
type Trade struct {
	Order       string    `json:"order"` // the shop's order number
	No          string    `json:"trade_no"`
	Status      Status    `json:"status"`
	Subject     string    `json:"subject"`
	Body        string    `json:"body,omitempty"`
	AmountFen   int64     `json:"amount_fen"`
	TakenFen    int64     `json:"taken_fen"` // 0 or AmountFen
	RefundedFen int64     `json:"refunded_fen"`
	Refunds     []Refund  `json:"refunds,omitempty"`
	CreatedAt   time.Time `json:"created_at"`
	ExpiresAt   time.Time `json:"expires_at"`
	PaidAt      time.Time `json:"paid_at,omitzero"`

	token     string // part of the cashier's address
	started   bool   // false: signed, but not yet opened by the buyer
	method    string
	notifyURL string
	returnURL string
}

// Ledger contains the amounts taken from buyers and refunded to buyers. The sums include the deleted trades.
type Ledger struct {
	TakenFen    int64   `json:"taken_fen"`
	RefundedFen int64   `json:"refunded_fen"`
	Trades      []Trade `json:"trades"` // in the order of their start
}

const (
	// paidRetention and unpaidRetention are how long a trade stays after its expiry, so that the memory is bounded.
	// Paid trades can be refunded. The daily reconciliation of the shop queries the trades of today and yesterday.
	paidRetention   = 7 * 24 * time.Hour
	unpaidRetention = 48 * time.Hour
	// cleanInterval is the minimum time between two deletions of old trades.
	cleanInterval = 10 * time.Minute
)

// Reasons for a rejected action or call.
var (
	errNoTrade     = errors.New("no such trade")
	errStatus      = errors.New("the state does not allow it")
	errNumberInUse = errors.New("the number is already in use")
	errTooMuch     = errors.New("more than the paid amount")
)

// book stores the trades. Its methods return copies of trades.
type book struct {
	now func() time.Time

	mu          sync.Mutex
	orders      map[string]*Trade
	tokens      map[string]*Trade
	started     []*Trade
	deleted     Ledger // sums of the deleted trades
	cleanedAt   time.Time
	lastTradeNo int64
}

func newBook(now func() time.Time) *book {
	// The numbers of an earlier start are not used again, because the shop has stored them: 10,000 numbers a second.
	lastTradeNo := now().Unix() % 1e8 * 10_000
	return &book{now: now, lastTradeNo: lastTradeNo, orders: make(map[string]*Trade), tokens: make(map[string]*Trade)}
}

// addSigned stores a trade that the shop has signed; start reports whether the buyer has opened it. The same order with
// the same amount is the same trade.
func (b *book) addSigned(t Trade, start bool) (Trade, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	known := b.orders[t.Order]
	if known == nil {
		b.deleteOld()
		known = &t
		known.token = rand.Text()
		b.orders[t.Order], b.tokens[known.token] = known, known
	}
	if known.AmountFen != t.AmountFen {
		return Trade{}, errNumberInUse
	}
	if !known.started { // until the buyer opens the trade, the shop's latest request replaces it
		known.Subject, known.Body, known.ExpiresAt = t.Subject, t.Body, t.ExpiresAt
		known.method, known.notifyURL, known.returnURL = t.method, t.notifyURL, t.returnURL
	}
	if start {
		b.start(known)
	}
	b.closeIfExpired(known)
	return *known, nil
}

// deleteOld deletes the trades that expired before the retention time, at most once per cleanInterval.
func (b *book) deleteOld() {
	now := b.now()
	if now.Sub(b.cleanedAt) < cleanInterval {
		return
	}
	b.cleanedAt = now
	isOld := func(t *Trade) bool {
		if t.TakenFen > 0 {
			return now.Sub(t.ExpiresAt) > paidRetention
		}
		return now.Sub(t.ExpiresAt) > unpaidRetention
	}
	maps.DeleteFunc(b.orders, func(_ string, t *Trade) bool { return isOld(t) })
	maps.DeleteFunc(b.tokens, func(_ string, t *Trade) bool { return isOld(t) })
	b.started = slices.DeleteFunc(b.started, func(t *Trade) bool {
		if isOld(t) {
			b.deleted.TakenFen += t.TakenFen
			b.deleted.RefundedFen += t.RefundedFen
		}
		return isOld(t)
	})
}

// start creates a signed trade at the gateway. After the expiry of the trade, it does nothing.
func (b *book) start(t *Trade) {
	if t.started || !b.now().Before(t.ExpiresAt) {
		return
	}
	b.lastTradeNo++
	t.started, t.Status, t.CreatedAt = true, Waiting, b.now()
	t.No = fmt.Sprintf("%s22001400%012d", b.now().Format("20060102"), b.lastTradeNo)
	b.started = append(b.started, t)
}

// closeIfExpired closes a waiting trade after its expiry.
func (b *book) closeIfExpired(t *Trade) {
	if t.started && t.Status == Waiting && !b.now().Before(t.ExpiresAt) {
		t.Status = Closed
	}
}

// change applies `do` to an existing trade and returns its resulting state.
func (b *book) change(order string, do func(t *Trade) error) (Trade, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	t := b.orders[order]
	if t == nil || !t.started {
		return Trade{}, errNoTrade
	}
	b.closeIfExpired(t)
	err := do(t)
	return *t, err
}

// openByToken finds a trade by its token and starts it.
func (b *book) openByToken(token string) (Trade, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	t := b.tokens[token]
	if t == nil {
		return Trade{}, errNoTrade
	}
	b.start(t)
	b.closeIfExpired(t)
	return *t, nil
}

func (b *book) read(order string) (Trade, error) {
	return b.change(order, func(*Trade) error { return nil })
}

// take moves the buyer's money. It accepts a waiting trade and, if late is true, also a closed trade (for a fault).
func (b *book) take(order string, late bool) (Trade, error) {
	return b.change(order, func(t *Trade) error {
		if t.Status != Waiting && (!late || t.TakenFen > 0) {
			return errStatus
		}
		t.Status, t.TakenFen, t.PaidAt = Success, t.AmountFen, b.now()
		return nil
	})
}

// close closes a waiting trade.
func (b *book) close(order string) (Trade, error) {
	return b.change(order, func(t *Trade) error {
		if t.Status != Waiting {
			return errStatus
		}
		t.Status = Closed
		return nil
	})
}

// refund returns money; moved reports whether money moved now. A repeat with the same number and amount moves no money.
func (b *book) refund(order, request string, fen int64) (t Trade, moved bool, err error) {
	t, err = b.change(order, func(t *Trade) error {
		for _, r := range t.Refunds {
			switch {
			case r.Request == request && r.AmountFen == fen:
				return nil
			case r.Request == request:
				return errNumberInUse
			}
		}
		switch {
		case t.Status != Success:
			return errStatus
		case fen <= 0 || t.RefundedFen+fen > t.TakenFen:
			return errTooMuch
		}
		// The array is copied, because copies of the trade share it.
		t.Refunds = append(t.Refunds[:len(t.Refunds):len(t.Refunds)], Refund{request, fen, b.now()})
		t.RefundedFen += fen
		if t.RefundedFen == t.TakenFen {
			t.Status = Closed
		}
		moved = true
		return nil
	})
	return t, moved, err
}

func (b *book) ledger() Ledger {
	b.mu.Lock()
	defer b.mu.Unlock()
	l := b.deleted
	l.Trades = make([]Trade, 0, len(b.started))
	for _, t := range b.started {
		b.closeIfExpired(t)
		l.TakenFen += t.TakenFen
		l.RefundedFen += t.RefundedFen
		l.Trades = append(l.Trades, *t)
	}
	return l
}
