package server

import (
	"cmp"
	"context"

	"github.com/prometheus/client_golang/prometheus"

	"stampede/app/mail"
	"stampede/app/outbox"
	"stampede/streams"
)

// mails holds the parts that send e-mails.
type mails struct {
	stream     *streams.MailStream // accepts e-mails
	folder     *mail.Folder        // nil: a mail server is configured
	delivery   *streams.Deliverer
	orders     *streams.Deliverer // reads the paid stream and creates e-mails about orders
	disconnect func()             // closes the connection to the mail server
	orderMail  *outbox.OrderMail
}

// composeMails connects the e-mails. Producers append to the stream; workers send.
func (p *parts) composeMails(c *Config, registry *prometheus.Registry) error {
	sender, folder, err := c.mailer()
	if err != nil {
		return err
	}
	deliver, disconnect := folder.Deliver, func() {}
	if sender != nil {
		deliver, disconnect = sender.Deliver, sender.Close
	}
	s, m := p.stores, &p.mails
	m.stream, m.folder, m.disconnect = streams.NewMailStream(s.client), folder, disconnect
	m.delivery = streams.NewMailDeliverer(s.client, s.blocking, nodeName(p.lease), deliver)
	m.orderMail = &outbox.OrderMail{UserByID: s.db.Accounts().UserByID, Mailer: m.stream, Now: p.clock.Now}
	m.orders = streams.NewPaidDeliverer(s.client, s.blocking, streams.OrderMailGroup, nodeName(p.lease),
		m.orderMail.Deliver)
	exportDeliveries(registry, m.delivery, "stampede_mails_total",
		"Attempts of this node to send an e-mail: sent, quarantined (permanent failure), or unsent (retried).",
		[3]string{"sent", "quarantined", "unsent"})
	const help = "Unsent e-mails: waiting ones are retried, quarantined ones wait for an operator. NaN: Redis was unreachable."
	p.storeMetrics.count("stampede_mails", help, m.stream.Waiting, "state", "waiting")
	p.storeMetrics.count("stampede_mails", help, m.stream.CountQuarantined, "state", "quarantined")
	return nil
}

// start starts the mail jobs on nodes with the role worker.
func (m *mails) start(d *jobs, c *Config) {
	if c.Roles.Worker {
		d.start("mails", func(ctx context.Context) error {
			defer m.disconnect()
			return m.delivery.Run(ctx)
		})
		d.start("order mails", m.orders.Run)
	}
}

// defaultFrom is the sender of e-mails that are written to files.
const defaultFrom = "Stampede <noreply@localhost>"

// checkMail validates the mail settings.
func (c *Config) checkMail(p *problems) {
	if c.MailFrom != "" {
		if _, err := mail.ParseFrom(c.MailFrom); err != nil {
			p.add("MAIL_FROM", "is "+quote(c.MailFrom)+": want the sender of e-mails, for example Shop <noreply@shop.example>")
		}
	}
	if c.SMTPURL == "" {
		return
	}
	if _, err := mail.ParseServer(string(c.SMTPURL)); err != nil {
		p.add("SMTP_URL", err.Error())
	}
	if c.MailFrom == "" {
		p.add("MAIL_FROM", "is not set, but STAMPEDE_SMTP_URL is: mail servers require a sender")
	}
	if c.PublicURL == "" {
		p.add("PUBLIC_URL", "is not set, but STAMPEDE_SMTP_URL is: links in e-mails need the public address of the page")
	}
}

// warnMail warns about real stores without a mail server.
func (c *Config) warnMail(p *problems) {
	if c.SMTPURL == "" && !c.Embedded() {
		p.add("SMTP_URL", "is not set: the node sends no e-mail; e-mails are files in "+folder(c.Data).mails()+" on each node, or wait in "+
			"Redis if that folder is not writable")
	}
}

// mailer returns a sender if a mail server is configured, otherwise a folder. The other result is nil.
func (c *Config) mailer() (*mail.Sender, *mail.Folder, error) {
	from, err := mail.ParseFrom(cmp.Or(c.MailFrom, defaultFrom))
	if err != nil {
		return nil, nil, err
	}
	if c.SMTPURL == "" {
		return nil, &mail.Folder{Path: folder(c.Data).mails(), From: from}, nil
	}
	server, err := mail.ParseServer(string(c.SMTPURL))
	if err != nil {
		return nil, nil, err
	}
	return mail.NewSender(server, from), nil, nil
}
