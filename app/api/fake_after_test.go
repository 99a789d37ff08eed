package api

import (
	"context"

	"stampede/app/backoffice"
	"stampede/app/board"
	"stampede/app/journal"
	"stampede/app/outbox"
	"stampede/app/payment"
	"stampede/app/recovery"
	"stampede/app/shop"
	"stampede/app/store"
)

// searched is what was looked for last.
type searched struct {
	store.OrderSearch
	text string
}

// acted notes who acted, and answers as the test wants it.
func (s *fakeShop) acted(actor journal.Actor) error {
	s.actor.Store(&actor)
	return s.fail
}

func (s *fakeShop) Ship(_ context.Context, actor journal.Actor, p store.Parcel, replace bool) (shop.Order, error) {
	o := someOrder(p.Order, 8, shop.Shipped)
	o.Tracking = p.Label()
	if replace {
		o.Rev++
	}
	return o, s.acted(actor)
}

func (s *fakeShop) ShipmentOf(_ context.Context, order shop.ID) (*store.Shipment, error) {
	return &store.Shipment{Order: order, Carrier: "SF", Tracking: "SF-1", ShippedAt: 1_700_000_000_000}, s.fail
}

func (s *fakeShop) ConfirmReceipt(context.Context, shop.ID, shop.ID) (shop.OrderState, error) {
	return shop.Finished, s.fail
}

func someUser(id shop.ID) shop.User {
	return shop.User{
		ID: id, Email: "ada@shop.example", Name: "Ada", Role: shop.Shopper, Password: "$argon2id$secret", Lang: "en",
		State: shop.UserActive, CreatedAt: 1_700_000_000_000,
	}
}

func (s *fakeShop) SearchUsers(_ context.Context, q store.UserSearch, text string) ([]shop.User, bool, error) {
	s.searched.Store(&searched{store.OrderSearch{Before: q.Before, Limit: q.Limit}, text})
	return []shop.User{someUser(42)}, true, s.fail
}

func (s *fakeShop) SearchPayments(
	_ context.Context, q store.PaymentSearch, text string,
) ([]payment.Received, bool, error) {
	return []payment.Received{{
		TradeNo: text + q.Before, Order: 7, AmountFen: 9800, PaidAt: 1_700_000_000_000, SeenAt: 1_700_000_000_001,
		Outcome: payment.PaymentTaken,
	}}, false, s.fail
}

func (s *fakeShop) FindUser(_ context.Context, id shop.ID) (backoffice.UserFile, error) {
	f := backoffice.UserFile{
		User: someUser(id), Guest: id == 43, Orders: []shop.Order{someOrder(9, 8, shop.Paid)},
		Blocks: []store.Block{{
			ID: 1, Kind: store.BlockUser, Value: id.String(), CreatedBy: "eve", CreatedAt: 1_700_000_000_000,
		}},
	}
	if !f.Guest {
		f.Devices = []shop.Device{{
			ID: 5, User: id, Name: "Phone", RefreshHash: "secret", CreatedAt: 1_700_000_000_000,
			LastSeenAt: 1_700_000_000_000, ExpiresAt: 1_700_000_100_000,
		}}
	}
	return f, s.fail
}

func someLetter() shop.DeadLetter {
	return shop.DeadLetter{
		ID: "3-1767225600000-0", Partition: 3, Order: 9, Sale: 8, User: 42, Reason: "the address is not text", Deliveries: 5,
		At: 1_700_000_000_000, Fields: map[string]string{"qty": "1"},
	}
}

func (s *fakeShop) ListDead(context.Context, int) ([]shop.DeadLetter, bool, error) {
	return []shop.DeadLetter{someLetter()}, false, s.fail
}

func (s *fakeShop) DeadLetter(context.Context, string) (shop.DeadLetter, error) {
	return someLetter(), s.fail
}

func (s *fakeShop) ReplayDead(_ context.Context, actor journal.Actor, _ string) (shop.Order, error) {
	return someOrder(9, 8, shop.Pending), s.acted(actor)
}

func (s *fakeShop) DropDead(_ context.Context, actor journal.Actor, _ string) error {
	return s.acted(actor)
}

func (s *fakeShop) ListMessages(context.Context, int) ([]outbox.QuarantinedMessage, bool, error) {
	return []outbox.QuarantinedMessage{{
		ID: "1767225600000-0", Group: "webhook", Reason: "400", Deliveries: 1, At: 1_700_000_000_000,
		OutboxMessage: outbox.OutboxMessage{
			Order: 9, Rev: 2, State: shop.Paid, At: 1_700_000_000_000, Sale: 8, User: 42, Qty: 1,
		},
	}}, true, s.fail
}

func (s *fakeShop) ReplayMessage(_ context.Context, actor journal.Actor, _ string) error {
	return s.acted(actor)
}

func (s *fakeShop) DropMessage(_ context.Context, actor journal.Actor, _ string) error {
	return s.acted(actor)
}

func (s *fakeShop) ListEmails(context.Context, int) ([]outbox.QuarantinedEmail, bool, error) {
	return []outbox.QuarantinedEmail{{
		ID: "1767225600000-0", At: 1_700_000_000_000, Kind: outbox.EmailPaid, About: "9", To: "ada@shop.example", Tries: 3,
		Reason: "550",
	}}, false, s.fail
}

func (s *fakeShop) ReplayEmail(_ context.Context, actor journal.Actor, _ string) error {
	return s.acted(actor)
}

func (s *fakeShop) DropEmail(_ context.Context, actor journal.Actor, _ string) error {
	return s.acted(actor)
}

func (s *fakeShop) SaleReport(_ context.Context, id shop.ID) (backoffice.SaleReport, error) {
	point := []store.SalePoint{{At: 1_700_000_000_000, Orders: 3, Units: 4}}
	return backoffice.SaleReport{
		Sale: id, Product: "=Lamp", PriceFen: 4900, OpensAt: 1_700_000_000_000, ClosesAt: 1_700_000_600_000,
		At: 1_700_000_700_000, Speed: backoffice.SaleSpeed{Seconds: point, Minutes: point, Peak: 3},
		ToPay: &board.SaleWaits{Orders: 2, P50: 1000, P99: 2000},
		Presses: &board.SalePresses{
			Pressed: 9, Reserved: 3, TurnedAway: []board.TurnedAway{
				{Layer: shop.LayerNode, Code: shop.SoldOut, Buys: 6},
			},
			ToOrder: &board.SaleWaits{Orders: 3, P50: 12, P99: 80},
		},
		States: []store.SaleFate{{State: shop.Paid, Reason: "+1", Orders: 2, Units: 2, AmountFen: 9800}},
		Money:  store.SaleMoney{PaidFen: 9800, NetFen: 9800},
		Balance: recovery.AuditReport{
			Sale: id, Product: "=Lamp", Loaded: true, Failures: []string{},
			Redis:    recovery.AuditColumn{Initial: 10, Stock: 8, Sold: 2},
			Database: recovery.AuditColumn{Initial: 10, Stock: 8, Sold: 2},
		},
	}, s.fail
}

func (s *fakeShop) ShipMany(
	_ context.Context, actor journal.Actor, file []byte, replace, dryRun bool,
) (backoffice.ShipReport, error) {
	return backoffice.ShipReport{
		DryRun: dryRun, Shipped: len(file), Lines: []backoffice.ShipLine{
			{Line: 2, Order: 7, Result: store.ShipDone},
		},
	}, s.acted(actor)
}
