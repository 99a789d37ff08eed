//go:build crashpoints

package crash

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"stampede/app"
	"stampede/app/account"
)

// buyer is one user with one or two phones. What a buyer does belongs to one goroutine at a time.
type buyer struct {
	world  *world
	id     app.ID
	token  string
	phones []*phone
	dice   *rand.Rand
	keys   int
	open   []Op // buys without a known outcome, to be tried again
}

// invite makes n new buyers; every fifth has two phones. They are not connected yet.
func (w *world) invite(n int) {
	w.t.Helper()
	issuer, err := account.NewIssuer([]byte(secret), nil)
	w.must(err)
	for i := range n {
		b := &buyer{world: w, id: newID(), dice: rand.New(rand.NewPCG(w.dice.Uint64(), w.dice.Uint64()))}
		b.token, err = issuer.Issue(b.id, "Tester", account.Shopper, time.Hour)
		w.must(err)
		phones := 1
		if i%5 == 0 {
			phones = 2
		}
		for number := range phones {
			p := &phone{who: b, number: number}
			b.phones = append(b.phones, p)
			w.t.Cleanup(p.close)
		}
		w.people = append(w.people, b)
	}
}

// connect brings every phone that has no open socket to the node.
func (b *buyer) connect(addr string) error {
	for _, p := range b.phones {
		if err := p.connect(addr); err != nil {
			return fmt.Errorf("user %s, device %d: %w", b.id, p.number, err)
		}
	}
	return nil
}

func (b *buyer) heardOnEveryPhone() bool {
	return !slices.ContainsFunc(b.phones, func(p *phone) bool { return !p.hasHeard() })
}

// press buys once more under a new key.
func (b *buyer) press(sale *app.Sale) Op {
	b.keys++
	return b.buy(Op{
		Kind: Buy, User: b.id, Sale: sale.ID, Key: fmt.Sprintf("%s-%d", b.id, b.keys), Qty: 1 + b.dice.IntN(min(3, sale.Limit)),
	})
}

// buy sends the buy and writes down what came of it. Busy and a lost socket are the same: unknown. A rate limit is
// waited out, because it says that nothing was done.
func (b *buyer) buy(op Op) Op {
	op.Asked = b.now()
	reply, err := b.patient(map[string]any{"op": "buy", "sale": op.Sale, "qty": op.Qty, "key": op.Key})
	op.Known, op.Code = b.now(), codeOf(err)
	switch {
	case err == nil:
		var r app.Receipt
		if err := json.Unmarshal(reply, &r); err != nil {
			b.world.t.Errorf("buy answered %s: %v", reply, err)
		}
		op.Outcome, op.Order, op.Ticket, op.State = OK, r.Order, r.Ticket, r.State
	case op.Code == "" || op.Code == app.Busy || op.Code == app.Internal:
		op.Outcome = Unknown
	default:
		op.Outcome = Refused
	}
	b.world.memory.op(op)
	return op
}

// cancel gives an order up.
func (b *buyer) cancel(order, sale app.ID) {
	op := Op{Kind: Cancel, User: b.id, Sale: sale, Order: order, Asked: b.now()}
	reply, err := b.patient(map[string]any{"op": "cancel", "order": order})
	op.Known, op.Code = b.now(), codeOf(err)
	switch {
	case err == nil:
		var answer struct{ State app.OrderState }
		if err := json.Unmarshal(reply, &answer); err != nil {
			b.world.t.Errorf("cancel answered %s: %v", reply, err)
		}
		op.Outcome, op.State = OK, answer.State
	case op.Code == "" || op.Code == app.Busy || op.Code == app.Internal:
		op.Outcome = Unknown
	default:
		op.Outcome = Refused
	}
	b.world.memory.op(op)
}

// patient does an op on the first phone, again and again while the socket says that it is too fast.
func (b *buyer) patient(op map[string]any) (json.RawMessage, error) {
	for {
		reply, err := b.phones[0].ask(op)
		var e *app.Error
		if !errors.As(err, &e) || e.Code != app.RateLimited {
			return reply, err
		}
		b.pause(e.RetryMS)
	}
}

// pause keeps the pause that the server asked for, or until the socket ends.
func (b *buyer) pause(ms int64) {
	timer := time.NewTimer(time.Duration(max(ms, 20)) * time.Millisecond)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-b.phones[0].line().gone:
	}
}

func (b *buyer) now() app.Millis { return app.Millis(time.Since(b.world.began).Milliseconds()) }
