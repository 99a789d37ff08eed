package main

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/url"
	"os"
	"time"

	"stampede/app"
	"stampede/app/rehearse"
	"stampede/app/server"
)

type rehearseCmd struct {
	Sale     app.ID        `placeholder:"ID" help:"The sale that is rehearsed."`
	Shoppers int           `placeholder:"N" help:"Simulated shoppers, each on a socket of their own: 1 to 10000."`
	For      time.Duration `default:"30s" help:"How long the copy is open: 5s to 10m."`
	Rush     time.Duration `default:"1s" help:"Over what time the crowd presses Buy after the opening."`
	Units    int64         `placeholder:"N" help:"Units of the copy; without it, as many as the sale has."`
	Target   string        `placeholder:"URL" help:"Where shoppers come in, e.g. https://shop.example; without it, STAMPEDE_PUBLIC_URL, or this machine's STAMPEDE_LISTEN."`
	CA       string        `name:"ca" type:"existingfile" placeholder:"FILE" help:"Also trust the certificates in this PEM file."`
	Force    bool          `help:"Also within 10 minutes before the opening of a sale, or 2 minutes after it."`
	Clean    bool          `help:"Rehearse nothing: end the rehearsal that is under way, and remove what it has left."`
	JSON     bool          `name:"json" help:"For scripts."`

	Limit limitFlags `embed:"" prefix:"limit-"`

	acting
}

// limitFlags are what a deployment must keep to be ready.
type limitFlags struct {
	Connect    time.Duration `default:"5s" help:"99 % of the shoppers are connected and greeted within this time."`
	FirstStock time.Duration `default:"2s" help:"99 % see the stock within this time after they begin to watch."`
	Answer     time.Duration `default:"1s" help:"99 % of the presses are answered within this time."`
	Order      time.Duration `default:"3s" help:"99 % of the buyers hear of their order within this time after the press."`
	Oldest     time.Duration `default:"5s" help:"No reservation waits longer for the database."`
	Expiry     time.Duration `default:"1s" help:"No unpaid unit comes back later than this after its deadline."`
	Ticks      float64       `default:"2" help:"Ticks a second that the middle shopper gets in the busiest second, at least."`
	Rate       float64       `help:"Presses answered in the busiest second, at least."`
	Retried    float64       `default:"0.01" help:"Share of the answers that may be busy or rate_limited."`
}

// Help says what a rehearsal is, what it leaves, and what the exit codes are.
func (rehearseCmd) Help() string {
	return "Plays a sale before it opens. On the running deployment a copy of the sale is made that nobody else can see: same price, " +
		"limit, cap, entry check and partition, its own stock. Simulated shoppers come in at the public address, watch, press Buy when " +
		"it opens, hear of their orders, cancel some, and buy again what has come back. Then it says GO or NO-GO, with each figure " +
		"and, where it is too bad, what to do.\n\n" +
		"Nobody pays: an order of a rehearsal waits 5s and expires, so neither the gateway nor the back office nor any mail hears of " +
		"it. Afterwards, on Ctrl-C too, everything is removed but the journal's rows and one row of the table rehearsals, for a week. If this process " +
		"dies, the sweepers of the deployment do that within half a minute, or you do with --clean.\n\n" +
		"It needs the deployment's own settings (stores and STAMPEDE_JWT_SECRET) and a descriptor per shopper (ulimit -n). The " +
		"shoppers count as addresses of their own, so the limits for addresses do not turn this machine away; the limits for users " +
		"and for the whole shop count as ever. A picture cannot be read by a program: where the sale asks for one, the copy asks for " +
		"a pass, and the result says so. A limit of 0 is not looked at.\n\n" +
		"Exit codes: 0 go, 1 no-go, 2 wrong arguments or configuration, 4 no verdict: refused, interrupted or failed.\n\n" +
		"Examples:\n\n    stampede rehearse --sale 7301444403200000101 --shoppers 2000\n" +
		"    stampede rehearse --sale 7301444403200000101 --shoppers 500 --target https://shop.example --json\n" +
		"    stampede rehearse --clean"
}

var (
	// errNoGo makes the exit code of a rehearsal that went badly; its result has been printed.
	errNoGo = errors.New("no-go")
	// errNoVerdict makes the one of a rehearsal that says neither.
	errNoVerdict = errors.New("no verdict")
)

const (
	shortestRehearsal = 5 * time.Second
	longestRehearsal  = 10 * time.Minute
)

// check refuses what cannot be rehearsed.
func (c *rehearseCmd) check() error {
	switch {
	case c.Clean && (c.Sale != 0 || c.Shoppers != 0):
		return fmt.Errorf("%w: --clean goes without --sale and --shoppers", errUsage)
	case c.Clean:
		return nil
	case c.Sale <= 0:
		return fmt.Errorf("%w: name the sale with --sale", errUsage)
	case c.Shoppers < 1 || c.Shoppers > app.MostRehearsed:
		return fmt.Errorf("%w: --shoppers is %d, want 1 to %d", errUsage, c.Shoppers, app.MostRehearsed)
	case c.For < shortestRehearsal || c.For > longestRehearsal:
		return fmt.Errorf("%w: --for is %v, want %v to %v", errUsage, c.For, shortestRehearsal, longestRehearsal)
	case c.Rush < 0 || c.Rush > c.For:
		return fmt.Errorf("%w: --rush is %v, want 0s to %v, which is --for", errUsage, c.Rush, c.For)
	case c.Units < 0 || c.Units > 100_000_000:
		return fmt.Errorf("%w: --units is %d, want 1 to 100000000", errUsage, c.Units)
	}
	l := c.Limit
	for name, n := range map[string]float64{
		"connect": l.Connect.Seconds(), "first-stock": l.FirstStock.Seconds(), "answer": l.Answer.Seconds(),
		"order": l.Order.Seconds(), "oldest": l.Oldest.Seconds(), "expiry": l.Expiry.Seconds(), "ticks": l.Ticks,
		"rate": l.Rate, "retried": l.Retried,
	} {
		if !(n >= 0 && n <= 1e9) {
			return fmt.Errorf("%w: --limit-%s must not be below 0", errUsage, name)
		}
	}
	return nil
}

// Run rehearses, or cleans up.
func (c *rehearseCmd) Run(e *env) error {
	if err := c.check(); err != nil {
		return err
	}
	if c.Clean {
		return c.clean(e)
	}
	config, err := e.config()
	if err != nil {
		return err
	}
	o, err := c.options(e, &config)
	if err != nil {
		return err
	}
	issuer, err := server.Issuer(e.ctx, config)
	if err != nil {
		return fmt.Errorf("%w: %w", errNoVerdict, err)
	}
	var result *rehearse.Result
	err = e.withActs(c.acting, func(t *server.Tools) error {
		return t.Rehearse(e.ctx, func(r server.Rehearsal) (err error) {
			result, err = rehearse.Run(e.ctx, &rehearse.Stage{
				Desk: r.Desk, Actor: r.Actor, Mint: r.Mint, Token: issuer.IssueRehearsal, Board: r.Board,
				Audit: t.Audit, Asks: t.Asks,
			}, o)
			return err
		})
	})
	if result != nil {
		if failed := c.print(e, result); failed != nil {
			return failed
		}
	}
	switch {
	case err != nil && e.ctx.Err() != nil:
		return fmt.Errorf("%w: interrupted; %w", errNoVerdict, err)
	case err != nil:
		return fmt.Errorf("%w: %w", errNoVerdict, err)
	case result.Verdict != rehearse.Go:
		return errNoGo
	}
	return nil
}

func (c *rehearseCmd) clean(e *env) error {
	err := e.withActs(c.acting, func(t *server.Tools) error {
		r, err := t.CleanRehearsal(e.ctx)
		if errors.Is(err, &app.Error{Code: app.NotFound}) {
			fmt.Fprintln(e.out, "no rehearsal is under way, and nothing is left of one")
			return nil
		}
		if err == nil {
			fmt.Fprintf(e.out, "the rehearsal of sale %s, begun by %s, is ended and removed\n", r.Of, r.By)
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("%w: %w", errNoVerdict, err)
	}
	return nil
}

func (c *rehearseCmd) options(e *env, config *server.Config) (rehearse.Options, error) {
	l := c.Limit
	o := rehearse.Options{
		Sale: c.Sale, Shoppers: c.Shoppers, Units: c.Units, For: c.For, Rush: c.Rush, Force: c.Force, Target: c.Target,
		Limits: rehearse.Limits{
			Connect: l.Connect, FirstStock: l.FirstStock, Answer: l.Answer, Order: l.Order, Oldest: l.Oldest,
			Expiry: l.Expiry, Ticks: l.Ticks, Rate: l.Rate, Retried: l.Retried,
		},
		Progress: rehearsalProgress(e.err),
	}
	if o.Target == "" {
		o.Target = config.RehearsalTarget()
	}
	u, err := url.Parse(o.Target)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil ||
		u.Path != "" && u.Path != "/" || u.RawQuery != "" {
		return o, fmt.Errorf("%w: --target is %q: want http://host:port or https://host", errUsage, o.Target)
	}
	o.Target = u.Scheme + "://" + u.Host
	if c.CA != "" {
		pem, err := os.ReadFile(c.CA)
		if err != nil {
			return o, fmt.Errorf("%w: --ca: %w", errUsage, err)
		}
		pool, err := x509.SystemCertPool()
		if err != nil {
			pool = x509.NewCertPool()
		}
		if !pool.AppendCertsFromPEM(pem) {
			return o, fmt.Errorf("%w: --ca: %s has no certificate", errUsage, c.CA)
		}
		o.TLS = &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
	}
	return o, nil
}
