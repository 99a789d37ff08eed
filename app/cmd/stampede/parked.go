package main

import (
	"fmt"

	"stampede/app"
)

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
		var all struct {
			Postings []app.QuarantinedMessage `json:"postings"`
			More     bool                     `json:"more"`
		}
		err := api.get("/parked", mostEntries, &all)
		e.more(all.More)
		return list(e, c.JSON, err, all.Postings, "nothing is parked", "id\tat\torder\trev\tstate\tgroup\ttries\treason",
			"%s\t%s\t%s\t%d\t%s\t%s\t%d\t%s", func(p app.QuarantinedMessage) []any {
				m := &p.OutboxMessage
				return []any{
					p.ID, e.wall(p.At), m.Order, m.Rev, m.State, p.Group, p.Deliveries, p.Reason,
				}
			})
	})
}

func (c parkedReplay) Run(e *env) error {
	if c.All == (len(c.IDs) > 0) {
		return fmt.Errorf("%w: name parked postings, or say --all", errUsage)
	}
	return e.resend(c.operating, entries{"/parked", "postings", "replay", "sent again"}, c.IDs)
}

func (c parkedDrop) Run(e *env) error {
	return e.dropEntry(c.operating, "/parked/", c.ID)
}
