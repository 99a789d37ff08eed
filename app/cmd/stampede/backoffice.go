package main

import (
	"fmt"
	"net/http"
	"time"

	"stampede/app/outbox"
)

type backOffice struct {
	Repost officeRepost `cmd:"" help:"Send everything since an instant to the back office once more."`
	Parked officeParked `cmd:"" help:"What the webhook's receiver refuses for good."`
}

func (backOffice) Help() string {
	return "Each order that is paid or refunded is an entry of the Redis stream stampede:{backoffice}:paid: fields order, rev, state " +
		"and body (JSON). Read it under a consumer group, which its reader creates once: XGROUP CREATE stampede:{backoffice}:paid " +
		"NAME 0 MKSTREAM. Entries come at least once: keep the largest rev of each order and ignore what is not above it."
}

type officeRepost struct {
	Since time.Time `required:"" placeholder:"TIME" help:"RFC 3339, e.g. 2026-11-21T10:00:00+08:00."`
	operating
}

func (officeRepost) Help() string {
	return "For a back office that has lost entries, or a Redis that has: the database keeps what was sent. Readers that keep the " +
		"largest rev of each order are not disturbed.\n\nExample:\n\n    stampede backoffice repost --since 2026-11-21T10:00:00+08:00"
}

func (c *officeRepost) Run(e *env) error {
	return e.operate(c.operating, func(api *client) error {
		var done struct {
			Entries int64 `json:"entries"`
		}
		err := api.act(http.MethodPost, "/backoffice/repost", map[string]any{"since": c.Since.UnixMilli()}, &done)
		return e.result(c.JSON, err, done, "%d entries are sent again", done.Entries)
	})
}

type officeParked struct {
	List   parkedList   `cmd:"" help:"List them, oldest first."`
	Replay parkedReplay `cmd:"" help:"Send them once more."`
	Drop   parkedDrop   `cmd:"" help:"Forget one."`
}

type (
	parkedList   struct{ reading }
	parkedReplay struct {
		IDs []string `arg:"" optional:"" name:"id" help:"As the list shows them."`
		All bool     `help:"All that are parked now."`
		operating
	}
	parkedDrop struct {
		ID string `arg:"" help:"As the list shows it."`
		operating
	}
)

func (officeParked) Help() string {
	return "A posting that the webhook's receiver answers with a 4xx other than 401, 403, 408, 425 and 429 is parked with what was " +
		"answered, and the others go on. Find out why, mend the receiver, and replay: the posting is appended to the stream once " +
		"more, where every group gets it; readers that keep the largest rev of each order are not disturbed. What is dropped can " +
		"still be sent by `stampede backoffice repost`.\n\nExamples:\n\n    stampede backoffice parked list\n" +
		"    stampede backoffice parked replay 1795222790123-0\n    stampede backoffice parked replay --all"
}

func (c parkedList) Run(e *env) error {
	return e.look(c.reading, func(api *client) error {
		postings, more, err := page[outbox.QuarantinedMessage](api, collection{"/parked", "postings"}, maxEntries)
		e.more(more)
		return list(e, c.JSON, err, postings, listing[outbox.QuarantinedMessage]{
			none: "nothing is parked", head: "id\tat\torder\trev\tstate\tgroup\ttries\treason",
			columns: func(p outbox.QuarantinedMessage) []any {
				m := &p.Message
				return []any{p.ID, e.wall(p.At), m.Order, m.Rev, m.State, p.Group, p.Deliveries, p.Reason}
			},
		})
	})
}

func (c parkedReplay) Run(e *env) error {
	if c.All == (len(c.IDs) > 0) {
		return fmt.Errorf("%w: name parked postings, or say --all", errUsage)
	}
	return e.resend(c.operating, entries{collection{"/parked", "postings"}, "replay", "sent again"}, c.IDs)
}

func (c parkedDrop) Run(e *env) error {
	return e.dropEntry(c.operating, "/parked/", c.ID)
}
