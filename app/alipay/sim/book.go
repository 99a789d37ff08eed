package sim

import (
	"crypto/rand"
	"errors"
	"fmt"
	"sync"
	"time"
)

// Status is what the gateway says of a trade.
type Status string

// The states of a trade:
//
//	(signed) ── the buyer comes ──▶ waiting ──▶ success ── refunded as a whole ──▶ closed
//	                                   └──▶ closed (by the shop, by the buyer, by time)
const (
	Waiting Status = "WAIT_BUYER_PAY"
	Success Status = "TRADE_SUCCESS"
	Closed  Status = "TRADE_CLOSED"
)

// Refund is one refund by its request number.
type Refund struct {
	Request   string `json:"request"`
	AmountFen int64  `json:"amount_fen"`
}

// Trade is one trade in the book.
type Trade struct {
	Order       string    `json:"order"` // the shop's number
	No          string    `json:"trade_no"`
	Status      Status    `json:"status"`
	Subject     string    `json:"subject"`
	AmountFen   int64     `json:"amount_fen"`
	TakenFen    int64     `json:"taken_fen"` // 0 or AmountFen
	RefundedFen int64     `json:"refunded_fen"`
	Refunds     []Refund  `json:"refunds,omitempty"`
	CreatedAt   time.Time `json:"created_at"`
	ExpiresAt   time.Time `json:"expires_at"`
	PaidAt      time.Time `json:"paid_at,omitzero"`

	token     string // leads to the cashier
	begun     bool   // false: signed, and the buyer has not come yet
	method    string
	notifyURL string
	returnURL string
}

// Ledger is the truth: what was taken from buyers and what was given back.
type Ledger struct {
	TakenFen    int64   `json:"taken_fen"`
	RefundedFen int64   `json:"refunded_fen"`
	Trades      []Trade `json:"trades"` // in the order in which they began
}

// Why a press or a call is not possible.
var (
	errNoTrade = errors.New("no such trade")
	errStatus  = errors.New("not possible in this state")
	errOther   = errors.New("the number is in use for something else")
	errTooMuch = errors.New("more than was paid")
)

// book keeps the trades. What it hands out are copies.
type book struct {
	now func() time.Time

	mu      sync.Mutex
	orders  map[string]*Trade
	tokens  map[string]*Trade
	begun   []*Trade
	trading int64
}

func newBook(now func() time.Time) *book {
	return &book{now: now, orders: make(map[string]*Trade), tokens: make(map[string]*Trade)}
}

// sign notes a trade that the shop has signed; begin reports whether the buyer is there with it. The same order again
// is the same trade, if the amount is the same.
func (b *book) sign(t Trade, begin bool) (Trade, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	known := b.orders[t.Order]
	if known == nil {
		known = &t
		known.token = rand.Text()
		b.orders[t.Order], b.tokens[known.token] = known, known
	}
	if known.AmountFen != t.AmountFen {
		return Trade{}, errOther
	}
	if !known.begun { // the newest word of the shop counts until the buyer comes
		known.Subject, known.ExpiresAt = t.Subject, t.ExpiresAt
		known.method, known.notifyURL, known.returnURL = t.method, t.notifyURL, t.returnURL
	}
	if begin {
		b.begin(known)
	}
	b.age(known)
	return *known, nil
}

// begin makes a signed trade exist. Too late, it stays what it is: nothing.
func (b *book) begin(t *Trade) {
	if t.begun || !b.now().Before(t.ExpiresAt) {
		return
	}
	b.trading++
	t.begun, t.Status, t.CreatedAt = true, Waiting, b.now()
	t.No = fmt.Sprintf("%s22001400%012d", b.now().Format("20060102"), b.trading)
	b.begun = append(b.begun, t)
}

// age closes a trade whose time is over.
func (b *book) age(t *Trade) {
	if t.begun && t.Status == Waiting && !b.now().Before(t.ExpiresAt) {
		t.Status = Closed
	}
}

// change does something to an existing trade and answers it as it is afterwards.
func (b *book) change(order string, do func(t *Trade) error) (Trade, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	t := b.orders[order]
	if t == nil || !t.begun {
		return Trade{}, errNoTrade
	}
	b.age(t)
	err := do(t)
	return *t, err
}

// arrive finds a trade by its token, and lets it begin.
func (b *book) arrive(token string) (Trade, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	t := b.tokens[token]
	if t == nil {
		return Trade{}, errNoTrade
	}
	b.begin(t)
	b.age(t)
	return *t, nil
}

func (b *book) read(order string) (Trade, error) {
	return b.change(order, func(*Trade) error { return nil })
}

// take moves the buyer's money. Only a waiting trade takes it; late is for the fault that takes it from a closed one.
func (b *book) take(order string, late bool) (Trade, error) {
	return b.change(order, func(t *Trade) error {
		if t.Status != Waiting && (!late || t.TakenFen > 0) {
			return errStatus
		}
		t.Status, t.TakenFen, t.PaidAt = Success, t.AmountFen, b.now()
		return nil
	})
}

// close ends a waiting trade.
func (b *book) close(order string) (Trade, error) {
	return b.change(order, func(t *Trade) error {
		if t.Status != Waiting {
			return errStatus
		}
		t.Status = Closed
		return nil
	})
}

// refund gives back; fresh reports whether money moved now. The same number again is the same refund.
func (b *book) refund(order, request string, fen int64) (t Trade, fresh bool, err error) {
	t, err = b.change(order, func(t *Trade) error {
		for _, r := range t.Refunds {
			switch {
			case r == Refund{request, fen}:
				return nil
			case r.Request == request:
				return errOther
			}
		}
		switch {
		case t.Status != Success:
			return errStatus
		case fen <= 0 || t.RefundedFen+fen > t.TakenFen:
			return errTooMuch
		}
		// copies share the old array
		t.Refunds = append(t.Refunds[:len(t.Refunds):len(t.Refunds)], Refund{request, fen})
		t.RefundedFen += fen
		if t.RefundedFen == t.TakenFen {
			t.Status = Closed
		}
		fresh = true
		return nil
	})
	return t, fresh, err
}

func (b *book) ledger() Ledger {
	b.mu.Lock()
	defer b.mu.Unlock()
	l := Ledger{Trades: make([]Trade, 0, len(b.begun))}
	for _, t := range b.begun {
		b.age(t)
		l.TakenFen += t.TakenFen
		l.RefundedFen += t.RefundedFen
		l.Trades = append(l.Trades, *t)
	}
	return l
}
