package main

import (
	"errors"
	"fmt"
	"time"

	"stampede/app/server"
	"stampede/app/shop"
)

// rollingPeriod is the length of the rolling schedule that seed creates.
const rollingPeriod = 2 * time.Hour

type seedCmd struct {
	Rolling  bool `help:"Create five-minute slots for the next two hours, instead of the slots of STAMPEDE_SLOTS."`
	Days     int  `default:"2" help:"Number of days, from today, with slots of STAMPEDE_SLOTS."`
	Products int  `placeholder:"N" help:"Add only N products of bulk test data."`

	Challenge string `default:"none" help:"Challenge of the added sales: none, pass, captcha or work."`
	actorFlags
}

func (seedCmd) Help() string {
	return "Adds missing products, slots and sales, and does not change existing ones.\n\nExamples:\n\n" +
		"    stampede seed                      (demo products in today's and tomorrow's slots)\n" +
		"    stampede seed --rolling\n" +
		"    stampede seed --challenge work\n" +
		"    stampede seed --products 100000"
}

// journalParameters returns the parameters for the journal.
func (c *seedCmd) journalParameters() any {
	return struct {
		Rolling   bool   `json:"rolling"`
		Days      int    `json:"days"`
		Products  int    `json:"products"`
		Challenge string `json:"challenge"`
	}{c.Rolling, c.Days, c.Products, c.Challenge}
}

func (c *seedCmd) Run(e *env) error {
	if c.Products < 0 || c.Days < 1 || c.Days > 366 {
		return fmt.Errorf("%w: --products must be positive, --days from 1 to 366", errUsage)
	}
	kind, err := shop.ParseChallenge(c.Challenge)
	if err != nil {
		return fmt.Errorf("%w: --challenge is %q, want none, pass, captcha or work", errUsage, c.Challenge)
	}
	return e.withActor(c.actorFlags, func(t *server.Tools) (err error) {
		seeder, release, err := t.Seeder(e.ctx)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, release()) }()
		seeder.Challenge = kind
		if err := t.RecordSeeding(e.ctx, c.journalParameters()); err != nil {
			return err
		}
		if c.Products > 0 {
			began := time.Now()
			return seeder.Bulk(e.ctx, c.Products, func(done int) {
				fmt.Fprintf(e.err, "%d of %d products (%.0f s)\n", done, c.Products, time.Since(began).Seconds())
			})
		}
		plan := t.DailyPlan(c.Days)
		if c.Rolling {
			if plan, err = t.RollingPlan(e.ctx, rollingPeriod); err != nil {
				return err
			}
		}
		if err := seeder.Products(e.ctx); err != nil {
			return err
		}
		filled, err := seeder.Schedule(e.ctx, plan)
		if err == nil {
			fmt.Fprintf(e.out, "%d slots filled with sales\n", filled)
		}
		return err
	})
}
