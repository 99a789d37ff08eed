package server

import (
	"context"
	"math"

	"github.com/prometheus/client_golang/prometheus"

	"stampede/app"
	"stampede/app/mail"
	"stampede/streams"
)

// mailGroup is the group on the paid stream for which buyers are written to.
const mailGroup = "mail"

// mails is what goes out by e-mail.
type mails struct {
	stream   *streams.MailStream // takes letters over
	folder   *mail.Folder        // nil: there is a mail server
	delivery *streams.MailDeliverer
	orders   *streams.PaidDeliverer // letters about orders
	hangUp   func()                 // ends what is kept open to the mail server
	letters  *app.OrderMail
}

// composeMails connects the letters: whoever writes one hands it to the stream, a worker sends it.
func (p *parts) composeMails(c *Config, registry *prometheus.Registry) error {
	sender, folder, err := c.mailer()
	if err != nil {
		return err
	}
	deliver, hangUp := folder.Deliver, func() {}
	if sender != nil {
		deliver, hangUp = sender.Deliver, sender.Close
	}
	s := p.stores
	m := &p.mails
	m.hangUp = hangUp
	m.stream, m.folder = streams.NewMailStream(s.client), folder
	m.delivery = streams.NewMailDeliverer(s.client, s.blocking, nodeName(p.lease), deliver)
	m.letters = &app.OrderMail{Users: s.db, Mailer: m.stream, Now: p.clock.Now}
	m.orders = streams.NewPaidDeliverer(s.client, s.blocking, mailGroup, nodeName(p.lease), m.letters.Deliver)
	showMails(registry, &p.asked, m)
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

// showMails shows what becomes of letters.
func showMails(registry *prometheus.Registry, asked *storeMetrics, m *mails) {
	for result, count := range map[string]func(sent, dead, unsent int64) int64{
		"sent":   func(n, _, _ int64) int64 { return n },
		"dead":   func(_, n, _ int64) int64 { return n },
		"unsent": func(_, _, n int64) int64 { return n },
	} {
		counter(registry, "stampede_mails_total",
			"Tries of this node to send a mail: sent, dead because it cannot be, or unsent and tried again.",
			func() int64 { return count(m.delivery.Counts()) }, "result", result)
	}
	for state, count := range map[string]func(context.Context) (int64, error){
		"waiting": m.stream.Waiting, "dead": m.stream.CountDead,
	} {
		asked.gauge("stampede_mails",
			"Mails that are not sent: waiting ones are tried again, dead ones wait for an operator; NaN: Redis did not answer.",
			func() float64 {
				ctx, cancel := context.WithTimeout(context.Background(), scrapeWait)
				defer cancel()
				n, err := count(ctx)
				if err != nil {
					return math.NaN()
				}
				return float64(n)
			}, "state", state)
	}
}
