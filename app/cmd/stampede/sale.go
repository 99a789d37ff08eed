package main

import (
	"errors"
	"net/http"
	"net/url"
	"strconv"

	"stampede/app/backoffice"
	"stampede/app/shop"
	"stampede/app/store"
)

type saleCmd struct {
	Create  saleCreate  `cmd:"" help:"Create a sale of a product in a slot."`
	List    saleList    `cmd:"" help:"List sales, latest opening first."`
	Show    saleShow    `cmd:"" help:"Show a sale."`
	Edit    saleEdit    `cmd:"" help:"Change the given fields of a sale."`
	Archive saleArchive `cmd:"" help:"Archive a sale that is not loaded yet, or restore it."`
	Copy    saleCopy    `cmd:"" help:"Copy a sale to another slot."`
	Ready   saleReady   `cmd:"" help:"Run the checklist of a sale before it opens."`
	Import  saleImport  `cmd:"" help:"Create and change sales from a table (CSV): all lines, or none."`
	Export  saleExport  `cmd:"" help:"Write sales to a table (CSV)."`

	Pause    salePause    `cmd:"" help:"Stop buys. Reservations and orders stay."`
	Resume   saleResume   `cmd:"" help:"Accept buys again."`
	End      saleEnd      `cmd:"" help:"Close an open sale now."`
	AddStock saleAddStock `cmd:"" help:"Add units to a sale."`
	Withdraw saleWithdraw `cmd:"" help:"Take free units out of a sale."`
}

func (saleCmd) Help() string {
	return "A new sale is visible at once, and it is loaded into Redis five minutes before it opens. Until then all " +
		"its terms can change. While it is open, only limit, cap, challenge and position can change. Prices are in " +
		"yuan. Times are in the time zone of the shop.\n\nExamples:\n\n" +
		"    stampede sale create --slot 7301444403200000101 --product 7301444403200000202 --price 299 --stock 100 --limit 1\n" +
		"    stampede sale ready 7301444403200000303\n" +
		"    stampede sale copy 7301444403200000303 --slot 7301444403200000404"
}

type (
	// terms contains the flags for the terms of a sale.
	terms struct {
		Price     string `placeholder:"YUAN" help:"Price of one unit, for example 299 or 299.50."`
		Stock     int64  `placeholder:"N" help:"Number of units."`
		Limit     int    `placeholder:"N" help:"Maximum units per buyer."`
		Cap       int    `placeholder:"N" help:"Maximum reservations per buyer. Default: six times the limit."`
		Opens     string `placeholder:"TIME" help:"Opening within the slot, for example '2026-11-25 10:00'. Default: opening of the slot."`
		Closes    string `placeholder:"TIME" help:"Close within the slot. Default: close of the slot."`
		Challenge string `placeholder:"KIND" help:"Challenge of the sale: none, pass, captcha or work."`
	}
	saleCreate struct {
		Slot    shop.ID `required:"" placeholder:"ID" help:"Id from stampede slot list."`
		Product shop.ID `required:"" placeholder:"ID" help:"Id from stampede product list."`
		terms
		changeFlags
	}
	saleList struct {
		Slot     shop.ID `placeholder:"ID" help:"Only sales of this slot."`
		Phase    string  `enum:",upcoming,open,closed" default:"" placeholder:"PHASE" help:"Only sales in this phase: upcoming, open or closed."`
		Text     string  `placeholder:"TEXT" help:"Only sales with this text in the name of the product, or with this id."`
		Archived bool    `help:"List archived sales."`
		Limit    int     `default:"50" help:"Maximum number of sales."`
		readFlags
	}
	saleShow struct {
		ID shop.ID `arg:""`
		readFlags
	}
	saleEdit struct {
		ID      shop.ID `arg:""`
		Version int64   `help:"Change it only if it still has this version."`
		terms
		Position *int `placeholder:"N" help:"Position in the slot."`
		changeFlags
	}
	saleArchive struct {
		ID      shop.ID `arg:""`
		Version int64   `help:"Change it only if it still has this version."`
		Restore bool    `help:"Restore it."`
		changeFlags
	}
	saleCopy struct {
		ID   shop.ID `arg:""`
		Slot shop.ID `required:"" placeholder:"ID" help:"Slot of the copy."`
		terms
		changeFlags
	}
	saleReady struct {
		ID shop.ID `arg:""`
		readFlags
	}
	saleImport struct {
		File string `arg:"" help:"Table in the format of export; - is standard input."`
		importFlags
	}
	saleExport struct {
		File string  `arg:"" default:"-" help:"Output file; - is standard output."`
		Slot shop.ID `placeholder:"ID" help:"Only sales of this slot."`
		serverFlags
	}
)

// edit returns an edit of the terms that are given as flags.
func (t *terms) edit(env *env) (e backoffice.SaleEdit, err error) {
	if e.PriceFen, err = optionalYuan(t.Price); err != nil {
		return e, err
	}
	for text, at := range map[*string]**shop.Millis{&t.Opens: &e.OpensAt, &t.Closes: &e.ClosesAt} {
		if *text == "" {
			continue
		}
		instant, err := env.instant(*text)
		if err != nil {
			return e, err
		}
		*at = &instant
	}
	e.Stock, e.Limit, e.Cap = flagValue(t.Stock), flagValue(t.Limit), flagValue(t.Cap)
	e.Challenge = flagValue(shop.Challenge(t.Challenge))
	return e, nil
}

// valueOf returns the value of a pointer, or the zero value for nil.
func valueOf[T any](value *T) (v T) {
	if value != nil {
		v = *value
	}
	return v
}

func (e *env) sale(c changeFlags, err error, verb string, s *store.SaleRecord) error {
	return e.resultOrDryRun(c, err, s, "%s sale %s, version %d: %s at %s yuan, %d units, %s to %s", verb, s.ID, s.Version,
		s.Product.Name, shop.FormatFen(s.PriceFen), s.Initial+s.Added-s.Withdrawn, e.localTime(s.OpensAt),
		e.localTime(s.ClosesAt))
}

func (c *saleCreate) Run(e *env) error {
	return e.operate(c.operationFlags, func(api *client) error {
		t, err := c.edit(e)
		if err != nil {
			return err
		}
		var s store.SaleRecord
		err = api.change(http.MethodPost, c.withDryRun("/sales"), backoffice.SaleDraft{
			Slot: c.Slot, Product: c.Product, PriceFen: valueOf(t.PriceFen), Stock: c.Stock, Limit: max(c.Limit, 1),
			Cap: c.Cap, OpensAt: valueOf(t.OpensAt), ClosesAt: valueOf(t.ClosesAt), Challenge: valueOf(t.Challenge),
		}, &s)
		return e.sale(c.changeFlags, err, "created", &s)
	})
}

func (c *saleList) Run(e *env) error {
	return e.read(c.readFlags, func(api *client) error {
		query := url.Values{"phase": {c.Phase}, "q": {c.Text}, "archived": {strconv.FormatBool(c.Archived)}}
		if c.Slot != 0 {
			query.Set("slot", c.Slot.String())
		}
		found, err := pages[store.SaleRecord](api, collection{"/sales", "sales"}, query, c.Limit, nil)
		return list(e, c.JSON, err, found, listing[store.SaleRecord]{
			none: "no sales", head: "id\tversion\tproduct\tprice\tunits\topens\tphase",
			columns: func(s store.SaleRecord) []any {
				price, units := shop.FormatFen(s.PriceFen), s.Initial+s.Added-s.Withdrawn
				return []any{s.ID, s.Version, s.Product.Name, price, units, e.localTime(s.OpensAt), s.Phase}
			},
		})
	})
}

func (c *saleShow) Run(e *env) error {
	return e.read(c.readFlags, func(api *client) error {
		var s store.SaleRecord
		err := api.get("/sales/"+c.ID.String(), nil, &s)
		return e.result(c.JSON, err, s,
			"sale       %s, version %d, %s\nproduct    %s, %s\nslot       %s\nwindow     %s to %s\nprice      %s yuan\n"+
				"units      %d, added %d, withdrawn %d\nlimit      %d, cap %d\nchallenge  %s\n"+
				"partition  %d, loaded %v\npaused     %v",
			s.ID, s.Version, s.Phase, s.Product.ID, s.Product.Name, s.Slot.ID, e.localTime(s.OpensAt),
			e.localTime(s.ClosesAt),
			shop.FormatFen(s.PriceFen), s.Initial, s.Added, s.Withdrawn, s.Limit, s.Cap, s.Challenge, s.Partition,
			s.Loaded, s.Paused)
	})
}

// editSale changes a sale at the version of the edit. If the edit has no version, it reads the current version.
func (e *env) editSale(c changeFlags, id shop.ID, build func() (backoffice.SaleEdit, error)) error {
	return e.operate(c.operationFlags, func(api *client) error {
		edit, err := build()
		if err != nil {
			return err
		}
		path := "/sales/" + id.String()
		if edit.Version, err = api.version(path, edit.Version); err != nil {
			return err
		}
		var s store.SaleRecord
		err = api.change(http.MethodPatch, c.withDryRun(path), edit, &s)
		return e.sale(c, err, "changed", &s)
	})
}

func (c *saleEdit) Run(e *env) error {
	return e.editSale(c.changeFlags, c.ID, func() (backoffice.SaleEdit, error) {
		edit, err := c.edit(e)
		edit.Version, edit.Position = c.Version, c.Position
		return edit, err
	})
}

func (c *saleArchive) Run(e *env) error {
	return e.editSale(c.changeFlags, c.ID, func() (backoffice.SaleEdit, error) {
		return backoffice.SaleEdit{Version: c.Version, Archived: new(!c.Restore)}, nil
	})
}

func (c *saleCopy) Run(e *env) error {
	return e.operate(c.operationFlags, func(api *client) error {
		t, err := c.edit(e)
		if err != nil {
			return err
		}
		var s store.SaleRecord
		err = api.change(http.MethodPost, c.withDryRun("/sales/"+c.ID.String()+"/copy"), backoffice.SaleCopy{
			Slot: c.Slot, PriceFen: t.PriceFen, Stock: t.Stock, Limit: t.Limit, Cap: t.Cap, OpensAt: t.OpensAt,
			ClosesAt: t.ClosesAt, Challenge: t.Challenge,
		}, &s)
		return e.sale(c.changeFlags, err, "created", &s)
	})
}

// errNotReady sets exit status 3 for a checklist with failed checks; they were already printed.
var errNotReady = errors.New("the sale is not ready")

func (c *saleReady) Run(e *env) error {
	return e.read(c.readFlags, func(api *client) error {
		var r backoffice.Readiness
		err := api.get("/sales/"+c.ID.String()+"/readiness", nil, &r)
		err = e.show(c.JSON, err, r, func() error {
			return table(e, "", r.Checks, func(c backoffice.Check) []any {
				return []any{c.State, c.Name, c.Message, c.Do}
			})
		})
		if err == nil && !r.OK {
			err = errNotReady
		}
		return err
	})
}

func (c *saleImport) Run(e *env) error { return e.importTable(c.importFlags, c.File, "sales") }

func (c *saleExport) Run(e *env) error {
	query := url.Values{}
	if c.Slot != 0 {
		query.Set("slot", c.Slot.String())
	}
	return e.export(c.serverFlags, c.File, "/export/sales.csv", query)
}
