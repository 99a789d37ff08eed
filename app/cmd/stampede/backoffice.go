package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"time"

	"stampede/app"
	"stampede/app/server"
)

type backOffice struct {
	Tail   officeTail   `cmd:"" help:"Print paid and refunded orders as they come, one JSON object per line."`
	Repost officeRepost `cmd:"" help:"Send everything since an instant to the back office once more."`
	Parked officeParked `cmd:"" help:"What the webhook's receiver refuses for good."`
}

// Help says what the stream promises.
func (backOffice) Help() string {
	return "Each order that is paid or refunded is an entry of the Redis stream stampede:{backoffice}:paid: fields order, rev, state " +
		"and body (JSON). Read it under a consumer group; the group backoffice is there from the beginning, every other one is " +
		"made by its first reader and begins with the oldest entry. Entries come at least once: keep the largest rev of each " +
		"order and ignore what is not above it."
}

type (
	officeTail struct {
		Group    string `default:"backoffice" help:"Consumer group; what one group has taken, others still get."`
		Consumer string `placeholder:"NAME" help:"Name within the group; by default this machine's."`
		Count    int    `placeholder:"N" help:"End after so many; without it, wait for more until interrupted."`
	}
	officeRepost struct {
		Since time.Time `required:"" placeholder:"TIME" help:"RFC 3339, e.g. 2026-11-21T10:00:00+08:00."`

		acting
	}
)

// Help shows examples.
func (officeTail) Help() string {
	return "The example of a reader: an entry is acknowledged after its line was written, so that nothing is lost when the reader " +
		"dies, and the last line may come twice.\n\nExamples:\n\n    stampede backoffice tail\n" +
		"    stampede backoffice tail --group bookkeeping --count 100"
}

// Run prints.
func (c *officeTail) Run(e *env) error {
	if c.Count < 0 || c.Group == "" {
		return fmt.Errorf("%w: --count must be positive, --group must have a name", errUsage)
	}
	if c.Consumer == "" {
		c.Consumer = "tail"
		if host, err := os.Hostname(); err == nil {
			c.Consumer = host
		}
	}
	return e.withTools(func(t *server.Tools) error {
		lines := json.NewEncoder(e.out)
		return t.ReadPaid(e.ctx, c.Group, c.Consumer, c.Count, func(_ context.Context, p app.OutboxMessage) error {
			return lines.Encode(p)
		})
	})
}

// Help says when it is needed.
func (officeRepost) Help() string {
	return "For a back office that has lost entries, or a Redis that has: the database keeps what was sent. Readers that keep the " +
		"largest rev of each order are not disturbed.\n\nExample:\n\n    stampede backoffice repost --since 2026-11-21T10:00:00+08:00"
}

// Run marks them for the running server.
func (c *officeRepost) Run(e *env) error {
	return e.withActs(c.acting, func(t *server.Tools) error {
		n, err := t.Repost(e.ctx, c.Since)
		if err == nil {
			fmt.Fprintf(e.out, "%d entries are sent again by the running server\n", n)
		}
		return err
	})
}
