package main

import (
	"fmt"

	"stampede/app/outbox"
)

type mailCmd struct {
	List  mailList  `cmd:"" help:"List dead mails, oldest first."`
	Retry mailRetry `cmd:"" help:"Have them sent once more."`
	Drop  mailDrop  `cmd:"" help:"Forget one."`
}

type (
	mailList  struct{ reading }
	mailRetry struct {
		IDs []string `arg:"" optional:"" name:"id" help:"As the list shows them."`
		All bool     `help:"All that are dead now."`
		operating
	}
	mailDrop struct {
		ID string `arg:"" help:"As the list shows it."`
		operating
	}
)

func (mailCmd) Help() string {
	return "A mail is dead when the mail server refused its address or its text for good, or when eight tries within an hour failed. " +
		"While the mail server itself takes nothing, mails wait, however long that is. Find out why, mend it, and retry; a running " +
		"server sends it, its Message-ID is the one of before. The links in mails end by themselves: for an old one it is kinder to " +
		"drop the mail, its reader asks for another.\n\nExamples:\n\n    stampede mail list\n" +
		"    stampede mail retry 1795222790123-0\n    stampede mail retry --all"
}

func (c mailList) Run(e *env) error {
	return e.look(c.reading, func(api *client) error {
		mails, more, err := page[outbox.QuarantinedEmail](api, collection{"/mails", "mails"}, maxEntries)
		e.more(more)
		return list(e, c.JSON, err, mails, listing[outbox.QuarantinedEmail]{
			none: "no dead mails", head: "id\tat\tkind\tto\ttries\treason",
			columns: func(d outbox.QuarantinedEmail) []any {
				return []any{d.ID, e.wall(d.At), d.Kind, d.To, d.Tries, d.Reason}
			},
		})
	})
}

func (c mailRetry) Run(e *env) error {
	if c.All == (len(c.IDs) > 0) {
		return fmt.Errorf("%w: name dead mails, or say --all", errUsage)
	}
	return e.resend(c.operating, entries{collection{"/mails", "mails"}, "retry", "is sent again"}, c.IDs)
}

func (c mailDrop) Run(e *env) error {
	return e.dropEntry(c.operating, "/mails/", c.ID)
}
