package realtime

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"stampede/app"
)

// fakeShop answers what a test tells it to; what is not told answers something plain. A token "user:7" belongs
// to user 7, "until:<ms>:7" ends at that time.
type fakeShop struct {
	mu    sync.Mutex
	greet func(user app.ID) ([]app.Reservation, error)
	watch func(slot app.ID, sales []app.ID) (app.WatchView, error)
	buy   func(user app.ID, req app.BuyRequest) (app.Receipt, error)
	later func(then func(app.Receipt, error)) // instead of buy: tells when it likes
	ahead time.Duration                       // the shop's clock is ahead of ours by this

	operators map[app.ID]bool // users who look after the shop

	revoked map[app.ID]bool // subjects; a token "device:3:7" is of device 3 of user 7
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
		greet: s.greet, watch: s.watch, buy: s.buy, later: s.later, ahead: s.ahead, revoked: s.revoked,
		operators: s.operators,
	}
}

func (s *fakeShop) Now() app.Millis { return app.MillisOf(time.Now()).Add(s.copy().ahead) }

func (s *fakeShop) Verify(token string) (app.Identity, error) {
	expires := s.Now().Add(time.Hour)
	if rest, ok := strings.CutPrefix(token, "until:"); ok {
		until, user, _ := strings.Cut(rest, ":")
		at, err := app.ParseID(until)
		if err != nil {
			return app.Identity{}, err
		}
		token, expires = "user:"+user, app.Millis(at)
	}
	var device app.ID
	if rest, ok := strings.CutPrefix(token, "device:"); ok {
		id, user, _ := strings.Cut(rest, ":")
		device, _ = app.ParseID(id)
		token = "user:" + user
	}
	name, ok := strings.CutPrefix(token, "user:")
	user, err := app.ParseID(name)
	if !ok || err != nil || s.Now() >= expires {
		return app.Identity{}, app.Fail(app.Unauthorized, "the token is not valid")
	}
	role := app.Shopper
	if s.copy().operators[user] {
		role = app.Operator
	}
	return app.Identity{User: user, Name: "Guest " + name, Role: role, Expires: expires, Device: device}, nil
}

func (s *fakeShop) Revoked(who app.Identity) bool { return s.copy().revoked[who.Subject()] }

func (s *fakeShop) Greet(_ context.Context, user app.ID) ([]app.Reservation, error) {
	if greet := s.copy().greet; greet != nil {
		return greet(user)
	}
	return nil, nil
}

// Watch answers a sale per id; slot 0 is slot 1, and a slot s has the sales 10·s+1 and 10·s+2.
func (s *fakeShop) Watch(_ context.Context, slot app.ID, sales []app.ID) (app.WatchView, error) {
	if watch := s.copy().watch; watch != nil {
		return watch(slot, sales)
	}
	if slot == 0 && len(sales) == 0 {
		slot = 1
	}
	view := app.WatchView{Slot: slot}
	if slot != 0 {
		view.Slots = []app.Slot{{ID: slot, Phase: app.Open, Sales: 2}}
		view.Sales = []app.SaleView{{ID: 10*slot + 1, Slot: slot}, {ID: 10*slot + 2, Slot: slot}}
	}
	for _, id := range sales {
		view.Sales = append(view.Sales, app.SaleView{ID: id, Slot: 99})
	}
	return view, nil
}

func (s *fakeShop) BuyThen(_ context.Context, user app.ID, req app.BuyRequest, then func(app.Receipt, error)) {
	switch s := s.copy(); {
	case s.later != nil:
		s.later(then)
	case s.buy != nil:
		then(s.buy(user, req))
	default:
		then(app.Receipt{Order: 1000 + req.Sale, Ticket: 1, State: app.Reserved}, nil)
	}
}

func (s *fakeShop) AskPass(_ context.Context, q app.PassQuestion) (app.PassAnswer, error) {
	return app.PassAnswer{Pass: fmt.Sprintf("%s-%s-%s", q.User, q.Sale, q.From), Until: 5}, nil
}

func (s *fakeShop) SolvePass(_ context.Context, q app.PassQuestion) (app.PassAnswer, error) {
	if q.Answer != "right" {
		return app.PassAnswer{}, app.Fail(app.PassRequired, "this does not solve a task of yours")
	}
	return app.PassAnswer{Pass: q.Task, Until: 5}, nil
}

func (s *fakeShop) Cancel(context.Context, app.ID, app.ID) (app.OrderState, error) {
	return app.Cancelled, nil
}

func (s *fakeShop) Pay(_ context.Context, _, order app.ID, via app.PayVia) (app.Payable, error) {
	if via != app.ViaPage {
		return app.Payable{}, app.Fail(app.BadRequest, "via must be page")
	}
	return app.Payable{Payment: app.Payment{URL: "https://pay.example/" + order.String()}, PayBy: 2, Until: 1}, nil
}

func (s *fakeShop) AskRefund(_ context.Context, _, _ app.ID, reason string) (app.OrderState, error) {
	if reason == "" {
		return "", app.Fail(app.BadRequest, "reason is missing")
	}
	return app.Refunding, nil
}

func (s *fakeShop) OrdersOf(_ context.Context, q app.OrdersQuery) ([]app.Order, bool, error) {
	return []app.Order{{ID: q.User, Sale: q.Sale, Qty: q.Limit, State: app.Pending}}, true, nil
}
