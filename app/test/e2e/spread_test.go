package e2e

import (
	"errors"
	"net/http"
	"sync"
	"testing"

	"stampede/app"
	"stampede/app/test/kit"
)

// spread puts a sale on offer that is dealt out to so many portions.
func (s *shop) spread(units int64, limit, portions int) app.Sale {
	s.t.Helper()
	s.portions = portions
	defer func() { s.portions = 0 }()
	sale := s.open(units, limit)
	read, err := s.store.Sale(kit.Context(s.t), sale.ID)
	s.must(err)
	return read
}

// atHome is a new user of a portion.
func atHome(sale *app.Sale, portion int) app.ID {
	for {
		user := kit.NewID()
		if _, n := sale.Home(user); n == portion {
			return user
		}
	}
}

// residents logs in so many users of one portion, spread over the nodes.
func residents(t *testing.T, sale *app.Sale, portion, n int, nodes ...*node) map[app.ID]*client {
	t.Helper()
	clients := make(map[app.ID]*client, n)
	for i := range n {
		user := atHome(sale, portion)
		clients[user], _ = login(t, nodes[i%len(nodes)], user, "")
	}
	return clients
}

// portionsDrained waits until no reservation of any portion is under way, and none is moved.
func (s *shop) portionsDrained(sale *app.Sale) {
	s.t.Helper()
	for _, ref := range sale.Refs() {
		s.drained(app.Sale{ID: ref.ID, Partition: ref.Partition})
	}
}

func (s *shop) rowsOf(sale *app.Sale) int64 {
	return s.count("SELECT COUNT(*) FROM orders WHERE sale_id = ? OR portion_of = ?", sale.ID, sale.ID)
}

// P1, P4: a spread sale whose buyers are all at home in one portion sells every unit, whichever portion it was dealt
// to, over two nodes; nobody hears that it is sold out before, and a repeat gets the same order.
func TestSpreadSaleSellsAllToOneHome(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	sale := s.spread(20, 1, 4)
	a, b := s.start(), s.start("STAMPEDE_ROLES=api")
	buyers := residents(t, &sale, 2, 32, a, b)
	accepted := rush(t, buyers, sale.ID, 1)
	if len(accepted) != 20 {
		t.Errorf("%d of 32 buyers were accepted, want 20, as many as there are units", len(accepted))
	}
	for user, receipt := range accepted {
		if receipt.Portion != 2 {
			t.Errorf("the ticket of user %s counts in portion %d, want 2", user, receipt.Portion)
		}
	}
	s.portionsDrained(&sale)
	if n := s.rowsOf(&sale); n != 20 {
		t.Errorf("%d rows, want 20", n)
	}
	// Elsewhere, and under the same keys, the same buyers get what they got; with another key they have reached the
	// limit.
	for user, receipt := range accepted {
		c, _ := login(t, b, user, "")
		again, err := c.BuyUntilKnown(sale.ID, 1, "press-"+user.String())
		if err != nil || again.Order != receipt.Order {
			t.Errorf("user %s repeats the buy: %+v, %v; want order %s", user, again, err, receipt.Order)
		}
		_, err = c.BuyUntilKnown(sale.ID, 1, "another-key")
		if e := refused(t, app.LimitReached, err); len(e.Orders) != 1 || e.Orders[0].ID != receipt.Order {
			t.Errorf("at the limit user %s is told of %+v", user, e.Orders)
		}
		break
	}
	stranger, _ := login(t, b, atHome(&sale, 0), "")
	_, err := stranger.BuyUntilKnown(sale.ID, 1, "too-late-1")
	refused(t, app.SoldOut, err)
	s.audit(sale)
}

// People know one sale: its numbers are sums, its orders name it, and a portion cannot be asked for.
func TestSpreadSaleIsOneSaleToPeople(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	sale := s.spread(31, 2, 3)
	n := s.start()
	user := atHome(&sale, 1)
	c, _ := login(t, n, user, "")
	view, err := c.Watch(0)
	s.must(err)
	if len(view.Sales) != 1 || view.Sales[0].ID != sale.ID || view.Sales[0].Initial != 31 || view.Sales[0].Stock != 31 {
		t.Fatalf("watched: %+v", view.Sales)
	}
	receipt, err := c.BuyUntilKnown(sale.ID, 2, "one-and-only")
	s.must(err)
	kit.Eventually(t, patience, func() (bool, string) {
		told := c.ordersHeard()
		return len(told) > 0 && told[0].Order.Sale == sale.ID && told[0].Order.ID == receipt.Order, "no event of the sale"
	})
	kit.Eventually(t, patience, func() (bool, string) {
		c.mu.Lock()
		defer c.mu.Unlock()
		line := c.ticks[sale.ID]
		return line.Stock == 29 && line.Held == 2 && line.Done == 1 && len(line.Dones) == 3 && line.Dones[1] == 1, "ticks"
	})
	var page struct{ Orders []app.Order }
	n.expect(http.StatusOK, &page, n.read, "/api/v1/orders?sale="+sale.ID.String(), token(t, user), nil)
	if len(page.Orders) != 1 || page.Orders[0].Sale != sale.ID {
		t.Errorf("orders of the sale: %+v", page.Orders)
	}
	operator := operatorToken(t)
	n.expect(http.StatusOK, &page, n.read, "/api/v1/operator/orders?sale="+sale.ID.String(), operator, nil)
	if len(page.Orders) != 1 || page.Orders[0].Sale != sale.ID {
		t.Errorf("an operator finds %+v", page.Orders)
	}
	var listed struct{ Sales []app.SaleRecord }
	n.expect(http.StatusOK, &listed, n.read, "/api/v1/operator/sales", operator, nil)
	if len(listed.Sales) != 1 || listed.Sales[0].Initial != 31 || listed.Sales[0].Spread != 3 {
		t.Errorf("an operator sees %+v", listed.Sales)
	}
	portion := sale.Portions[1].ID.String()
	for path, who := range map[string]string{
		"/api/v1/sales/" + portion: "", "/api/v1/operator/sales/" + portion: operator,
	} {
		if status, answer := n.get(path, who); status != http.StatusNotFound {
			t.Errorf("%s: %d %s", path, status, answer)
		}
	}
	_, err = c.BuyUntilKnown(sale.Portions[1].ID, 1, "of-a-portion")
	refused(t, app.NotFound, err)
	s.portionsDrained(&sale)
	s.audit(sale)
}

// P5: units that expire in one portion are sold to whoever asks next, at home in another one.
func TestSpreadUnitsThatComeBackGoToOthers(t *testing.T) {
	t.Parallel()
	s := newShop(t, "STAMPEDE_PAY_WINDOW=2s")
	sale := s.spread(4, 4, 4)
	a, b := s.start(), s.start("STAMPEDE_ROLES=api")
	first, _ := login(t, a, atHome(&sale, 0), "")
	_, err := first.BuyUntilKnown(sale.ID, 4, "takes-them-all")
	s.must(err)
	next, _ := login(t, b, atHome(&sale, 3), "")
	_, err = next.BuyUntilKnown(sale.ID, 1, "comes-too-early")
	refused(t, app.SoldOut, err)
	kit.Eventually(t, patience, func() (bool, string) {
		_, err := next.BuyUntilKnown(sale.ID, 4, "waits-for-them")
		return err == nil, "the units did not come back"
	})
	s.portionsDrained(&sale)
	s.audit(sale)
}

// Operators act on the sale, and all its portions follow: pause, resume, more units, fewer, the end; under load.
func TestActsReachAllPortions(t *testing.T) {
	t.Parallel()
	s := newShop(t, "STAMPEDE_PAY_WINDOW=10m")
	sale := s.spread(40, 1, 4)
	n := s.start()
	operator := operatorToken(t)
	path := "/api/v1/operator/sales/" + sale.ID.String()
	clients := make([]*client, len(sale.Portions))
	press := func(portion int, key string) error {
		if clients[portion] == nil {
			clients[portion], _ = login(t, n, atHome(&sale, portion), "")
		}
		_, err := clients[portion].BuyUntilKnown(sale.ID, 1, key)
		return err
	}
	version := int64(1)
	act := func(verb string, body map[string]any) (o app.OperatorSale) {
		t.Helper()
		body["version"] = version
		n.expect(http.StatusOK, &o, n.post, path+verb, operator, body)
		version = o.Version
		return o
	}
	for portion := range sale.Portions {
		s.must(press(portion, "loads-them-all"))
	}
	act("/pause", map[string]any{})
	for portion := range sale.Portions {
		refused(t, app.Paused, press(portion, "while-paused"))
	}
	act("/resume", map[string]any{})
	if o := act("/stock", map[string]any{"units": 6}); o.Added != 6 || o.Stock != 42 {
		t.Errorf("after adding 6: %d added, %d free", o.Added, o.Stock)
	}
	var withdrawn struct {
		app.OperatorSale

		Withdrawal app.StockAct `json:"withdrawal"`
	}
	n.expect(http.StatusOK, &withdrawn, n.post, path+"/stock", operator, map[string]any{"version": version, "units": -30})
	if withdrawn.Withdrawal.Taken != 30 || withdrawn.Stock != 12 {
		t.Errorf("of 30 units %d were withdrawn, %d are free", withdrawn.Withdrawal.Taken, withdrawn.Stock)
	}
	version = withdrawn.Version
	buyers := residents(t, &sale, 1, 20, n)
	var wg sync.WaitGroup
	wg.Go(func() { act("/end", map[string]any{}) })
	accepted, closed := 0, 0
	var mu sync.Mutex
	for user, c := range buyers {
		wg.Go(func() {
			_, err := c.BuyUntilKnown(sale.ID, 1, "press-"+user.String())
			var e *app.Error
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err == nil:
				accepted++
			case errors.As(err, &e) && (e.Code == app.Closed || e.Code == app.SoldOut && accepted == 12):
				closed++
			default:
				t.Errorf("while it ends: %v", err)
			}
		})
	}
	wg.Wait()
	if accepted > 12 || accepted+closed != 20 {
		t.Errorf("%d accepted, %d turned away", accepted, closed)
	}
	for portion := range sale.Portions {
		refused(t, app.Closed, press(portion, "after-the-end"))
	}
	s.portionsDrained(&sale)
	s.audit(sale)
}

// A partition is lost in Redis while units move to and from it: what it had is where the rows say, nothing is sold
// twice, and in the end all units are sold.
func TestSpreadSaleWhileAPartitionIsRebuilt(t *testing.T) {
	t.Parallel()
	s := newShop(t, "STAMPEDE_PAY_WINDOW=10m")
	sale := s.spread(60, 1, 3)
	a, b := s.start(), s.start("STAMPEDE_ROLES=api")
	buyers := residents(t, &sale, 1, 75, a, b)
	lost := sale.Portions[0]
	var wg sync.WaitGroup
	wg.Go(func() {
		kit.Eventually(t, patience, func() (bool, string) {
			return s.rowsOf(&sale) > 10, "nobody buys"
		})
		ctx := kit.Context(t)
		keys, err := s.redis.Keys(ctx, kit.PartitionKeys(lost.Partition)).Result()
		if err == nil {
			err = s.redis.Del(ctx, keys...).Err()
		}
		if err != nil {
			t.Error(err)
		}
	})
	accepted := rush(t, buyers, sale.ID, 0)
	wg.Wait()
	s.portionsDrained(&sale)
	late := residents(t, &sale, 0, 1, b)
	for _, c := range late {
		_, err := c.BuyUntilKnown(sale.ID, 1, "one-too-many")
		refused(t, app.SoldOut, err)
	}
	if n := s.rowsOf(&sale); n != 60 || len(accepted) != 60 {
		t.Errorf("%d of 75 buyers were accepted, %d rows, want 60 of both", len(accepted), n)
	}
	s.audit(sale)
}
