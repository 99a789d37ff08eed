package main

import (
	"fmt"

	"stampede/app"
	"stampede/app/server"
)

type officeParked struct {
	List   parkedList   `cmd:"" help:"List them, oldest first."`
	Replay parkedReplay `cmd:"" help:"Send them once more."`
	Drop   parkedDrop   `cmd:"" help:"Forget one."`
}

type (
	parkedList struct {
		JSON bool `name:"json" help:"For scripts, with the posting as it is sent."`
	}
	parkedReplay struct {
		IDs  []string `arg:"" optional:"" name:"id" help:"As the list shows them."`
		All  bool     `help:"All that are parked now."`
		JSON bool     `name:"json" help:"For scripts: the ids that were sent again."`

		acting
	}
	parkedDrop struct {
		ID   string `arg:"" help:"As the list shows it."`
		JSON bool   `name:"json" help:"For scripts."`

		acting
	}
)

// Help says how a posting comes here.
func (officeParked) Help() string {
	return "A posting that the webhook's receiver answers with a 4xx other than 401, 403, 408, 425 and 429 is parked with what was " +
		"answered, and the others go on. Find out why, mend the receiver, and replay: the posting is appended to the stream once " +
		"more, where every group gets it; readers that keep the largest rev of each order are not disturbed. What is dropped can " +
		"still be sent by `stampede backoffice repost`.\n\nExamples:\n\n    stampede backoffice parked list\n" +
		"    stampede backoffice parked replay 1795222790123-0\n    stampede backoffice parked replay --all"
}

// Run lists.
func (c parkedList) Run(e *env) error {
	return e.withTools(func(t *server.Tools) error {
		paid, err := t.PaidStream(e.ctx)
		if err != nil {
			return err
		}
		parked, err := paid.Parked(e.ctx)
		if err != nil {
			return err
		}
		return list(e, c.JSON, parked, "nothing is parked", "id\tat\torder\trev\tstate\tgroup\ttries\treason",
			"%s\t%s\t%s\t%d\t%s\t%s\t%d\t%s", func(p app.ParkedMessage) []any {
				m := &p.OutboxMessage
				return []any{
					p.ID, e.wall(p.At), m.Order, m.Rev, m.State, p.Group, p.Deliveries, p.Reason,
				}
			})
	})
}

// Run replays.
func (c parkedReplay) Run(e *env) error {
	if c.All == (len(c.IDs) > 0) {
		return fmt.Errorf("%w: name parked postings, or say --all", errUsage)
	}
	return e.withActs(c.acting, func(t *server.Tools) error {
		return resend(e, c.JSON, c.IDs, "sent again", t.ReplayParked)
	})
}

// Run drops.
func (c parkedDrop) Run(e *env) error {
	return e.withActs(c.acting, func(t *server.Tools) error {
		return drop(e, c.JSON, c.ID, t.DropParked)
	})
}
