package main

import (
	"fmt"

	"stampede/app/outbox"
)

type mailCmd struct {
	List  mailList  `cmd:"" help:"List quarantined e-mails, oldest first."`
	Retry mailRetry `cmd:"" help:"Send quarantined e-mails again."`
	Drop  mailDrop  `cmd:"" help:"Delete a quarantined e-mail."`
}

type (
	mailList  struct{ readFlags }
	mailRetry struct {
		IDs []string `arg:"" optional:"" name:"id" help:"Ids from the list."`
		All bool     `help:"Retry all quarantined e-mails."`
		operationFlags
	}
	mailDrop struct {
		ID string `arg:"" help:"Id from the list."`
		operationFlags
	}
)

func (mailCmd) Help() string {
	return "An e-mail is quarantined when the mail server rejects its address or text permanently, or when eight " +
		"attempts within an hour fail. While the mail server itself accepts nothing, e-mails wait without limit. " +
		"Find the reason, repair it and retry: a running server sends the e-mail again with the same Message-ID. " +
		"Links in e-mails expire. Drop an old e-mail with a link: its reader can request a new one.\n\n" +
		"Examples:\n\n    stampede mail list\n" +
		"    stampede mail retry 1795222790123-0\n" +
		"    stampede mail retry --all"
}

func (c mailList) Run(e *env) error {
	return e.read(c.readFlags, func(api *client) error {
		mails, more, err := page[outbox.QuarantinedEmail](api, collection{"/mails", "mails"}, maxEntries)
		e.noteMore(more)
		return list(e, c.JSON, err, mails, listing[outbox.QuarantinedEmail]{
			none: "no quarantined e-mails", head: "id\tat\tkind\tto\ttries\treason",
			columns: func(d outbox.QuarantinedEmail) []any {
				return []any{d.ID, e.localTime(d.At), d.Kind, d.To, d.Tries, d.Reason}
			},
		})
	})
}

func (c mailRetry) Run(e *env) error {
	if c.All == (len(c.IDs) > 0) {
		return fmt.Errorf("%w: name quarantined e-mails by id, or add --all", errUsage)
	}
	return e.resend(c.operationFlags, entryKind{collection{"/mails", "mails"}, "retry", "will be sent again"}, c.IDs)
}

func (c mailDrop) Run(e *env) error {
	return e.dropEntry(c.operationFlags, "/mails/", c.ID)
}
