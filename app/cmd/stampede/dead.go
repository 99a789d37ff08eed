package main

import (
	"errors"
	"fmt"

	"stampede/app/server"
	"stampede/app/shop"
)

type dead struct {
	List   deadList   `cmd:"" help:"List dead letters, oldest first."`
	Replay deadReplay `cmd:"" help:"Try the order of a dead letter once more."`
	Drop   deadDrop   `cmd:"" help:"Forget a dead letter; its order stays refused."`
}

type (
	deadList struct {
		JSON bool `name:"json" help:"For scripts, with the entry as it was."`
	}
	deadReplay struct {
		ID string `arg:"" help:"As the list shows it."`
		acting
	}
	deadDrop struct {
		ID string `arg:"" help:"As the list shows it."`
		acting
	}
)

func (dead) Help() string {
	return "An order whose row could not be written on its own account, several times, is refused: its units are back on sale, its buyer " +
		"knows. The letter keeps the entry and the reason. Replay takes units by the rules of a new buy and makes the refused " +
		"order pending, or says why not.\n\nExamples:\n\n    stampede dead list\n    stampede dead replay 3-1767225600000-0"
}

func (c deadList) Run(e *env) error {
	return e.withTools(func(t *server.Tools) error {
		jobs, err := t.FailedJobs(e.ctx)
		if err != nil {
			return err
		}
		letters, err := jobs.Letters.Redis.DeadLetters(e.ctx)
		if err != nil && shop.AwayOf(err) == nil {
			return err
		}
		missing := err // error of unreachable partitions, returned after the list of the others
		err = list(e, c.JSON, nil, letters, listing[shop.DeadLetter]{
			none: "no dead letters", head: "id\tat\torder\tsale\tuser\ttries\treason",
			columns: func(l shop.DeadLetter) []any {
				return []any{l.ID, e.wall(l.At), l.Order, l.Sale, l.User, l.Deliveries, l.Reason}
			},
		})
		return errors.Join(err, missing)
	})
}

func (c deadReplay) Run(e *env) error {
	return e.withActs(c.acting, func(t *server.Tools) error {
		order, err := t.ReplayDead(e.ctx, c.ID)
		if err == nil {
			fmt.Fprintf(e.out, "order %s is %s again, to be paid by %s\n", order.ID, order.State, e.wall(order.PayBy))
		}
		return err
	})
}

func (c deadDrop) Run(e *env) error {
	return e.withActs(c.acting, func(t *server.Tools) error {
		err := t.DropDead(e.ctx, c.ID)
		if err == nil {
			fmt.Fprintln(e.out, "dropped", c.ID)
		}
		return err
	})
}
