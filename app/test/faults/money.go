package faults

import (
	"context"
	"time"

	"stampede/app"
)

// Gateway puts a fault before a payment gateway; nil stays nil: the shop takes no payments.
func Gateway(to app.Gateway, f Fault) app.Gateway {
	if to == nil {
		return nil
	}
	return gateway{to, f}
}

type gateway struct {
	app.Gateway
	f Fault
}

func (g gateway) Pay(ctx context.Context, r app.PayRequest) (app.Payment, error) {
	return through(ctx, g.f, "Gateway.Pay", func() (app.Payment, error) { return g.Gateway.Pay(ctx, r) })
}

func (g gateway) Query(ctx context.Context, order app.ID) (app.Trade, error) {
	return through(ctx, g.f, "Gateway.Query", func() (app.Trade, error) { return g.Gateway.Query(ctx, order) })
}

func (g gateway) Close(ctx context.Context, order app.ID) (app.Trade, error) {
	return through(ctx, g.f, "Gateway.Close", func() (app.Trade, error) { return g.Gateway.Close(ctx, order) })
}

func (g gateway) Refund(ctx context.Context, r app.RefundRequest) error {
	return g.f(ctx, "Gateway.Refund", func() error { return g.Gateway.Refund(ctx, r) })
}

func (g gateway) Refunded(ctx context.Context, r app.RefundRequest) (bool, error) {
	return through(ctx, g.f, "Gateway.Refunded", func() (bool, error) { return g.Gateway.Refunded(ctx, r) })
}

// Payments puts a fault before a payment store.
func Payments(to app.PaymentStore, f Fault) app.PaymentStore { return payments{to, f} }

type payments struct {
	app.PaymentStore
	f Fault
}

func (p payments) OpenTrade(
	ctx context.Context, order, user app.ID, now app.Millis, margin time.Duration,
) (app.Order, error) {
	return through(ctx, p.f, "Payments.OpenTrade",
		func() (app.Order, error) { return p.PaymentStore.OpenTrade(ctx, order, user, now, margin) })
}

func (p payments) Receive(
	ctx context.Context, t app.Trade, now app.Millis,
) (o app.Order, outcome app.PaymentOutcome, err error) {
	o, err = through(ctx, p.f, "Payments.Receive", func() (o app.Order, err error) {
		o, outcome, err = p.PaymentStore.Receive(ctx, t, now)
		return o, err
	})
	if err != nil {
		outcome = ""
	}
	return o, outcome, err
}

func (p payments) ReviveLate(
	ctx context.Context, claimed app.Order, epoch int64, now app.Millis,
) (app.Order, error) {
	return through(ctx, p.f, "Payments.ReviveLate",
		func() (app.Order, error) { return p.PaymentStore.ReviveLate(ctx, claimed, epoch, now) })
}

func (p payments) Resolve(ctx context.Context, order app.ID, outcome app.PaymentOutcome) error {
	return p.f(ctx, "Payments.Resolve", func() error { return p.PaymentStore.Resolve(ctx, order, outcome) })
}

func (p payments) EndTraded(
	ctx context.Context, ids []app.ID, to app.OrderState, now app.Millis,
) ([]app.Order, error) {
	return through(ctx, p.f, "Payments.EndTraded",
		func() ([]app.Order, error) { return p.PaymentStore.EndTraded(ctx, ids, to, now) })
}

func (p payments) CheckTrades(ctx context.Context, now app.Millis, next map[app.ID]app.Millis) error {
	return p.f(ctx, "Payments.CheckTrades", func() error { return p.PaymentStore.CheckTrades(ctx, now, next) })
}

// Refunds puts a fault before a refund store.
func Refunds(to app.RefundStore, f Fault) app.RefundStore { return refunds{to, f} }

type refunds struct {
	app.RefundStore
	f Fault
}

func (r refunds) BeginRefund(
	ctx context.Context, order app.ID, from []app.OrderState, request, reason string, now app.Millis,
) (app.Order, error) {
	return through(ctx, r.f, "Refunds.BeginRefund",
		func() (app.Order, error) { return r.RefundStore.BeginRefund(ctx, order, from, request, reason, now) })
}

func (r refunds) AskRefund(ctx context.Context, ask app.RefundAsk) (app.Order, error) {
	return through(ctx, r.f, "Refunds.AskRefund",
		func() (app.Order, error) { return r.RefundStore.AskRefund(ctx, ask) })
}

func (r refunds) DecideRefund(ctx context.Context, d app.RefundDecision) (app.Order, error) {
	return through(ctx, r.f, "Refunds.DecideRefund",
		func() (app.Order, error) { return r.RefundStore.DecideRefund(ctx, d) })
}

func (r refunds) ClaimRefunds(ctx context.Context, now app.Millis, limit int) ([]app.Refund, error) {
	return through(ctx, r.f, "Refunds.ClaimRefunds",
		func() ([]app.Refund, error) { return r.RefundStore.ClaimRefunds(ctx, now, limit) })
}

func (r refunds) NoteRefund(ctx context.Context, order app.ID, note string, stuck bool) error {
	return r.f(ctx, "Refunds.NoteRefund", func() error { return r.RefundStore.NoteRefund(ctx, order, note, stuck) })
}

func (r refunds) FinishRefund(ctx context.Context, order app.ID, now app.Millis) (app.Order, error) {
	return through(ctx, r.f, "Refunds.FinishRefund",
		func() (app.Order, error) { return r.RefundStore.FinishRefund(ctx, order, now) })
}

// Outbox puts a fault before the outbox of the database.
func Outbox(to app.OutboxStore, f Fault) app.OutboxStore { return postings{to, f} }

type postings struct {
	app.OutboxStore
	f Fault
}

func (o postings) ClaimOutbox(ctx context.Context, now app.Millis, limit int) ([]app.OutboxMessage, error) {
	return through(ctx, o.f, "Outbox.ClaimOutbox",
		func() ([]app.OutboxMessage, error) { return o.OutboxStore.ClaimOutbox(ctx, now, limit) })
}

func (o postings) MarkSent(ctx context.Context, posted []app.OutboxMessage, claimed, sent app.Millis) error {
	return o.f(ctx, "Outbox.MarkSent", func() error { return o.OutboxStore.MarkSent(ctx, posted, claimed, sent) })
}

// OutboxStream puts a fault before the stream that the back office reads.
func OutboxStream(to app.OutboxStream, f Fault) app.OutboxStream { return outboxStream{to, f} }

type outboxStream struct {
	app.OutboxStream
	f Fault
}

func (o outboxStream) Append(
	ctx context.Context, last app.Millis, postings []app.OutboxMessage,
) (app.Millis, error) {
	return through(ctx, o.f, "OutboxStream.Append",
		func() (app.Millis, error) { return o.OutboxStream.Append(ctx, last, postings) })
}
