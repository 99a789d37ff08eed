//go:build crashpoints

package crash

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"stampede/app/account"
	"stampede/app/order"
	"stampede/app/shop"
	"stampede/app/test/kit"
	"stampede/app/wsclient"
)

// buyer is one user with up to three phones. Only one goroutine at a time acts for a buyer.
type buyer struct {
	world       *world
	id          shop.ID
	token       string
	phones      []*phone
	rng         *rand.Rand
	keys        int
	unknownBuys []Op // buys with an unknown outcome, to be retried
}

// addBuyers adds n buyers, not connected yet. Every fifth has two phones.
func (w *world) addBuyers(n int) {
	w.t.Helper()
	issuer, err := account.NewIssuer([]byte(secret), nil)
	w.must(err)
	for i := range n {
		b := &buyer{world: w, id: kit.NewID(), rng: rand.New(rand.NewPCG(w.rng.Uint64(), w.rng.Uint64()))}
		b.token, err = issuer.Issue(b.id, "Tester", shop.Shopper, time.Hour)
		w.must(err)
		phones := 1
		if i%5 == 0 {
			phones = 2
		}
		for number := range phones {
			p := &phone{buyer: b, number: number}
			b.phones = append(b.phones, p)
			w.t.Cleanup(p.close)
		}
		w.buyers = append(w.buyers, b)
	}
}

// connect connects every phone without an open socket to the node.
func (b *buyer) connect(addr string) error {
	for _, p := range b.phones {
		if err := p.connect(addr); err != nil {
			return fmt.Errorf("user %s, device %d: %w", b.id, p.number, err)
		}
	}
	return nil
}

// attempt sends a buy with a new key.
func (b *buyer) attempt(sale *shop.Sale) Op {
	b.keys++
	return b.buy(Op{
		Kind: Buy, User: b.id, Sale: sale.ID, Key: fmt.Sprintf("%s-%d", b.id, b.keys), Qty: 1 + b.rng.IntN(min(3,
			sale.Limit)),
	})
}

// buy sends the buy and records its outcome.
func (b *buyer) buy(op Op) Op {
	op.RequestedAt = b.now()
	var r order.Receipt
	err := b.retryLimited(func(s *wsclient.Conn) (err error) {
		r, err = s.Buy(op.Sale, op.Qty, op.Key)
		return err
	})
	if err == nil {
		op.Order, op.Ticket, op.State = r.Order, r.Ticket, r.State
	}
	return b.recordOutcome(op, err)
}

// cancel cancels an order and records the outcome.
func (b *buyer) cancel(order, sale shop.ID) {
	op := Op{Kind: Cancel, User: b.id, Sale: sale, Order: order, RequestedAt: b.now()}
	err := b.retryLimited(func(s *wsclient.Conn) error {
		result, err := s.Cancel(order)
		op.State = result.State
		return err
	})
	b.recordOutcome(op, err)
}

// retryLimited runs an op on the first phone. It retries after rate_limited, which means that the op had no effect.
func (b *buyer) retryLimited(op func(s *wsclient.Conn) error) error {
	s := b.phones[0].socket()
	if s == nil {
		return wsclient.ErrNoReply
	}
	return s.RetryOnCodes(func() error { return op(s) }, shop.RateLimited)
}

// recordOutcome records the outcome of an op. Busy, internal errors and a lost socket count as unknown.
func (b *buyer) recordOutcome(op Op, err error) Op {
	op.Known, op.Code = b.now(), wsclient.CodeOf(err)
	switch {
	case err == nil:
		op.Outcome = OK
	case errors.Is(err, wsclient.ErrNoReply) || op.Code == shop.Busy || op.Code == shop.Internal:
		op.Outcome = Unknown
	case op.Code == "":
		b.world.t.Errorf("%s: %v", op.Kind, err)
	default:
		op.Outcome = Refused
	}
	b.world.memory.addOp(op)
	return op
}

func (b *buyer) now() shop.Millis { return shop.Millis(time.Since(b.world.began).Milliseconds()) }
