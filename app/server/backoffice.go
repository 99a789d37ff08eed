package server

import (
	"context"

	"github.com/prometheus/client_golang/prometheus"

	"stampede/app/backoffice"
	"stampede/app/outbox"
	"stampede/app/payment"
	"stampede/app/privacy"
	"stampede/app/recovery"
	"stampede/app/webhook"
	"stampede/streams"
)

// webhookGroup is the consumer group of the webhook on the paid stream. All nodes share it.
const webhookGroup = "webhook"

// backOffice holds the flows after a payment: refunds and messages to the shop's back office.
type backOffice struct {
	refunder *payment.Refunder // nil: no gateway that can refund
	poster   *outbox.Sender
	paid     *streams.PaidStream
	webhook  *webhook.Sender // nil: no webhook is configured
	delivery *streams.Deliverer
}

// composeOutbox connects the flows after a payment and adds their services.
func (p *parts) composeOutbox(c *Config, registry *prometheus.Registry) {
	s := p.stores
	p.services.refundRequests = &payment.RefundRequests{
		Policy: payment.RefundPolicy(c.RefundPolicy), Stock: p.inventory.Stock(), Refunds: p.stores.db.Refunds(),
		Effects: p.effects,
	}
	p.services.refunds = &backoffice.RefundService{Store: p.stores.db, RedisTime: p.inventory.Now, Effects: p.effects}
	b := &p.backOffice
	b.poster = &outbox.Sender{Store: p.stores.db.Outbox(), Stream: p.backOffice.paid, Now: p.inventory.Now}
	gauge(registry, "stampede_postings_waiting",
		"Paid and refunded orders that are not yet in the back office's stream.", b.poster.Waiting)
	if p.services.payments.TakesPayments() {
		b.refunder = &payment.Refunder{
			Gateway: p.gateway, Refunds: p.stores.db.Refunds(), Orders: p.stores.db.Orders(),
			Stock:   p.inventory.Stock(),
			Effects: p.effects,
			Durable: p.recovery.Durable,
		}
		exportRefunds(registry, b.refunder)
	}
	if c.WebhookURL != "" {
		b.webhook = webhook.New(c.WebhookURL, []byte(c.WebhookSecret))
		b.delivery = streams.NewPaidDeliverer(s.client, s.blocking, webhookGroup, nodeName(p.lease), b.webhook.Deliver)
		exportDeliveries(registry, b.delivery, "stampede_webhook_deliveries_total",
			"Deliveries to the webhook: `accepted`, `quarantined` (rejected permanently) or `undelivered` (retried).",
			[3]string{"accepted", "quarantined", "undelivered"})
	}
	p.storeMetrics.count("stampede_postings_quarantined",
		"Quarantined postings: rejected permanently by their receiver, waiting for an operator. NaN: Redis was unreachable.",
		b.paid.CountQuarantined)
}

// start starts the background jobs of the back office. The worker delivers postings, the sweeper completes refunds.
func (b *backOffice) start(d *jobs, c *Config) {
	if c.Roles.Worker {
		d.start("poster", b.poster.Run)
		if b.delivery != nil {
			d.start("webhook", func(ctx context.Context) error {
				defer b.webhook.Close()
				return b.delivery.Run(ctx)
			})
		}
	}
	if c.Roles.Sweeper {
		d.start("paid stream", b.paid.Run)
		if b.refunder != nil {
			d.start("refunder", b.refunder.Run)
		}
	}
}

// exportDeliveries exports the results of this node's attempts. `results` has the label values, in the order of
// Deliverer.Counts.
func exportDeliveries(registry *prometheus.Registry, d *streams.Deliverer, name, help string, results [3]string) {
	for i, result := range results {
		counter(registry, name, help, func() int64 { return d.Counts()[i] }, "result", result)
	}
}

// exportRefunds exports the refunds that wait for an operator or for the gateway.
func exportRefunds(registry *prometheus.Registry, r *payment.Refunder) {
	for state, count := range map[payment.RefundState]func(payment.RefundBacklog) int64{
		payment.RefundRequested: func(b payment.RefundBacklog) int64 { return b.Requested },
		payment.RefundOpen:      func(b payment.RefundBacklog) int64 { return b.Open },
		payment.RefundStuck:     func(b payment.RefundBacklog) int64 { return b.Stuck },
	} {
		gauge(registry, "stampede_refunds", "Waiting refunds: `requested` and `stuck` ones wait for an operator, `open` ones for the gateway.",
			func() int64 { return count(r.Backlog()) }, "state", string(state))
	}
	gauge(registry, "stampede_refund_oldest_timestamp_seconds",
		"Decision time of the oldest open refund, in Unix seconds; 0: no open refund.",
		func() float64 { return float64(r.Backlog().Oldest) / 1000 })
}

// composeAfterSale connects the flows that operators and buyers use after a sale and adds their services.
func (p *parts) composeAfterSale(c *Config) {
	db := p.stores.db
	p.services.shipping = &backoffice.ShippingService{
		Store: db, RedisTime: p.inventory.Now, Gateway: p.gateway, Effects: p.effects, FinishAfter: c.FinishAfter,
	}
	p.finisher = &backoffice.FinisherJob{
		Store: db, RedisTime: p.inventory.Now, Effects: p.effects, Mail: p.mails.orderMail, Queue: p.mails.stream,
	}
	p.services.search = &backoffice.SearchService{Reader: p.stores.readStore(), Store: db, Clock: p.clock}
	p.services.reports = &backoffice.ReportService{
		Reader: p.stores.readStore(), Redis: p.inventory, Clock: p.clock,
		Auditor: &recovery.Auditor{Store: db, Redis: p.inventory},
	}
	p.services.failedJobs = &backoffice.FailedJobs{
		Store: db,
		Letters: &recovery.DeadLetters{
			Store: db, Redis: p.inventory, Effects: p.effects, PayWindow: c.PayWindow,
		},
		Postings: p.backOffice.paid, Mails: p.mails.stream,
	}
}

// composeBlanker connects the job that removes old personal data.
func (p *parts) composeBlanker(c *Config, registry *prometheus.Registry) {
	p.blanker = &privacy.BlankerJob{Store: p.stores.db, After: c.PersonalAfter}
	counter(registry, "stampede_blanked_orders_total",
		"Old orders from which this node removed addresses and parcel numbers.", p.blanker.Blanked)
	gauge(registry, "stampede_blank_failing", "1: the last run of the job that removes old personal data has failed on this node.",
		func() int { return boolGauge(p.blanker.Failure() != "") })
}
