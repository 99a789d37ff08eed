package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"os"
	"time"

	"stampede/app/backoffice"
	"stampede/app/shop"
	"stampede/app/store"
)

type rehearseCmd struct {
	Sale     shop.ID       `required:"" placeholder:"ID" help:"Sale to rehearse."`
	Shoppers int           `required:"" placeholder:"N" help:"Simulated shoppers, each on a socket of its own: 1 to 10000."`
	For      time.Duration `default:"30s" help:"How long the hidden sale is open: 5s to 10m."`
	Rush     time.Duration `default:"1s" help:"Time over which the shoppers press Buy after the opening."`
	Units    int64         `placeholder:"N" help:"Units of the hidden sale; default: as many as the sale has."`
	CA       string        `name:"ca" type:"existingfile" placeholder:"FILE" help:"Also trust the certificates in this PEM file."`

	Limit rehearseLimits `embed:"" prefix:"limit-"`
	operationFlags
}

// rehearseLimits contains the thresholds of the verdict; 0: no limit.
type rehearseLimits struct {
	Connect time.Duration `default:"5s" help:"99 % of the shoppers are connected and greeted within this time."`
	Answer  time.Duration `default:"1s" help:"99 % of the buys get their result within this time."`
	Order   time.Duration `default:"3s" help:"99 % of the buyers receive their order event within this time after the buy."`
	Retried float64       `default:"0.01" help:"Share of the results that may be busy or rate_limited."`
}

func (rehearseCmd) Help() string {
	return "Tests the deployment with a sale before it opens. The command creates a hidden slot and a hidden sale with the terms of " +
		"the sale, adds guests that can buy in this sale only, and connects one simulated shopper per guest to the server. They watch, " +
		"buy at the opening, receive their orders and cancel some. Then it prints GO or NO-GO with each figure.\n\n" +
		"Orders of a hidden sale cannot be paid, and reports, the live board and the back office exclude them. At the end, on Ctrl-C " +
		"too, the command cancels the orders, ends the sale and archives slot and sale; their rows stay. If the process dies, the orders " +
		"expire, and `stampede sale list` shows the hidden sale.\n\n" +
		"All shoppers come from the address of this machine, so the limits per address apply: name the server with --server as " +
		"shoppers reach it. A program cannot solve a picture (captcha): the hidden sale requires a pass instead.\n\n" +
		"Exit codes: 0 go, 1 no-go, 2 wrong arguments or configuration, 4 no verdict: rejected, interrupted or failed.\n\n" +
		"Examples:\n\n    stampede rehearse --sale 7301444403200000101 --shoppers 500\n" +
		"    stampede rehearse --sale 7301444403200000101 --shoppers 200 --server https://shop.example --json"
}

var (
	errRehearsalFailed = errors.New("no-go")      // the result was already printed
	errIncomplete      = errors.New("no verdict") // the rehearsal was not completed
)

const (
	// The shoppers have connectTime, plus connectTimePerShopper for each shopper, to connect before the opening.
	connectTime, connectTimePerShopper = 10 * time.Second, 10 * time.Millisecond
	// cleanupTimeout limits the cleanup of a rehearsal: end of the sale and archiving.
	cleanupTimeout = time.Minute
	// maxShoppers is the largest number of shoppers that one process simulates.
	maxShoppers = 10_000
)

func (c *rehearseCmd) check() error {
	switch {
	case c.Shoppers < 1 || c.Shoppers > maxShoppers:
		return fmt.Errorf("%w: --shoppers is %d, want 1 to %d", errUsage, c.Shoppers, maxShoppers)
	case c.For < 5*time.Second || c.For > 10*time.Minute:
		return fmt.Errorf("%w: --for is %v, want 5s to 10m", errUsage, c.For)
	case c.Rush < 0 || c.Rush > c.For:
		return fmt.Errorf("%w: --rush is %v, want 0s to %v, which is --for", errUsage, c.Rush, c.For)
	case c.Units < 0:
		return fmt.Errorf("%w: --units is %d, want 1 or more", errUsage, c.Units)
	}
	return nil
}

// Run creates the hidden sale, runs the shoppers and prints the verdict.
func (c *rehearseCmd) Run(e *env) error {
	if err := c.check(); err != nil {
		return err
	}
	var result *rehearsal
	err := e.operate(c.operationFlags, func(api *client) (err error) {
		result, err = c.rehearse(e.ctx, api)
		return err
	})
	if err != nil {
		return fmt.Errorf("%w: %w", errIncomplete, err)
	}
	err = e.result(c.JSON, nil, result, "%s", result)
	if err == nil && result.Verdict != "GO" {
		err = errRehearsalFailed
	}
	return err
}

// hiddenSale contains the objects that a rehearsal creates.
type hiddenSale struct {
	slot   shop.Slot
	sale   store.SaleRecord
	tokens []string
}

func (c *rehearseCmd) rehearse(ctx context.Context, api *client) (r *rehearsal, err error) {
	h, err := c.create(api)
	defer func() { err = errors.Join(err, h.end(ctx, api)) }()
	if err != nil {
		return nil, err
	}
	crowd := &rehearseCrowd{sale: h.sale.ID, server: api.base, orders: make(map[shop.ID]shop.OrderState)}
	if crowd.tls, err = c.tlsConfig(); err != nil {
		return nil, err
	}
	defer crowd.close()
	c.progress(api, "%d shoppers connect", c.Shoppers)
	if err := crowd.join(ctx, h.tokens, time.Until(h.sale.OpensAt.Time())); err != nil {
		return nil, err
	}
	if !shop.Sleep(ctx, time.Until(h.sale.OpensAt.Time())) {
		return nil, ctx.Err()
	}
	c.progress(api, "they buy for %v", c.For)
	crowd.buy(ctx, time.Until(h.sale.ClosesAt.Time()), c.Rush)
	c.progress(api, "they cancel their orders")
	view, err := crowd.settle(ctx)
	if err = errors.Join(err, context.Cause(ctx)); err != nil { // an interrupted rehearsal has no verdict
		return nil, err
	}
	return crowd.evaluate(c, view), nil
}

func (c *rehearseCmd) progress(api *client, format string, args ...any) {
	fmt.Fprintf(api.env.err, "rehearse: "+format+"\n", args...)
}

// create creates a hidden slot that opens soon, a sale in it with the terms of the rehearsed sale, and the guests.
// After an error it returns the objects that it has created.
func (c *rehearseCmd) create(api *client) (h hiddenSale, err error) {
	var rehearsed store.SaleRecord
	if err := api.get("/sales/"+c.Sale.String(), nil, &rehearsed); err != nil {
		return h, err
	}
	now, err := api.now()
	if err != nil {
		return h, err
	}
	opens := now.Add(connectTime + time.Duration(c.Shoppers)*connectTimePerShopper + time.Second)
	opens -= opens % 1000
	window := backoffice.SlotDraft{OpensAt: opens, ClosesAt: opens.Add(c.For.Round(time.Second)), Hidden: true}
	if err := api.change(http.MethodPost, "/slots", window, &h.slot); err != nil {
		return h, fmt.Errorf("create the hidden slot: %w", err)
	}
	draft := backoffice.SaleDraft{
		Slot: h.slot.ID, Product: rehearsed.Product.ID, PriceFen: rehearsed.PriceFen,
		Stock: rehearsed.Initial + rehearsed.Added - rehearsed.Withdrawn, Limit: rehearsed.Limit, Cap: rehearsed.Cap,
		Challenge: rehearsed.Challenge,
	}
	if c.Units > 0 {
		draft.Stock = c.Units
	}
	if draft.Challenge == shop.ChallengeCaptcha {
		draft.Challenge = shop.ChallengePass
	}
	if err := api.change(http.MethodPost, "/sales", draft, &h.sale); err != nil {
		return h, fmt.Errorf("create the hidden sale: %w", err)
	}
	for left := c.Shoppers; left > 0; left -= shop.MaxGuests {
		var added struct{ Tokens []string }
		body := map[string]int{"guests": min(left, shop.MaxGuests)}
		if err := api.change(http.MethodPost, "/sales/"+h.sale.ID.String()+"/guests", body, &added); err != nil {
			return h, fmt.Errorf("add guests: %w", err)
		}
		h.tokens = append(h.tokens, added.Tokens...)
	}
	// Convert server time to the local clock.
	shift := time.Since(now.Time())
	h.sale.OpensAt, h.sale.ClosesAt = h.sale.OpensAt.Add(shift), h.sale.ClosesAt.Add(shift)
	return h, nil
}

// now reads the time of the server.
func (c *client) now() (shop.Millis, error) {
	var time struct {
		Now shop.Millis `json:"now"`
	}
	err := c.call(http.MethodGet, apiPath+"/time", nil, &time)
	return time.Now, err
}

// end ends the sale if it is loaded and has not ended, and archives the created objects. It also works after ctx has
// ended.
func (h *hiddenSale) end(ctx context.Context, api *client) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupTimeout)
	defer cancel()
	env := *api.env
	env.ctx = ctx
	cleanup := *api
	cleanup.env = &env
	sale, slot := "/sales/"+h.sale.ID.String(), "/slots/"+h.slot.ID.String()
	var err error
	if h.sale.ID != 0 {
		if err = cleanup.get(sale, nil, &h.sale); err == nil && h.sale.Loaded && h.sale.Phase != shop.Ended {
			err = cleanup.change(http.MethodPost, sale+"/end", map[string]any{"version": h.sale.Version}, nil)
			h.sale.Version++
		}
		if err == nil {
			err = cleanup.change(http.MethodPatch, sale, map[string]any{"version": h.sale.Version, "archived": true}, nil)
		}
	}
	if err == nil && h.slot.ID != 0 {
		err = cleanup.change(http.MethodDelete, slot, nil, nil)
	}
	if err != nil {
		return fmt.Errorf("archive the hidden sale %s and slot %s, which stay for now: %w", h.sale.ID, h.slot.ID, err)
	}
	return nil
}

// tlsConfig returns a TLS configuration that also trusts the certificates of --ca; nil: the system's certificates.
func (c *rehearseCmd) tlsConfig() (*tls.Config, error) {
	if c.CA == "" {
		return nil, nil
	}
	pem, err := os.ReadFile(c.CA)
	if err != nil {
		return nil, fmt.Errorf("%w: --ca: %w", errUsage, err)
	}
	pool, err := x509.SystemCertPool()
	if err != nil {
		pool = x509.NewCertPool()
	}
	if !pool.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("%w: --ca: %s has no certificate", errUsage, c.CA)
	}
	return &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}, nil
}
