package server

import (
	"cmp"

	"stampede/app/mail"
)

// defaultFrom is who mails are from that are written to files.
const defaultFrom = "Stampede <noreply@localhost>"

// checkMail looks at how mails are sent.
func (c *Config) checkMail(p *problems) {
	if c.MailFrom != "" {
		if _, err := mail.ParseFrom(c.MailFrom); err != nil {
			p.add("MAIL_FROM", "is "+quote(c.MailFrom)+": want who mails are from, like Shop <noreply@shop.example>")
		}
	}
	if c.SMTPURL == "" {
		return
	}
	if _, err := mail.ParseServer(string(c.SMTPURL)); err != nil {
		p.add("SMTP_URL", err.Error())
	}
	if c.MailFrom == "" {
		p.add("MAIL_FROM", "is not set, but STAMPEDE_SMTP_URL is: mail servers want to know who mails are from")
	}
	if c.PublicURL == "" {
		p.add("PUBLIC_URL", "is not set, but STAMPEDE_SMTP_URL is: links in mails have to lead somewhere")
	}
}

// warnMail: a shop on real stores wants its mails sent.
func (c *Config) warnMail(p *problems) {
	if c.SMTPURL == "" && !c.Embedded() {
		p.add("SMTP_URL", "is not set: mails are sent to nobody; they are files in "+folder(c.Data).mails()+" on each node, or wait in "+
			"Redis where that cannot be written")
	}
}

// mailer makes what hands e-mails out: to the mail server, or, without one, to a folder, which is answered too.
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
