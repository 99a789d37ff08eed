package server

import (
	"context"

	"github.com/prometheus/client_golang/prometheus"

	"stampede/app/outbox"
	"stampede/app/payment"
	"stampede/app/webhook"
	"stampede/streams"
)

// webhookGroup is the group under which the nodes read the paid stream for the webhook.
const webhookGroup = "webhook"

// backOffice is what follows a payment: refunds, and what the shop's back office hears.
type backOffice struct {
	refunder *payment.Refunder // nil: there is no gateway to give money back through
	poster   *outbox.OutboxSender
	paid     *streams.PaidStream
	webhook  *webhook.Sender // nil: nobody is called
	delivery *streams.Deliverer
}

// composeOutbox connects what follows a payment, and gives the shop its desk.
func (p *parts) composeOutbox(c *Config, registry *prometheus.Registry) {
	s := p.stores
	p.services.refunds = &payment.RefundDesk{
		Policy: payment.RefundPolicy(c.RefundPolicy), Redis: p.inventory, Store: p.stores.db,
		Effects: p.effects, Journal: p.services.journal,
	}
	p.services.reposter = &outbox.Reposter{Store: p.stores.db, Journal: p.services.journal}
	b := &p.office
	b.poster = &outbox.OutboxSender{Store: p.stores.db, Stream: p.office.paid, Now: p.inventory.Now}
	gauge(registry, "stampede_postings_waiting",
		"Paid and refunded orders that the back office's stream does not have yet.", b.poster.Waiting)
	if p.services.cashier.TakesPayments() {
		b.refunder = &payment.Refunder{
			Gateway: p.gateway, Store: p.stores.db, Redis: p.inventory,
			Effects: p.effects,
		}
		showRefunds(registry, b.refunder)
	}
	if c.WebhookURL != "" {
		b.webhook = webhook.New(c.WebhookURL, []byte(c.WebhookSecret))
		b.delivery = streams.NewPaidDeliverer(s.client, s.blocking, webhookGroup, nodeName(p.lease), b.webhook.Deliver)
		showDeliveries(registry, b.delivery, "stampede_webhook_deliveries_total",
			"Deliveries to the webhook: taken, parked because refused for good, or undelivered and tried again.",
			[3]string{"taken", "parked", "undelivered"})
	}
	p.asked.count("stampede_postings_parked",
		"Postings that their receiver refuses for good, waiting for an operator; NaN: Redis did not answer.",
		b.paid.CountQuarantined)
}

// start starts the duties of the back office: the worker carries postings out, the sweeper finishes refunds.
func (b *backOffice) start(d *duties, c *Config) {
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

// showDeliveries exports the results of this node's attempts, under their names in the order of Deliverer.Counts.
func showDeliveries(registry *prometheus.Registry, d *streams.Deliverer, name, help string, results [3]string) {
	for i, result := range results {
		counter(registry, name, help, func() int64 { return d.Counts()[i] }, "result", result)
	}
}

// showRefunds shows what waits for people or for the gateway.
func showRefunds(registry *prometheus.Registry, r *payment.Refunder) {
	for state, count := range map[payment.RefundState]func(payment.RefundBacklog) int64{
		payment.RefundAsked: func(b payment.RefundBacklog) int64 { return b.Asked },
		payment.RefundOpen:  func(b payment.RefundBacklog) int64 { return b.Open },
		payment.RefundStuck: func(b payment.RefundBacklog) int64 { return b.Stuck },
	} {
		gauge(registry, "stampede_refunds", "Refunds that wait: asked and stuck ones for people, open ones for the gateway.",
			func() int64 { return count(r.Backlog()) }, "state", string(state))
	}
	gauge(registry, "stampede_refund_oldest_timestamp_seconds",
		"When the oldest open refund was decided on, Unix seconds; 0: none is open.",
		func() float64 { return float64(r.Backlog().Oldest) / 1000 })
}
