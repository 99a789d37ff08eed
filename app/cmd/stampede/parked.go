package main

import (
	"fmt"
	"time"

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
	}
	parkedDrop struct {
		ID   string `arg:"" help:"As the list shows it."`
		JSON bool   `name:"json" help:"For scripts."`
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
					p.ID, p.At.Time().Format(time.DateTime), m.Order, m.Rev, m.State, p.Group, p.Deliveries, p.Reason,
				}
			})
	})
}

// Run replays.
func (c parkedReplay) Run(e *env) error {
	if c.All == (len(c.IDs) > 0) {
		return fmt.Errorf("%w: name parked postings, or say --all", errUsage)
	}
	return e.withTools(func(t *server.Tools) error {
		sent := []string{}
		err := t.ReplayParked(e.ctx, c.IDs, func(id string) {
			sent = append(sent, id)
			if !c.JSON {
				fmt.Fprintln(e.out, "sent again", id)
			}
		})
		if c.JSON && err == nil {
			err = e.json(sent)
		}
		return err
	})
}

// Run drops.
func (c parkedDrop) Run(e *env) error {
	return e.withTools(func(t *server.Tools) error {
		err := t.DropParked(e.ctx, c.ID)
		switch {
		case err != nil:
			return err
		case c.JSON:
			return e.json([]string{c.ID})
		}
		fmt.Fprintln(e.out, "dropped", c.ID)
		return nil
	})
}
