package api

import (
	"context"

	"stampede/app"
)

// searched is what was looked for last.
type searched struct {
	app.OrderSearch
	text string
}

// acted notes who acted, and answers as the test wants it.
func (s *fakeShop) acted(actor app.Actor) error {
	s.actor.Store(&actor)
	return s.fail
}

func (s *fakeShop) Ship(_ context.Context, actor app.Actor, p app.Parcel, replace bool) (app.Order, error) {
	o := someOrder(p.Order, 8, app.Shipped)
	o.Tracking = p.Label()
	if replace {
		o.Rev++
	}
	return o, s.acted(actor)
}

func (s *fakeShop) ShipmentOf(_ context.Context, order app.ID) (*app.Shipment, error) {
	return &app.Shipment{Order: order, Carrier: "SF", Tracking: "SF-1", ShippedAt: 1_700_000_000_000}, s.fail
}

func (s *fakeShop) ConfirmReceipt(context.Context, app.ID, app.ID) (app.OrderState, error) {
	return app.Finished, s.fail
}

func someUser(id app.ID) app.User {
	return app.User{
		ID: id, Email: "ada@shop.example", Name: "Ada", Role: app.Shopper, Password: "$argon2id$secret", Lang: "en",
		State: app.UserActive, CreatedAt: 1_700_000_000_000,
	}
}

func (s *fakeShop) SearchUsers(_ context.Context, q app.UserSearch, text string) ([]app.User, bool, error) {
	s.searched.Store(&searched{app.OrderSearch{Before: q.Before, Limit: q.Limit}, text})
	return []app.User{someUser(42)}, true, s.fail
}

func (s *fakeShop) SearchPayments(_ context.Context, q app.PaymentSearch, text string) ([]app.Received, bool, error) {
	return []app.Received{{
		TradeNo: text + q.Before, Order: 7, AmountFen: 9800, PaidAt: 1_700_000_000_000, SeenAt: 1_700_000_000_001,
		Outcome: app.PaymentTaken,
	}}, false, s.fail
}

func (s *fakeShop) FindUser(_ context.Context, id app.ID) (app.UserFile, error) {
	f := app.UserFile{
		User: someUser(id), Guest: id == 43, Orders: []app.Order{someOrder(9, 8, app.Paid)},
		Blocks: []app.Block{{
			ID: 1, Kind: app.BlockUser, Value: id.String(), CreatedBy: "eve", CreatedAt: 1_700_000_000_000,
		}},
	}
	if !f.Guest {
		f.Devices = []app.Device{{
			ID: 5, User: id, Name: "Phone", RefreshHash: "secret", CreatedAt: 1_700_000_000_000,
			LastSeenAt: 1_700_000_000_000, ExpiresAt: 1_700_000_100_000,
		}}
	}
	return f, s.fail
}

func someLetter() app.DeadLetter {
	return app.DeadLetter{
		ID: "3-1767225600000-0", Partition: 3, Order: 9, Sale: 8, User: 42, Reason: "the address is not text", Deliveries: 5,
		At: 1_700_000_000_000, Fields: map[string]string{"qty": "1"},
	}
}

func (s *fakeShop) ListDead(context.Context, int) ([]app.DeadLetter, bool, error) {
	return []app.DeadLetter{someLetter()}, false, s.fail
}

func (s *fakeShop) DeadLetter(context.Context, string) (app.DeadLetter, error) {
	return someLetter(), s.fail
}

func (s *fakeShop) ReplayDead(_ context.Context, actor app.Actor, _ string) (app.Order, error) {
	return someOrder(9, 8, app.Pending), s.acted(actor)
}

func (s *fakeShop) DropDead(_ context.Context, actor app.Actor, _ string) error {
	return s.acted(actor)
}

func (s *fakeShop) ListMessages(context.Context, int) ([]app.QuarantinedMessage, bool, error) {
	return []app.QuarantinedMessage{{
		ID: "1767225600000-0", Group: "webhook", Reason: "400", Deliveries: 1, At: 1_700_000_000_000,
		OutboxMessage: app.OutboxMessage{
			Order: 9, Rev: 2, State: app.Paid, At: 1_700_000_000_000, Sale: 8, User: 42, Qty: 1,
		},
	}}, true, s.fail
}

func (s *fakeShop) ReplayMessage(_ context.Context, actor app.Actor, _ string) error {
	return s.acted(actor)
}

func (s *fakeShop) DropMessage(_ context.Context, actor app.Actor, _ string) error {
	return s.acted(actor)
}

func (s *fakeShop) ListEmails(context.Context, int) ([]app.QuarantinedEmail, bool, error) {
	return []app.QuarantinedEmail{{
		ID: "1767225600000-0", At: 1_700_000_000_000, Kind: app.EmailPaid, About: "9", To: "ada@shop.example", Tries: 3,
		Reason: "550",
	}}, false, s.fail
}

func (s *fakeShop) ReplayEmail(_ context.Context, actor app.Actor, _ string) error {
	return s.acted(actor)
}

func (s *fakeShop) DropEmail(_ context.Context, actor app.Actor, _ string) error {
	return s.acted(actor)
}

func (s *fakeShop) SaleReport(_ context.Context, id app.ID) (app.SaleReport, error) {
	point := []app.SalePoint{{At: 1_700_000_000_000, Orders: 3, Units: 4}}
	return app.SaleReport{
		Sale: id, Product: "=Lamp", PriceFen: 4900, OpensAt: 1_700_000_000_000, ClosesAt: 1_700_000_600_000,
		At: 1_700_000_700_000, Speed: app.SaleSpeed{Seconds: point, Minutes: point, Peak: 3},
		ToPay: &app.SaleWaits{Orders: 2, P50: 1000, P99: 2000},
		Presses: &app.SalePresses{
			Pressed: 9, Reserved: 3, TurnedAway: []app.TurnedAway{{Layer: app.LayerNode, Code: app.SoldOut, Buys: 6}},
			ToOrder: &app.SaleWaits{Orders: 3, P50: 12, P99: 80},
		},
		States: []app.SaleFate{{State: app.Paid, Reason: "+1", Orders: 2, Units: 2, AmountFen: 9800}},
		Money:  app.SaleMoney{PaidFen: 9800, NetFen: 9800},
		Balance: app.AuditReport{
			Sale: id, Product: "=Lamp", Loaded: true, Failures: []string{},
			Redis:    app.AuditColumn{Initial: 10, Stock: 8, Sold: 2},
			Database: app.AuditColumn{Initial: 10, Stock: 8, Sold: 2},
		},
	}, s.fail
}

func (s *fakeShop) ShipMany(
	_ context.Context, actor app.Actor, file []byte, replace, dryRun bool,
) (app.ShipReport, error) {
	return app.ShipReport{
		DryRun: dryRun, Shipped: len(file), Lines: []app.ShipLine{{Line: 2, Order: 7, Result: app.ShipDone}},
	}, s.acted(actor)
}
