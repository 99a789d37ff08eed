package shoppers

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/fasthttp/websocket"

	"stampede/app"
)

const (
	// regrets is the share of orders that are cancelled; the rest runs out of time.
	regrets = 0.2
	// shortest is the pause between two moves of one shopper, at least.
	shortest = time.Second
	// regretWithin is how long after its order a shopper changes their mind, at most.
	regretWithin = 40 * time.Second
)

// shopper is one simulated person. One goroutine decides, another one reads.
type shopper struct {
	base   string
	name   string
	random *rand.Rand
	pace   time.Duration // the mean pause between two buys
	rush   time.Duration // over what time a crowd of ordinary size makes its first move after a slot has opened
	token  string        // kept over visits, so that the same guest comes back

	conn   *websocket.Conn
	next   int64             // id of the next op
	asked  map[int64]request // ops that are not answered yet
	repeat *request          // what was refused for the moment and is to be asked again
	slot   app.ID            // whose sales these are
	sales  map[app.ID]sale
	regret map[app.ID]time.Time // orders that are to be cancelled, and when
}

// visit shops on one connection until it ends. The answer is why.
func (s *shopper) visit(ctx context.Context) error {
	token, err := enter(ctx, s.base, s.token)
	if err != nil {
		return err
	}
	s.token = token
	conn, err := dial(ctx, s.base)
	if err != nil {
		return err
	}
	s.conn, s.asked, s.repeat, s.slot = conn, make(map[int64]request), nil, 0
	s.sales, s.regret = make(map[app.ID]sale), make(map[app.ID]time.Time)
	frames, ended, left := make(chan frame, 16), make(chan error, 1), make(chan struct{})
	go func() { ended <- receive(conn, frames, left) }()
	err = s.shop(ctx, frames, ended)
	close(left)
	_ = conn.Close() // ends the reading goroutine, which is joined here
	<-ended
	return err
}

// shop reacts to what comes and makes a move now and then.
func (s *shopper) shop(ctx context.Context, frames <-chan frame, ended chan error) error {
	if err := s.send(request{Op: "hello", Token: s.token}); err != nil {
		return err
	}
	if err := s.watch(); err != nil {
		return err
	}
	move := time.NewTimer(s.firstMove())
	defer move.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case err := <-ended:
			ended <- err // for the join
			return err
		case f := <-frames:
			pause, err := s.hear(f)
			if err != nil {
				return err
			}
			if pause > 0 {
				move.Reset(pause)
			}
		case <-move.C:
			if err := s.move(); err != nil {
				return err
			}
			move.Reset(s.pause())
		}
	}
}

// pause is drawn so that most are short and a few are long, as with people.
func (s *shopper) pause() time.Duration {
	return min(shortest+time.Duration(s.random.ExpFloat64()*float64(s.pace)), 4*s.pace)
}

// firstMove comes sooner than others after an opening, but a large crowd does not rush in at once.
func (s *shopper) firstMove() time.Duration { return s.upTo(max(s.rush, s.pace)) }

func (s *shopper) send(r request) error {
	s.next++
	r.ID = s.next
	s.asked[r.ID] = r
	_ = s.conn.SetWriteDeadline(time.Now().Add(writeTimeout))
	if err := s.conn.WriteJSON(r); err != nil {
		return fmt.Errorf("send %s: %w", r.Op, err)
	}
	return nil
}

// watch asks for the current slot.
func (s *shopper) watch() error { return s.send(request{Op: "watch"}) }

// hear takes in a frame. A pause above 0 is how long to wait for the next move from now.
func (s *shopper) hear(f frame) (pause time.Duration, err error) {
	switch {
	case f.OK != nil:
		r := s.asked[f.ID]
		delete(s.asked, f.ID)
		if r.Op == "watch" {
			return 0, s.see(f.OK)
		}
	case f.Error != nil:
		r := s.asked[f.ID]
		delete(s.asked, f.ID)
		return s.refused(r, f.Error)
	case f.Event == "tick":
		return 0, s.tick(f.Sales)
	case f.Event == "sale" && f.Sale != nil:
		if _, ok := s.sales[f.Sale.ID]; ok {
			s.sales[f.Sale.ID] = *f.Sale
		}
	case f.Event == "slot" && f.Phase == app.Open:
		return s.firstMove(), s.watch()
	case f.Event == "order" && f.Order != nil && f.Order.State == app.Pending:
		if s.random.Float64() < regrets {
			s.regret[f.Order.ID] = time.Now().Add(s.upTo(regretWithin))
		}
	}
	return 0, nil
}

// see takes in a snapshot of the slot, and lets go of the one that was watched before.
func (s *shopper) see(snapshot json.RawMessage) error {
	var view struct {
		Sales []sale `json:"sales"`
	}
	if err := json.Unmarshal(snapshot, &view); err != nil {
		return fmt.Errorf("read the sales: %w", err)
	}
	clear(s.sales)
	for _, one := range view.Sales {
		s.sales[one.ID] = one
	}
	if len(view.Sales) == 0 || view.Sales[0].Slot == s.slot {
		return nil
	}
	before := s.slot
	if s.slot = view.Sales[0].Slot; before == 0 {
		return nil
	}
	return s.send(request{Op: "unwatch", Slot: before})
}

// tick takes in new numbers of sales that are being watched.
func (s *shopper) tick(numbers json.RawMessage) error {
	var news []sale
	if err := json.Unmarshal(numbers, &news); err != nil {
		return fmt.Errorf("read a tick: %w", err)
	}
	for _, n := range news {
		if one, ok := s.sales[n.ID]; ok {
			one.Stock = n.Stock
			s.sales[n.ID] = one
		}
	}
	return nil
}

// move asks again for what was refused for the moment, else cancels what is regretted by now, else buys something that is
// there.
func (s *shopper) move() error {
	now := time.Now()
	if r := s.repeat; r != nil {
		s.repeat = nil
		return s.send(*r)
	}
	for order, at := range s.regret {
		if at.Before(now) {
			delete(s.regret, order)
			return s.send(request{Op: "cancel", Order: order})
		}
	}
	var there []sale
	for _, one := range s.sales {
		if one.Phase == app.Open && one.Stock > 0 {
			there = append(there, one)
		}
	}
	if len(there) == 0 {
		return s.watch() // perhaps a unit has come back, or the next slot is on
	}
	wish := there[s.random.IntN(len(there))]
	qty := 1
	if wish.Limit > 1 && s.random.Float64() < 0.2 {
		qty = 2
	}
	key := "demo-" + strconv.FormatUint(s.random.Uint64(), 36) + "-" + strconv.FormatInt(now.UnixNano(), 36)
	return s.send(request{Op: "buy", Sale: wish.ID, Qty: qty, Key: key})
}
