package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"stampede/app/load"
	"stampede/app/server"
	"stampede/app/shop"
)

type loadCmd struct {
	Scenarios []string       `arg:"" placeholder:"SCENARIO" help:"Scenarios to measure, in this order, over the same sockets."`
	Target    string         `default:"127.0.0.1:8080" placeholder:"HOST:PORT" help:"Address of the server."`
	Sockets   int            `default:"1000" help:"Number of shoppers, each with its own socket."`
	For       time.Duration  `default:"5s" help:"Duration of the measurement of each scenario."`
	Rate      float64        `help:"Open loop: send this many ops per second. Without it, closed loop: send an op after the reply to the one before."`
	Hot       int            `default:"8" help:"Number of sales with buys at the same time, each in the next partition."`
	Stalled   float64        `help:"Share of watchers in fanout that do not read, for example 0.01."`
	Sources   int            `default:"16" help:"Number of addresses of 127.0.0.0/8 that the shoppers connect from."`
	PID       int            `name:"pid" help:"Process id of the server on this machine, to measure memory and processor time."`
	Beside    map[string]int `name:"beside" placeholder:"NAME=PID" help:"Other processes of this machine, for example redis=812, to measure their processor time."`
	Wait      bool           `negatable:"" default:"true" help:"Wait until every shopper has received the order event of each reservation."`
	JSON      bool           `name:"json" help:"Print JSON, for scripts."`

	IOwnThisHost bool `name:"i-own-this-host" help:"Load a server on another machine."`
}

func (loadCmd) Help() string {
	var b strings.Builder
	b.WriteString("Loads a running server with many shoppers and measures it. The command needs the settings of the server " +
		"(STAMPEDE_REDIS_URL, STAMPEDE_MYSQL_DSN, STAMPEDE_JWT_SECRET, or STAMPEDE_DATA): it creates new sales and " +
		"signs tokens. After each scenario it audits the sales and searches for lost events. The exit code is 3 if " +
		"a check fails.\n\nScenarios:\n\n")
	for _, s := range load.Scenarios() {
		fmt.Fprintf(&b, "    %-10s %s\n", s.Name, s.Description)
	}
	b.WriteString("\nAll shoppers come from few addresses, so the server needs a high STAMPEDE_MAX_CONNS_PER_IP, " +
		"STAMPEDE_HANDSHAKE_RATE=0 and STAMPEDE_BUY_RATE=0. STAMPEDE_PAY_WINDOW must be long enough that no order " +
		"expires during the run. Each process needs a file descriptor per socket (ulimit -n).\n\n" +
		"Examples:\n\n    stampede load chain --sockets 2000 --for 10s\n" +
		"    stampede load chain --sockets 4000 --rate 15000\n" +
		"    stampede load time buy soldout burst --sockets 10000\n" +
		"    stampede load idle fanout reconnect --sockets 18000 --pid $(pidof stampede) --json")
	return b.String()
}

// loadTokens is the lifetime of the tokens of the shoppers.
const loadTokens = 2 * time.Hour

// errLoad sets exit status 3 for a run with failed checks; they were already printed.
var errLoad = errors.New("checks failed: the measurements are invalid")

func (c *loadCmd) Run(e *env) error {
	if c.Sockets < 1 || c.Sockets > 60_000 || c.For < 100*time.Millisecond || c.Rate < 0 || c.Hot < 1 ||
		c.Stalled < 0 || c.Stalled > 0.5 || c.Sources < 1 || c.Sources > 250 {
		return fmt.Errorf("%w: want --sockets 1 to 60000, --for at least 100ms, --rate from 0, --hot from 1, --stalled 0 to 0.5, --sources 1 to 250", errUsage)
	}
	processes, err := c.otherProcesses()
	if err != nil {
		return err
	}
	config, issuer, err := e.issuer()
	if err != nil {
		return err
	}
	return e.withTools(func(t *server.Tools) (err error) {
		seeder, release, err := t.Seeder(e.ctx)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, release()) }()
		target := &load.Shop{
			Store: seeder.Store, Mint: seeder.Mint, Partitions: seeder.Partitions,
			Audit: t.Audit,
			Token: func(user shop.ID) (string, error) {
				return issuer.Issue(user, "User "+user.String(), shop.Shopper, loadTokens)
			},
			AlipayAppID: config.AlipayAppID, AlipaySellerID: config.AlipaySellerID,
		}
		results, err := load.Run(e.ctx, target, load.Options{
			Address: c.Target, Sockets: c.Sockets, For: c.For, Rate: c.Rate, Hot: c.Hot, Stalled: c.Stalled,
			Sources: c.Sources, PID: c.PID, OtherProcesses: processes, Own: c.IOwnThisHost, Wait: c.Wait,
			Progress: terminal(e.err),
		}, c.Scenarios...)
		err = e.show(c.JSON, err, results, func() error { return e.loadTable(results) })
		failed := func(r load.Result) bool { return len(r.Failures) > 0 }
		if err == nil && slices.ContainsFunc(results, failed) {
			err = errLoad
		}
		return err
	})
}

// processName matches valid names of processes beside the server. The name becomes part of a metric's name.
var processName = regexp.MustCompile(`^[a-z0-9_]{1,32}$`)

// otherProcesses parses --beside, sorted by name.
func (c *loadCmd) otherProcesses() ([]load.Process, error) {
	if len(c.Beside) > 0 && c.PID == 0 {
		return nil, fmt.Errorf("%w: --beside needs --pid, the process id of the server", errUsage)
	}
	var all []load.Process
	for _, name := range slices.Sorted(maps.Keys(c.Beside)) {
		pid := c.Beside[name]
		if !processName.MatchString(name) || name == "server" || name == "generator" || pid < 1 {
			return nil, fmt.Errorf("%w: --beside %s=%d: want a name of a-z, 0-9 and _ other than server and generator, "+
				"and a process id", errUsage, name, pid)
		}
		all = append(all, load.Process{Name: name, PID: pid})
	}
	return all, nil
}

// terminal returns w if it is a terminal, otherwise nil.
func terminal(w io.Writer) io.Writer {
	if f, ok := w.(*os.File); ok {
		if info, err := f.Stat(); err == nil && info.Mode()&os.ModeCharDevice != 0 {
			return w
		}
	}
	return nil
}

func (e *env) loadTable(results []load.Result) error {
	tenths := func(ms float64) string { return fmt.Sprintf("%.1f", ms) }
	err := figures(e, "scenario\tsockets\tops/s\tp50 ms\tp99 ms\tmax ms\torder p50\torder p99",
		results, func(r load.Result) []any {
			response, order := cmp.Or(r.Latency, &load.Latency{}), cmp.Or(r.Order, &load.Latency{})
			return []any{
				r.Scenario, r.Sockets, fmt.Sprintf("%.0f", r.PerSec), tenths(response.P50), tenths(response.P99),
				tenths(response.Max), tenths(order.P50), tenths(order.P99),
			}
		})
	if err != nil {
		return err
	}
	for _, r := range results {
		for _, name := range slices.Sorted(maps.Keys(r.Figures)) {
			fmt.Fprintf(e.out, "%s: %s %.4g\n", r.Scenario, name, r.Figures[name])
		}
		for _, failure := range r.Failures {
			fmt.Fprintf(e.out, "%s FAILED: %s\n", r.Scenario, failure)
		}
	}
	return nil
}
