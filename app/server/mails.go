package server

import (
	"context"

	"github.com/prometheus/client_golang/prometheus"

	"stampede/app/mail"
	"stampede/app/outbox"
	"stampede/streams"
)

// mails is what goes out by e-mail.
type mails struct {
	stream    *streams.MailStream // takes e-mails over
	folder    *mail.Folder        // nil: there is a mail server
	delivery  *streams.Deliverer
	orders    *streams.Deliverer // e-mails about orders
	hangUp    func()             // ends what is kept open to the mail server
	orderMail *outbox.OrderMail
}

// composeMails connects the e-mails: whoever writes one hands it to the stream, a worker sends it.
func (p *parts) composeMails(c *Config, registry *prometheus.Registry) error {
	sender, folder, err := c.mailer()
	if err != nil {
		return err
	}
	deliver, hangUp := folder.Deliver, func() {}
	if sender != nil {
		deliver, hangUp = sender.Deliver, sender.Close
	}
	s, m := p.stores, &p.mails
	m.stream, m.folder, m.hangUp = streams.NewMailStream(s.client), folder, hangUp
	m.delivery = streams.NewMailDeliverer(s.client, s.blocking, nodeName(p.lease), deliver)
	m.orderMail = &outbox.OrderMail{Users: s.db, Mailer: m.stream, Now: p.clock.Now}
	m.orders = streams.NewPaidDeliverer(s.client, s.blocking, streams.OrderMailGroup, nodeName(p.lease),
		m.orderMail.Deliver)
	showDeliveries(registry, m.delivery, "stampede_mails_total",
		"Tries of this node to send a mail: sent, dead because it cannot be, or unsent and tried again.",
		[3]string{"sent", "dead", "unsent"})
	const help = "Mails that are not sent: waiting ones are tried again, dead ones wait for an operator; " +
		"NaN: Redis did not answer."
	p.asked.count("stampede_mails", help, m.stream.Waiting, "state", "waiting")
	p.asked.count("stampede_mails", help, m.stream.CountQuarantined, "state", "dead")
	return nil
}

// start starts the duties of mails, which belong to the worker.
func (m *mails) start(d *duties, c *Config) {
	if c.Roles.Worker {
		d.start("mails", func(ctx context.Context) error {
			defer m.hangUp()
			return m.delivery.Run(ctx)
		})
		d.start("order mails", m.orders.Run)
	}
}
