package main

import (
	"fmt"
	"net/http"
	"time"

	"stampede/app/outbox"
)

type backOffice struct {
	Repost repostCmd     `cmd:"" help:"Send all entries since a time to the back office again."`
	Parked quarantineCmd `cmd:"" help:"Manage quarantined postings, which the receiver of the webhook rejected permanently."`
}

func (backOffice) Help() string {
	return "Each paid or refunded order is an entry of the Redis stream stampede:{backoffice}:paid, with the fields " +
		"order, rev, state and body (JSON). Each reader reads it with a consumer group, which it creates once: " +
		"XGROUP CREATE stampede:{backoffice}:paid NAME 0 MKSTREAM. Entries are delivered at least once: keep the " +
		"largest rev of each order and ignore entries that do not exceed it."
}

type repostCmd struct {
	Since time.Time `required:"" placeholder:"TIME" help:"Start time in RFC 3339, for example 2026-11-21T10:00:00+08:00."`
	operationFlags
}

func (repostCmd) Help() string {
	return "Use it after the back office or Redis has lost entries: MySQL stores all of them. Readers that keep the " +
		"largest rev of each order are not affected.\n\nExample:\n\n" +
		"    stampede backoffice repost --since 2026-11-21T10:00:00+08:00"
}

func (c *repostCmd) Run(e *env) error {
	return e.operate(c.operationFlags, func(api *client) error {
		var done struct {
			Entries int64 `json:"entries"`
		}
		err := api.change(http.MethodPost, "/backoffice/repost", map[string]any{"since": c.Since.UnixMilli()}, &done)
		return e.result(c.JSON, err, done, "%d entries will be sent again", done.Entries)
	})
}

type quarantineCmd struct {
	List   quarantineList   `cmd:"" help:"List quarantined postings, oldest first."`
	Replay quarantineReplay `cmd:"" help:"Send quarantined postings again."`
	Drop   quarantineDrop   `cmd:"" help:"Delete a quarantined posting."`
}

type (
	quarantineList   struct{ readFlags }
	quarantineReplay struct {
		IDs []string `arg:"" optional:"" name:"id" help:"Ids from the list."`
		All bool     `help:"Replay all quarantined postings."`
		operationFlags
	}
	quarantineDrop struct {
		ID string `arg:"" help:"Id from the list."`
		operationFlags
	}
)

func (quarantineCmd) Help() string {
	return "A posting is quarantined, with the response, when the receiver of the webhook returns a 4xx other than " +
		"401, 403, 408, 425 and 429. Other postings continue. Find the reason, repair the receiver and replay: the " +
		"posting is appended to the stream again, for every consumer group. Readers that keep the largest rev of " +
		"each order are not affected. `stampede backoffice repost` can still send dropped postings.\n\n" +
		"Examples:\n\n    stampede backoffice parked list\n" +
		"    stampede backoffice parked replay 1795222790123-0\n" +
		"    stampede backoffice parked replay --all"
}

func (c quarantineList) Run(e *env) error {
	return e.read(c.readFlags, func(api *client) error {
		postings, more, err := page[outbox.QuarantinedMessage](api, collection{"/parked", "postings"}, maxEntries)
		e.noteMore(more)
		return list(e, c.JSON, err, postings, listing[outbox.QuarantinedMessage]{
			none: "no quarantined postings", head: "id\tat\torder\trev\tstate\tgroup\ttries\treason",
			columns: func(p outbox.QuarantinedMessage) []any {
				m := &p.Message
				return []any{p.ID, e.localTime(p.At), m.Order, m.Rev, m.State, p.Group, p.Deliveries, p.Reason}
			},
		})
	})
}

func (c quarantineReplay) Run(e *env) error {
	if c.All == (len(c.IDs) > 0) {
		return fmt.Errorf("%w: name quarantined postings by id, or add --all", errUsage)
	}
	return e.resend(c.operationFlags, entryKind{collection{"/parked", "postings"}, "replay", "sent again"}, c.IDs)
}

func (c quarantineDrop) Run(e *env) error {
	return e.dropEntry(c.operationFlags, "/parked/", c.ID)
}
