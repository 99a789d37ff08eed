package main

import (
	"net/http"
	"time"
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
