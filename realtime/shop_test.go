package realtime

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"stampede/app/admission"
	"stampede/app/catalog"
	"stampede/app/order"
	"stampede/app/payment"
	"stampede/app/shop"
)

// fakeShop returns the results that a test sets, and simple defaults otherwise. A token "user:7" belongs to user 7;
// "until:<ms>:7" expires at that time.
type fakeShop struct {
	mu           sync.Mutex
	reservations func(user shop.ID) ([]shop.Reservation, error)
	watch        func(slot shop.ID, sales []shop.ID) (catalog.WatchView, error)
	buy          func(user shop.ID, req order.BuyRequest) (order.Receipt, error)
	buyLater     func(finish func(order.Receipt, error)) // replaces buy; the test calls then
	ahead        time.Duration                           // offset of the shop's clock from the clock of this machine

	operators map[shop.ID]bool // users with the operator role

	revoked map[shop.ID]bool // by subject; a token "device:3:7" is of device 3 of user 7
}

func (s *fakeShop) set(change func(s *fakeShop)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(s)
}

func (s *fakeShop) copy() *fakeShop {
	s.mu.Lock()
	defer s.mu.Unlock()
	return &fakeShop{
		reservations: s.reservations, watch: s.watch, buy: s.buy, buyLater: s.buyLater, ahead: s.ahead,
		revoked:   s.revoked,
		operators: s.operators,
	}
}

// calls returns the functions of the fake shop.
func (s *fakeShop) calls() Shop {
	return Shop{
		Now: s.Now, Verify: s.Verify, Revoked: s.Revoked, PendingReservations: s.PendingReservations, Watch: s.Watch,
		BuyAsync:    s.BuyAsync,
		RequestPass: s.RequestPass, SolvePass: s.SolvePass, Cancel: s.Cancel, Pay: s.Pay,
		RequestRefund: s.RequestRefund,
		OrdersOf:      s.OrdersOf,
	}
}

func (s *fakeShop) Now() shop.Millis { return shop.MillisOf(time.Now()).Add(s.copy().ahead) }

func (s *fakeShop) Verify(token string) (shop.Identity, error) {
	expires := s.Now().Add(time.Hour)
	if rest, ok := strings.CutPrefix(token, "until:"); ok {
		until, user, _ := strings.Cut(rest, ":")
		at, err := shop.ParseID(until)
		if err != nil {
			return shop.Identity{}, err
		}
		token, expires = "user:"+user, shop.Millis(at)
	}
	var device shop.ID
	if rest, ok := strings.CutPrefix(token, "device:"); ok {
		id, user, _ := strings.Cut(rest, ":")
		device, _ = shop.ParseID(id)
		token = "user:" + user
	}
	name, ok := strings.CutPrefix(token, "user:")
	user, err := shop.ParseID(name)
	if !ok || err != nil || s.Now() >= expires {
		return shop.Identity{}, shop.Fail(shop.Unauthorized, "the token is not valid")
	}
	role := shop.Shopper
	if s.copy().operators[user] {
		role = shop.Operator
	}
	return shop.Identity{User: user, Name: "Guest " + name, Role: role, Expires: expires, Device: device}, nil
}

func (s *fakeShop) Revoked(who shop.Identity) bool { return s.copy().revoked[who.Subject()] }

func (s *fakeShop) PendingReservations(_ context.Context, user shop.ID) ([]shop.Reservation, error) {
	if reservations := s.copy().reservations; reservations != nil {
		return reservations(user)
	}
	return nil, nil
}

// Watch returns one sale per id. Slot 0 is slot 1, and slot s has the sales 10·s+1 and 10·s+2.
func (s *fakeShop) Watch(_ context.Context, slot shop.ID, sales []shop.ID) (catalog.WatchView, error) {
	if watch := s.copy().watch; watch != nil {
		return watch(slot, sales)
	}
	if slot == 0 && len(sales) == 0 {
		slot = 1
	}
	view := catalog.WatchView{Slot: slot}
	if slot != 0 {
		view.Slots = []shop.Slot{{ID: slot, Phase: shop.Open, Sales: 2}}
		view.Sales = []shop.SaleView{{ID: 10*slot + 1, Slot: slot}, {ID: 10*slot + 2, Slot: slot}}
	}
	for _, id := range sales {
		view.Sales = append(view.Sales, shop.SaleView{ID: id, Slot: 99})
	}
	return view, nil
}

func (s *fakeShop) BuyAsync(_ context.Context, user shop.ID, req order.BuyRequest, finish func(order.Receipt, error)) {
	switch s := s.copy(); {
	case s.buyLater != nil:
		s.buyLater(finish)
	case s.buy != nil:
		finish(s.buy(user, req))
	default:
		finish(order.Receipt{Order: 1000 + req.Sale, Ticket: 1, State: shop.Reserved}, nil)
	}
}

func (s *fakeShop) RequestPass(_ context.Context, q admission.PassRequest) (admission.PassResult, error) {
	return admission.PassResult{Pass: fmt.Sprintf("%s-%s-%s", q.User, q.Sale, q.From), Until: 5}, nil
}

func (s *fakeShop) SolvePass(_ context.Context, q admission.PassRequest) (admission.PassResult, error) {
	if q.Answer != "right" {
		return admission.PassResult{}, shop.Fail(shop.PassRequired, "the nonce does not solve a task of this user")
	}
	return admission.PassResult{Pass: q.Task, Until: 5}, nil
}

func (s *fakeShop) Cancel(context.Context, shop.ID, shop.ID) (shop.OrderState, error) {
	return shop.Cancelled, nil
}

func (s *fakeShop) Pay(_ context.Context, _, order shop.ID, via payment.PayVia) (payment.Payable, error) {
	if via != payment.ViaPage {
		return payment.Payable{}, shop.Fail(shop.BadRequest, "via must be page")
	}
	return payment.Payable{Payment: payment.Payment{URL: "https://pay.example/" + order.String()}, PayBy: 2, Until: 1}, nil
}

func (s *fakeShop) RequestRefund(_ context.Context, _, _ shop.ID, reason string) (shop.OrderState, error) {
	if reason == "" {
		return "", shop.Fail(shop.BadRequest, "reason is missing")
	}
	return shop.Refunding, nil
}

func (s *fakeShop) OrdersOf(_ context.Context, q shop.OrdersQuery) ([]shop.Order, bool, error) {
	return []shop.Order{{ID: q.User, Sale: q.Sale, Qty: q.Limit, State: shop.Pending}}, true, nil
}
