package faults

import (
	"context"
	"time"

	"stampede/app/outbox"
	"stampede/app/payment"
	"stampede/app/ports"
	"stampede/app/shop"
)

// Gateway puts a fault before a payment gateway; nil stays nil: the shop takes no payments.
func Gateway(to ports.Gateway, f Fault) ports.Gateway {
	if to == nil {
		return nil
	}
	return gateway{to, f}
}

type gateway struct {
	ports.Gateway
	f Fault
}

func (g gateway) Pay(ctx context.Context, r payment.PayRequest) (payment.Payment, error) {
	return through(ctx, g.f, "Gateway.Pay", func() (payment.Payment, error) { return g.Gateway.Pay(ctx, r) })
}

func (g gateway) Query(ctx context.Context, order shop.ID) (payment.Trade, error) {
	return through(ctx, g.f, "Gateway.Query", func() (payment.Trade, error) { return g.Gateway.Query(ctx, order) })
}

func (g gateway) Close(ctx context.Context, order shop.ID) (payment.Trade, error) {
	return through(ctx, g.f, "Gateway.Close", func() (payment.Trade, error) { return g.Gateway.Close(ctx, order) })
}

func (g gateway) Refund(ctx context.Context, r payment.RefundRequest) error {
	return g.f(ctx, "Gateway.Refund", func() error { return g.Gateway.Refund(ctx, r) })
}

func (g gateway) Refunded(ctx context.Context, r payment.RefundRequest) (bool, error) {
	return through(ctx, g.f, "Gateway.Refunded", func() (bool, error) { return g.Gateway.Refunded(ctx, r) })
}

// Payments puts a fault before a payment store.
func Payments(to ports.PaymentStore, f Fault) ports.PaymentStore { return payments{to, f} }

type payments struct {
	ports.PaymentStore
	f Fault
}

func (p payments) OpenTrade(
	ctx context.Context, order, user shop.ID, now shop.Millis, margin time.Duration,
) (shop.Order, error) {
	return through(ctx, p.f, "Payments.OpenTrade",
		func() (shop.Order, error) { return p.PaymentStore.OpenTrade(ctx, order, user, now, margin) })
}

func (p payments) Receive(
	ctx context.Context, t payment.Trade, now shop.Millis,
) (o shop.Order, outcome payment.PaymentOutcome, err error) {
	o, err = through(ctx, p.f, "Payments.Receive", func() (o shop.Order, err error) {
		o, outcome, err = p.PaymentStore.Receive(ctx, t, now)
		return o, err
	})
	if err != nil {
		outcome = ""
	}
	return o, outcome, err
}

func (p payments) ReviveLate(
	ctx context.Context, claimed shop.Order, epoch int64, now shop.Millis,
) (shop.Order, error) {
	return through(ctx, p.f, "Payments.ReviveLate",
		func() (shop.Order, error) { return p.PaymentStore.ReviveLate(ctx, claimed, epoch, now) })
}

func (p payments) Resolve(ctx context.Context, order shop.ID, outcome payment.PaymentOutcome) error {
	return p.f(ctx, "Payments.Resolve", func() error { return p.PaymentStore.Resolve(ctx, order, outcome) })
}

func (p payments) EndTraded(
	ctx context.Context, ids []shop.ID, to shop.OrderState, now shop.Millis,
) ([]shop.Order, error) {
	return through(ctx, p.f, "Payments.EndTraded",
		func() ([]shop.Order, error) { return p.PaymentStore.EndTraded(ctx, ids, to, now) })
}

func (p payments) CheckTrades(ctx context.Context, now shop.Millis, next map[shop.ID]shop.Millis) error {
	return p.f(ctx, "Payments.CheckTrades", func() error { return p.PaymentStore.CheckTrades(ctx, now, next) })
}

// Refunds puts a fault before a refund store.
func Refunds(to ports.RefundStore, f Fault) ports.RefundStore { return refunds{to, f} }

type refunds struct {
	ports.RefundStore
	f Fault
}

func (r refunds) BeginRefund(
	ctx context.Context, order shop.ID, from []shop.OrderState, request, reason string, now shop.Millis,
) (shop.Order, error) {
	return through(ctx, r.f, "Refunds.BeginRefund",
		func() (shop.Order, error) { return r.RefundStore.BeginRefund(ctx, order, from, request, reason, now) })
}

func (r refunds) AskRefund(ctx context.Context, ask payment.RefundAsk) (shop.Order, error) {
	return through(ctx, r.f, "Refunds.AskRefund",
		func() (shop.Order, error) { return r.RefundStore.AskRefund(ctx, ask) })
}

func (r refunds) DecideRefund(ctx context.Context, d payment.RefundDecision) (shop.Order, error) {
	return through(ctx, r.f, "Refunds.DecideRefund",
		func() (shop.Order, error) { return r.RefundStore.DecideRefund(ctx, d) })
}

func (r refunds) ClaimRefunds(ctx context.Context, now shop.Millis, limit int) ([]payment.Refund, error) {
	return through(ctx, r.f, "Refunds.ClaimRefunds",
		func() ([]payment.Refund, error) { return r.RefundStore.ClaimRefunds(ctx, now, limit) })
}

func (r refunds) NoteRefund(ctx context.Context, order shop.ID, note string, stuck bool) error {
	return r.f(ctx, "Refunds.NoteRefund", func() error { return r.RefundStore.NoteRefund(ctx, order, note, stuck) })
}

func (r refunds) FinishRefund(ctx context.Context, order shop.ID, now shop.Millis) (shop.Order, error) {
	return through(ctx, r.f, "Refunds.FinishRefund",
		func() (shop.Order, error) { return r.RefundStore.FinishRefund(ctx, order, now) })
}

// Outbox puts a fault before the outbox of the database.
func Outbox(to outbox.OutboxStore, f Fault) outbox.OutboxStore { return postings{to, f} }

type postings struct {
	outbox.OutboxStore
	f Fault
}

func (o postings) ClaimOutbox(ctx context.Context, now shop.Millis, limit int) ([]outbox.OutboxMessage, error) {
	return through(ctx, o.f, "Outbox.ClaimOutbox",
		func() ([]outbox.OutboxMessage, error) { return o.OutboxStore.ClaimOutbox(ctx, now, limit) })
}

func (o postings) MarkSent(ctx context.Context, posted []outbox.OutboxMessage, claimed, sent shop.Millis) error {
	return o.f(ctx, "Outbox.MarkSent", func() error { return o.OutboxStore.MarkSent(ctx, posted, claimed, sent) })
}

// OutboxStream puts a fault before the stream that the back office reads.
func OutboxStream(to outbox.OutboxStream, f Fault) outbox.OutboxStream { return outboxStream{to, f} }

type outboxStream struct {
	outbox.OutboxStream
	f Fault
}

func (o outboxStream) Append(
	ctx context.Context, last shop.Millis, postings []outbox.OutboxMessage,
) (shop.Millis, error) {
	return through(ctx, o.f, "OutboxStream.Append",
		func() (shop.Millis, error) { return o.OutboxStream.Append(ctx, last, postings) })
}
