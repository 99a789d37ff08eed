package main

import (
	"fmt"
	"net/http"

	"stampede/app/backoffice"
	"stampede/app/shop"
)

type (
	// saleOperation contains the flags of operations on a sale.
	saleOperation struct {
		Sale    shop.ID `arg:"" help:"Id of the sale."`
		Version int64   `placeholder:"N" help:"Change the sale only if it has this version. Default: its current version."`
		operationFlags
	}
	salePause  struct{ saleOperation }
	saleResume struct{ saleOperation }
	saleEnd    struct {
		saleOperation

		Yes bool `help:"Confirm that the sale closes now."`
	}
	saleAddStock struct {
		saleOperation

		Units int64 `arg:"" help:"Number of units to add."`
	}
	saleWithdraw struct {
		saleOperation

		Units int64 `arg:"" help:"Number of units to take, at most the free units."`
	}
)

func (salePause) Help() string {
	return "The sale accepts no buys until it is resumed. Buyers keep their reservations and can pay their orders. " +
		"Pages show the pause at once.\n\nExamples:\n\n" +
		"    stampede sale pause 7301444403200000101 --note 'the price is wrong'\n" +
		"    stampede sale resume 7301444403200000101"
}

func (saleEnd) Help() string {
	return "The sale closes at once. Unpaid orders keep their payment deadline. Units of expired orders are not sold " +
		"again."
}

func (saleWithdraw) Help() string {
	return "Redis determines the number of free units; held units stay with their buyers. While Redis or MySQL is " +
		"unavailable, the withdrawal is pending, and a running server finishes it.\n\n" +
		"Example:\n\n    stampede sale withdraw 7301444403200000101 20"
}

// change sends an operation on the sale, at the given version. If no version is given, it reads the current version.
func (c *saleOperation) change(api *client, action string, body map[string]any, into any) (err error) {
	path := "/sales/" + c.Sale.String()
	if body["version"], err = api.version(path, c.Version); err != nil {
		return err
	}
	return api.change(http.MethodPost, path+"/"+action, body, into)
}

// send sends an operation and prints the new state of the sale.
func (c *saleOperation) send(e *env, action, message string, body map[string]any) error {
	return e.operate(c.operationFlags, func(api *client) error {
		var terms backoffice.OperatorSale
		err := c.change(api, action, body, &terms)
		return e.result(c.JSON, err, terms, "sale %s %s (version %d)", terms.ID, message, terms.Version)
	})
}

func (c *salePause) Run(e *env) error { return c.send(e, "pause", "is paused", map[string]any{}) }

func (c *saleResume) Run(e *env) error { return c.send(e, "resume", "is resumed", map[string]any{}) }

func (c *saleEnd) Run(e *env) error {
	if !c.Yes {
		return fmt.Errorf("%w: buyers see it at once; add --yes to confirm", errUsage)
	}
	return c.send(e, "end", "is closed", map[string]any{})
}

func (c *saleAddStock) Run(e *env) error {
	if c.Units < 1 {
		return fmt.Errorf("%w: %d units: want 1 or more", errUsage, c.Units)
	}
	return c.send(e, "stock", fmt.Sprintf("has %d more units", c.Units), map[string]any{"units": c.Units})
}

func (c *saleWithdraw) Run(e *env) error {
	if c.Units < 1 {
		return fmt.Errorf("%w: %d units: want 1 or more", errUsage, c.Units)
	}
	return e.operate(c.operationFlags, func(api *client) error {
		var response struct {
			backoffice.OperatorSale
			Withdrawal shop.StockWithdrawal `json:"withdrawal"`
		}
		err := c.change(api, "stock", map[string]any{"units": -c.Units}, &response)
		sale, withdrawal := response.OperatorSale, response.Withdrawal
		text := fmt.Sprintf("sale %s has %d fewer units, of %d requested (version %d)", sale.ID, withdrawal.Taken, withdrawal.Units,
			sale.Version)
		if withdrawal.State == shop.StockPending {
			text = fmt.Sprintf("the withdrawal of %d units is pending: the server finishes it", withdrawal.Units)
		}
		return e.result(c.JSON, err, map[string]any{"sale": sale, "withdrawal": withdrawal}, "%s", text)
	})
}
