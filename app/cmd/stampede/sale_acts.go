package main

import (
	"fmt"
	"net/http"

	"stampede/app/backoffice"
	"stampede/app/shop"
)

type (
	// saleAct contains the flags of operations on a sale.
	saleAct struct {
		Sale    shop.ID `arg:"" help:"The sale."`
		Version int64   `placeholder:"N" help:"Only if the sale is at that version; without it, whatever it is at."`
		operating
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

func (salePause) Help() string {
	return "Nobody can buy until it is resumed. Who has reserved keeps the place, who has an order pays on. Pages say so at once." +
		"\n\nExamples:\n\n    stampede sale pause 7301444403200000101 --note 'the price is wrong'\n" +
		"    stampede sale resume 7301444403200000101"
}

func (saleEnd) Help() string {
	return "It closes at once. Unpaid orders keep the time in which they have to be paid; what expires is not sold again."
}

func (saleWithdraw) Help() string {
	return "Redis decides how many are free; units that somebody holds stay theirs. While Redis or the database is away the " +
		"withdrawal is pending, and a running server finishes it.\n\nExample:\n\n    stampede sale withdraw 7301444403200000101 20"
}

// act sends an operation on the sale, at the given version or at its current version if none is given.
func (c *saleAct) act(api *client, what string, body map[string]any, into any) (err error) {
	path := "/sales/" + c.Sale.String()
	if body["version"], err = api.version(path, c.Version); err != nil {
		return err
	}
	return api.act(http.MethodPost, path+"/"+what, body, into)
}

// do sends an operation and prints the new state of the sale.
func (c *saleAct) do(e *env, what, says string, body map[string]any) error {
	return e.operate(c.operating, func(api *client) error {
		var terms backoffice.OperatorSale
		err := c.act(api, what, body, &terms)
		return e.result(c.JSON, err, terms, "sale %s %s (version %d)", terms.ID, says, terms.Version)
	})
}

func (c *salePause) Run(e *env) error { return c.do(e, "pause", "is paused", map[string]any{}) }

func (c *saleResume) Run(e *env) error { return c.do(e, "resume", "goes on", map[string]any{}) }

func (c *saleEnd) Run(e *env) error {
	if !c.Yes {
		return fmt.Errorf("%w: buyers see it at once; say --yes", errUsage)
	}
	return c.do(e, "end", "is closed", map[string]any{})
}

func (c *saleAddStock) Run(e *env) error {
	if c.Units < 1 {
		return fmt.Errorf("%w: %d units: want 1 or more", errUsage, c.Units)
	}
	return c.do(e, "stock", fmt.Sprintf("has %d units more", c.Units), map[string]any{"units": c.Units})
}

func (c *saleWithdraw) Run(e *env) error {
	if c.Units < 1 {
		return fmt.Errorf("%w: %d units: want 1 or more", errUsage, c.Units)
	}
	return e.operate(c.operating, func(api *client) error {
		var answer struct {
			backoffice.OperatorSale
			Withdrawal shop.StockAct `json:"withdrawal"`
		}
		err := c.act(api, "stock", map[string]any{"units": -c.Units}, &answer)
		sale, gone := answer.OperatorSale, answer.Withdrawal
		text := fmt.Sprintf("sale %s has %d units less, of %d asked for (version %d)", sale.ID, gone.Taken, gone.Units,
			sale.Version)
		if gone.State == shop.StockPending {
			text = fmt.Sprintf("the withdrawal of %d units is pending: the server finishes it", gone.Units)
		}
		return e.result(c.JSON, err, map[string]any{"sale": sale, "withdrawal": gone}, "%s", text)
	})
}
