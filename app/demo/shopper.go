package demo

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"time"

	"stampede/app/catalog"
	"stampede/app/shop"
	"stampede/app/wsclient"
)

const (
	// minPause is the minimum pause between two moves of one shopper. A move is one request (see shopper.move).
	minPause = time.Second
	// maxSilence is how long a shopper waits for a frame or a ping before it closes the connection.
	maxSilence = 60 * time.Second
)

// sampleAddress is the delivery address of all simulated shoppers.
var sampleAddress = shop.Address{Name: "Sample Shopper", Phone: "10000000000", Text: "1 Sample Street"}

// shopper is one simulated person. One goroutine decides, another one reads, and one per open order settles it.
type shopper struct {
	base   string
	sim    string // http://host:port of the simulated Alipay, where the shopper may pay; empty: the shopper never pays
	name   string
	random *rand.Rand
	pace   time.Duration // mean pause between two buys
	rush   time.Duration // period for the first moves of a crowd of ordinary size after an opening
	token  string        // kept between visits to stay the same guest

	conn     *wsclient.Conn
	repeat   *wsclient.Request // the temporarily rejected request to repeat
	slot     shop.ID           // the slot of the sales
	sales    map[shop.ID]shop.SaleView
	settled  map[shop.ID]bool // orders of this visit that settle has received
	settling sync.WaitGroup   // goroutines that settle the orders of this visit
}

// visit shops on one connection until it ends, and returns the reason.
func (s *shopper) visit(ctx context.Context) error {
	token, err := logInAsGuest(ctx, s.base, s.token)
	if err != nil {
		return err
	}
	s.token = token
	ctx, leave := context.WithCancel(ctx)
	defer s.settling.Wait() // after the connection has ended
	defer leave()
	frames, ended := make(chan *wsclient.Frame, 16), make(chan struct{})
	dialer := wsclient.Dialer{Timeout: dialTimeout, Silence: maxSilence, OnFrame: func(f *wsclient.Frame) {
		select {
		case frames <- f:
		case <-ended:
		}
	}}
	if s.conn, err = dialer.Dial(ctx, s.base); err != nil {
		return err
	}
	defer s.conn.Close() // ends the reading goroutine, which must no longer wait for a receiver
	defer close(ended)
	s.repeat, s.slot, s.sales, s.settled = nil, 0, make(map[shop.ID]shop.SaleView), make(map[shop.ID]bool)
	return s.handleFrames(ctx, frames)
}

// handleFrames handles frames and makes a move now and then.
func (s *shopper) handleFrames(ctx context.Context, frames <-chan *wsclient.Frame) error {
	err := s.conn.Send(wsclient.Request{Op: wsclient.Hello, Token: s.token})
	if err == nil {
		err = s.watch()
	}
	if err != nil {
		return err
	}
	move := time.NewTimer(s.firstPause())
	defer move.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-s.conn.Done():
			return s.conn.Err()
		case f := <-frames:
			pause, err := s.onFrame(ctx, f)
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

// pause returns a random pause: most are short and a few are long, as with people.
func (s *shopper) pause() time.Duration {
	return min(minPause+time.Duration(s.random.ExpFloat64()*float64(s.pace)), 4*s.pace)
}

// firstPause returns the pause before the first move after an opening. It is shorter than later ones, but spread for a
// large crowd.
func (s *shopper) firstPause() time.Duration { return s.randomUpTo(max(s.rush, s.pace)) }

// watch requests the current slot.
func (s *shopper) watch() error { return s.conn.Send(wsclient.Request{Op: wsclient.Watch}) }

// onFrame handles a frame. A pause above 0 is the time until the next move.
func (s *shopper) onFrame(ctx context.Context, f *wsclient.Frame) (pause time.Duration, err error) {
	switch {
	case f.Error != nil:
		return s.handleRejection(f.Request, f.Error)
	case f.OK != nil && f.Request.Op == wsclient.Watch:
		return 0, s.storeSnapshot(f.OK)
	}
	switch e := f.Event.(type) {
	case *wsclient.TickEvent:
		s.updateStock(e.Sales)
	case *wsclient.SaleEvent:
		if _, ok := s.sales[e.Sale.ID]; ok {
			s.sales[e.Sale.ID] = e.Sale
		}
	case *wsclient.SlotEvent:
		if e.Phase == shop.Open {
			return s.firstPause(), s.watch()
		}
	case *wsclient.OrderEvent:
		if e.Order.State == shop.Pending {
			s.settle(ctx, &e.Order)
		}
	}
	return 0, nil
}

// storeSnapshot stores a snapshot of the slot and unwatches the previous one.
func (s *shopper) storeSnapshot(snapshot json.RawMessage) error {
	var view catalog.WatchView
	if err := json.Unmarshal(snapshot, &view); err != nil {
		return fmt.Errorf("read the sales: %w", err)
	}
	clear(s.sales)
	for _, sale := range view.Sales {
		s.sales[sale.ID] = sale
	}
	if len(view.Sales) == 0 || view.Sales[0].Slot == s.slot {
		return nil
	}
	before := s.slot
	if s.slot = view.Sales[0].Slot; before == 0 {
		return nil
	}
	return s.conn.Send(wsclient.Request{Op: wsclient.Unwatch, Slot: before})
}

// updateStock stores new numbers of watched sales.
func (s *shopper) updateStock(lines []wsclient.TickLine) {
	for _, line := range lines {
		if sale, ok := s.sales[line.ID]; ok {
			sale.Stock = line.Stock
			s.sales[line.ID] = sale
		}
	}
}

// move repeats a temporarily rejected request, else buys an available item.
func (s *shopper) move() error {
	if r := s.repeat; r != nil {
		s.repeat = nil
		return s.conn.Send(*r)
	}
	var available []shop.SaleView
	for _, sale := range s.sales {
		if sale.Phase == shop.Open && sale.Stock > 0 {
			available = append(available, sale)
		}
	}
	if len(available) == 0 {
		return s.watch() // perhaps a unit was returned, or the next slot is open
	}
	chosen, qty := available[s.random.IntN(len(available))], 1
	if chosen.Limit > 1 && s.random.Float64() < 0.2 {
		qty = 2
	}
	key := "demo-" + strconv.FormatUint(s.random.Uint64(), 36) + "-" + strconv.FormatInt(time.Now().UnixNano(), 36)
	return s.conn.Send(wsclient.Request{Op: wsclient.Buy, Sale: chosen.ID, Qty: qty, Key: key, Address: &sampleAddress})
}
