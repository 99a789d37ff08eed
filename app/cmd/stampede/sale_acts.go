package main

import (
	"fmt"

	"stampede/app"
	"stampede/app/server"
)

type (
	// saleAct is what each act on a sale is told.
	saleAct struct {
		Sale    app.ID `arg:"" help:"The sale."`
		Version int64  `placeholder:"N" help:"Only if the sale is at that version; without it, whatever it is at."`
		JSON    bool   `name:"json" help:"For scripts."`

		acting
	}
	salePause  struct{ saleAct }
	saleResume struct{ saleAct }
	saleEnd    struct {
		saleAct

		Yes bool `help:"Yes, now."`
	}
	saleAddStock struct {
		saleAct

		Units int64 `arg:"" help:"How many more."`
	}
	saleWithdraw struct {
		saleAct

		Units int64 `arg:"" help:"How many, at most what is free."`
	}
)

// Help says what pausing leaves.
func (salePause) Help() string {
	return "Nobody can buy until it is resumed. Who has reserved keeps the place, who has an order pays on. Pages say so at once." +
		"\n\nExamples:\n\n    stampede sale pause 7301444403200000101 --note 'the price is wrong'\n" +
		"    stampede sale resume 7301444403200000101"
}

// Help says what becomes of orders.
func (saleEnd) Help() string {
	return "It closes at once. Unpaid orders keep the time in which they have to be paid; what expires is not sold again."
}

// Help says how many units go.
func (saleWithdraw) Help() string {
	return "Redis decides how many are free; units that somebody holds stay theirs. While Redis or the database is away the " +
		"withdrawal is pending, and a running server finishes it.\n\nExample:\n\n    stampede sale withdraw 7301444403200000101 20"
}

func (c *saleAct) act() app.SaleAct { return app.SaleAct{Version: c.Version, Note: c.Note} }

// did prints what a sale is now.
func (c *saleAct) did(e *env, says string, terms app.OperatorSale, err error) error {
	switch {
	case err != nil:
		return err
	case c.JSON:
		return e.json(terms)
	}
	fmt.Fprintf(e.out, "sale %s %s (version %d)\n", terms.ID, says, terms.Version)
	return nil
}

// Run pauses.
func (c *salePause) Run(e *env) error {
	return e.withActs(c.acting, func(t *server.Tools) error {
		terms, err := t.PauseSale(e.ctx, c.Sale, c.act())
		return c.did(e, "is paused", terms, err)
	})
}

// Run resumes.
func (c *saleResume) Run(e *env) error {
	return e.withActs(c.acting, func(t *server.Tools) error {
		terms, err := t.ResumeSale(e.ctx, c.Sale, c.act())
		return c.did(e, "goes on", terms, err)
	})
}

// Run ends.
func (c *saleEnd) Run(e *env) error {
	if !c.Yes {
		return fmt.Errorf("%w: buyers see it at once; say --yes", errUsage)
	}
	return e.withActs(c.acting, func(t *server.Tools) error {
		terms, err := t.EndSale(e.ctx, c.Sale, c.act())
		return c.did(e, "is closed", terms, err)
	})
}

// Run adds.
func (c *saleAddStock) Run(e *env) error {
	return e.withActs(c.acting, func(t *server.Tools) error {
		terms, err := t.AddStock(e.ctx, c.Sale, c.act(), c.Units)
		return c.did(e, fmt.Sprintf("has %d units more", c.Units), terms, err)
	})
}

// Run withdraws.
func (c *saleWithdraw) Run(e *env) error {
	return e.withActs(c.acting, func(t *server.Tools) error {
		terms, gone, err := t.WithdrawStock(e.ctx, c.Sale, c.act(), c.Units)
		switch {
		case err != nil:
			return err
		case c.JSON:
			return e.json(map[string]any{"sale": terms, "withdrawal": gone})
		case gone.State == app.StockPending:
			fmt.Fprintf(e.out, "the withdrawal of %d units is pending: a running server finishes it\n", gone.Units)
			return nil
		}
		return c.did(e, fmt.Sprintf("has %d units less, of %d asked for", gone.Taken, gone.Units), terms, nil)
	})
}
