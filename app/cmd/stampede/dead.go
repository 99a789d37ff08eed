package main

import (
	"errors"
	"fmt"

	"stampede/app/server"
	"stampede/app/shop"
)

type dead struct {
	List   deadList   `cmd:"" help:"List dead letters, oldest first."`
	Replay deadReplay `cmd:"" help:"Retry the order of a dead letter."`
	Drop   deadDrop   `cmd:"" help:"Delete a dead letter. Its order stays rejected."`
}

type (
	deadList struct {
		JSON bool `name:"json" help:"Print JSON with the original entry, for scripts."`
	}
	deadReplay struct {
		ID string `arg:"" help:"Id from the list."`
		actorFlags
	}
	deadDrop struct {
		ID string `arg:"" help:"Id from the list."`
		actorFlags
	}
)

func (dead) Help() string {
	return "An order becomes a dead letter when several attempts to write its row fail because of the order itself. " +
		"The order is rejected, its units are on sale again, and its buyer is notified. The dead letter has the " +
		"entry and the reason. Replay takes units by the rules of a new buy and makes the rejected order pending, " +
		"or prints the reason of the refusal.\n\nExamples:\n\n    stampede dead list\n" +
		"    stampede dead replay 3-1767225600000-0"
}

func (c deadList) Run(e *env) error {
	return e.withTools(func(t *server.Tools) error {
		jobs, err := t.FailedJobs(e.ctx)
		if err != nil {
			return err
		}
		letters, err := jobs.Letters.Redis.Queue().DeadLetters(e.ctx)
		if err != nil && shop.UnreachableIn(err) == nil {
			return err
		}
		missing := err // error of unreachable partitions, returned after the list of the others
		err = list(e, c.JSON, nil, letters, listing[shop.DeadLetter]{
			none: "no dead letters", head: "id\tat\torder\tsale\tuser\ttries\treason",
			columns: func(l shop.DeadLetter) []any {
				return []any{l.ID, e.localTime(l.At), l.Order, l.Sale, l.User, l.Deliveries, l.Reason}
			},
		})
		return errors.Join(err, missing)
	})
}

func (c deadReplay) Run(e *env) error {
	return e.withActor(c.actorFlags, func(t *server.Tools) error {
		order, err := t.ReplayDead(e.ctx, c.ID)
		if err == nil {
			fmt.Fprintf(e.out, "order %s is %s again, pay by %s\n", order.ID, order.State, e.localTime(order.PayBy))
		}
		return err
	})
}

func (c deadDrop) Run(e *env) error {
	return e.withActor(c.actorFlags, func(t *server.Tools) error {
		err := t.DropDead(e.ctx, c.ID)
		if err == nil {
			fmt.Fprintln(e.out, "dropped", c.ID)
		}
		return err
	})
}
