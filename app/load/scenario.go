package load

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"stampede/app/shop"
	"stampede/app/wsclient"
)

// Options configure the crowd and its load.
type Options struct {
	Address        string        // host:port of the server
	Sockets        int           // shoppers; each has its own socket
	For            time.Duration // measured time per scenario
	Rate           float64       // ops per second; 0: closed loop
	Hot            int           // number of sales in use at the same time; they are spread over the partitions
	Stalled        float64       // share of watchers that do not read, 0 to 1
	Sources        int           // number of source addresses in 127.0.0.0/8
	PID            int           // the server's process, for memory and processor time; 0: unknown
	OtherProcesses []Process     // other processes of this machine whose processor time is measured, such as the stores
	Own            bool          // the caller may put load on a target that is not this machine
	Wait           bool          // after buys, wait until each reservation is an order

	Progress io.Writer // terminal for the progress bar; nil: none
}

// Scenario is one kind of measurement.
type Scenario struct {
	Name        string
	Description string
	run         func(b *bench, ctx context.Context, r *Result) error
}

// Scenarios returns all scenarios in the order of a full run.
func Scenarios() []Scenario {
	return []Scenario{
		{"idle", "memory per socket, authenticated and watching", (*bench).idle},
		{"time", "the socket's own time op, without Redis: the limit of the socket layer", (*bench).time},
		{"buy", "reserved buys", (*bench).buy},
		{"soldout", "buys of a sold-out sale", (*bench).soldout},
		{"forged", "reserved buys, alternately without and with 1,000 forged payment notifications per second", (*bench).forged},
		{"logins", "reserved buys, alternately without and with 500 logins per second", (*bench).logins},
		{"burst", "all shoppers buy at the same time, after a burst of time ops", (*bench).burst},
		{"chain", "buy → Lua → stream → MySQL commit → order event", (*bench).chain},
		{"fanout", "watchers receive ticks of a sale that changes five times per second", (*bench).fanout},
		{"reconnect", "all shoppers buy, disconnect, and reconnect with the cursor", (*bench).reconnect},
	}
}

// bench is one run: a crowd connects once and runs some scenarios.
type bench struct {
	Options
	shop         *Shop
	crowd        *crowd
	watched      []shop.ID // sales that all shoppers watch; nil: none
	usedSales    []shop.ID // sales that were used; check audits them
	measured     processes // measured processes: the server first, then this generator, then Options.OtherProcesses
	memoryBefore int64     // memory of the server before the first connection, bytes
	progress     *progress
}

// Run connects the crowd, runs the named scenarios in that order and returns a result for each. After an error, the
// failed scenario has no result. A failed check is part of the result.
func Run(ctx context.Context, target *Shop, o Options, names ...string) ([]Result, error) {
	chosen, err := scenariosByName(names)
	if err != nil {
		return nil, err
	}
	to, err := newTarget(o.Address, o.Sources, o.Own)
	if err != nil {
		return nil, err
	}
	b := &bench{Options: o, shop: target, measured: measuredProcesses(o), progress: newProgress(o.Progress)}
	if b.crowd, err = newCrowd(o.Sockets, to, target.Token); err != nil {
		return nil, err
	}
	defer b.crowd.close()
	defer func() { b.progress.end() }()
	if err := b.connectCrowd(ctx, chosen); err != nil {
		return nil, fmt.Errorf("connect %d shoppers: %w", o.Sockets, err)
	}
	var results []Result
	for _, s := range chosen {
		b.progress.stage(s.Name, b.For)
		r := Result{Scenario: s.Name, Sockets: o.Sockets, Rate: o.Rate}
		if err := s.run(b, ctx, &r); err != nil {
			return results, fmt.Errorf("%s: %w", s.Name, err)
		}
		if err := b.check(ctx, &r); err != nil {
			return results, fmt.Errorf("check %s: %w", s.Name, err)
		}
		results = append(results, r)
	}
	return results, nil
}

// measuredProcesses lists the processes whose processor time is measured; none if the server's process is unknown.
func measuredProcesses(o Options) processes {
	if o.PID == 0 {
		return nil
	}
	return append(processes{{serverName, o.PID}, {generatorName, os.Getpid()}}, o.OtherProcesses...)
}

func scenariosByName(names []string) ([]Scenario, error) {
	all, chosen := Scenarios(), make([]Scenario, len(names))
	for i, name := range names {
		at := slices.IndexFunc(all, func(s Scenario) bool { return s.Name == name })
		if at < 0 {
			return nil, fmt.Errorf("there is no scenario %q", name)
		}
		chosen[i] = all[at]
	}
	return chosen, nil
}

// connectCrowd connects the crowd. If a scenario needs watchers, all shoppers watch one sale.
func (b *bench) connectCrowd(ctx context.Context, chosen []Scenario) error {
	var err error
	needsWatchers := func(s Scenario) bool { return s.Name == "idle" || s.Name == "fanout" || s.Name == "reconnect" }
	if slices.ContainsFunc(chosen, needsWatchers) {
		if b.watched, err = b.offer(ctx, 1, 1<<30, 1<<20); err != nil {
			return err
		}
	}
	if b.PID != 0 {
		if b.memoryBefore, err = b.measured[0].resident(); err != nil {
			return err
		}
	}
	b.progress.stage("connect", 0)
	_, err = b.crowd.connect(ctx, b.crowd.sockets, b.watched, maxConcurrentDials)
	return err
}

// maxConcurrentDials limits the number of connections that are opened at the same time.
const maxConcurrentDials = 256

// offer creates sales and makes the server load them, so that no measured buy includes the load.
func (b *bench) offer(ctx context.Context, n int, units int64, limit int) ([]shop.ID, error) {
	var sales []shop.ID
	err := b.whileReceiving(ctx, func() (err error) {
		if sales, err = b.shop.offer(ctx, n, units, limit); err != nil {
			return fmt.Errorf("offer %d sales: %w", n, err)
		}
		return b.loadSales(ctx, sales)
	})
	b.usedSales = append(b.usedSales, sales...)
	return sales, err
}

// loadSales watches the sales once on a separate socket, at most 20 sales at a time. It retries sales that the server
// has not read yet: the catalogue of the server is up to a second old.
func (b *bench) loadSales(ctx context.Context, sales []shop.ID) error {
	conn, err := (&wsclient.Dialer{}).Dial(ctx, "http://"+b.crowd.target.address.String())
	if err != nil {
		return err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, conn.Close)()
	_, err = conn.Hello("", "")
	for chunk := range slices.Chunk(sales, 20) {
		if err == nil {
			err = conn.RetryOnCodes(func() error {
				_, err := conn.Watch(0, chunk...)
				return errors.Join(err, conn.Unwatch(0))
			}, shop.NotFound, shop.Busy, shop.RateLimited)
		}
	}
	if err != nil {
		return fmt.Errorf("load %d sales: %w", len(sales), err)
	}
	return nil
}

// idTexts converts the ids to their text in frames.
func idTexts(ids []shop.ID) []string {
	out := make([]string, len(ids))
	for i, id := range ids {
		out[i] = id.String()
	}
	return out
}
