package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"stampede/app/demo"
	"stampede/app/outbox"
	"stampede/app/server"
	"stampede/app/shop"
)

type demoShop struct {
	Listen   string        `default:"127.0.0.1:8080" help:"Listen address of the page, the API and the sockets, host:port."`
	Data     string        `default:"stampede-data" help:"Folder for the embedded stores."`
	Shoppers int           `default:"50" help:"Number of simulated shoppers."`
	Slot     time.Duration `default:"5m" help:"Length of a slot, at least 2s."`
	Fresh    bool          `help:"Delete the shop of an earlier demo in that folder."`
}

func (demoShop) Help() string {
	return "One slot follows another. The first slot is shorter, so that with five-minute slots the second one opens " +
		"after 90 seconds. An order expires after one minute without payment, and its units are sold again.\n\n" +
		"Examples:\n\n    stampede demo\n" +
		"    stampede demo --shoppers 500 --fresh\n" +
		"    stampede demo --listen 0.0.0.0:8080     (to open it on a phone)\n" +
		"    stampede audit                          (in another terminal: proves that no unit was oversold)"
}

// demoDefaults apply unless the environment overrides them: guests may log in, and all clients share one address. Its
// stores and payments are simulated, and it prints that: warnings about them are not logged.
var demoDefaults = []string{
	"STAMPEDE_GUEST_LOGIN=true", "STAMPEDE_PAY_WINDOW=1m", "STAMPEDE_METRICS_LISTEN=127.0.0.1:0",
	"STAMPEDE_AUTH_RATE=0", "STAMPEDE_BUY_RATE=0", "STAMPEDE_HANDSHAKE_RATE=0", "STAMPEDE_AUTH_PER_IP=0",
	"STAMPEDE_MAX_CONNS=15000", "STAMPEDE_MAX_CONNS_PER_IP=15000", "STAMPEDE_RETURN_WITHIN=2s", "STAMPEDE_LOG_LEVEL=error",
}

func (d *demoShop) Run(e *env) error {
	if d.Shoppers < 0 || d.Shoppers > 10_000 {
		return fmt.Errorf("%w: --shoppers is %d, want 0 to 10000", errUsage, d.Shoppers)
	}
	if d.Slot < 2*time.Second || d.Slot > 24*time.Hour {
		return fmt.Errorf("%w: --slot is %s, want 2s to 24h", errUsage, d.Slot)
	}
	gateway, err := startSimulator(d.gatewayAddress())
	if err != nil {
		return err
	}
	defer gateway.close()
	environ, err := d.environ(e.environ, gateway)
	if err != nil {
		return err
	}
	config, err := server.Load(environ)
	if err != nil {
		return err
	}
	slog.SetDefault(config.Logger(e.err))
	ctx, leave := context.WithCancel(e.ctx)
	defer leave()
	var crowd sync.WaitGroup
	var password string // of the operator; set before the node runs
	node, err := server.New(config, server.Options{
		Version: version, Rolling: true, Slot: d.Slot, Fresh: d.Fresh, OnMail: func(l outbox.Email, file string) {
			showMail(e.out, l, file)
		},
		OnReady: func(about server.About) {
			d.printAddresses(e, about, gateway, password)
			crowd.Go(func() {
				(&demo.Crowd{
					Base: "http://" + about.Local(), Sim: gateway.base, Count: d.Shoppers, Seed: d.Data, Slot: d.Slot,
				}).Run(ctx)
			})
		},
	})
	if err != nil {
		return err
	}
	if password, err = d.addOperator(e, config); err != nil {
		return errors.Join(err, node.Close())
	}
	err = node.Run(ctx)
	leave()
	crowd.Wait()
	return err
}

// environ returns the environment of the demo. It drops variables that name real stores, payments or mail servers.
func (d *demoShop) environ(set []string, gateway *simulator) ([]string, error) {
	kept := slices.DeleteFunc(slices.Clone(set), func(line string) bool {
		return strings.HasPrefix(line, "STAMPEDE_REDIS_URL") || strings.HasPrefix(line, "STAMPEDE_MYSQL_DSN") ||
			strings.HasPrefix(line, "STAMPEDE_ALIPAY_") || strings.HasPrefix(line, "STAMPEDE_SMTP_URL")
	})
	payments, err := gateway.Keys().Environ(gateway.base)
	return slices.Concat(demoDefaults, kept, payments, []string{
		"STAMPEDE_LISTEN=" + d.Listen, "STAMPEDE_DATA=" + d.Data,
	}), err
}

// demoOperator is the e-mail of the account for the console.
const demoOperator = "operator@demo.example"

// addOperator adds the account for the console, unless an earlier start added it, and returns its password. The first
// start keeps the password in the data folder.
func (d *demoShop) addOperator(e *env, config server.Config) (password string, err error) {
	file := filepath.Join(d.Data, "operator.password")
	text, err := os.ReadFile(file)
	first := errors.Is(err, fs.ErrNotExist)
	if err != nil && !first {
		return "", fmt.Errorf("read the password of %s: %w", demoOperator, err)
	}
	if password = strings.TrimSpace(string(text)); first {
		password = rand.Text()
	}
	actor, err := e.actor(actorFlags{Note: "demo"})
	if err != nil {
		return "", err
	}
	tools, err := server.OpenTools(e.ctx, config)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, tools.Close()) }()
	tools.Actor = actor
	_, err = tools.AddUser(e.ctx, server.NewUser{Email: demoOperator, Role: shop.Admin, Password: password})
	var failed *shop.Error
	switch exists := errors.As(err, &failed) && failed.Code == shop.Conflict; {
	case exists && first:
		return "", fmt.Errorf("%s has an account, but %s with its password is missing: restore the file, or delete the "+
			"shop with --fresh", demoOperator, file)
	case err != nil && !exists:
		return "", err
	case first:
		if err := os.WriteFile(file, []byte(password+"\n"), 0o600); err != nil {
			return "", fmt.Errorf("store the password of %s: %w", demoOperator, err)
		}
	}
	return password, nil
}

// gatewayAddress returns the host of the shop, so that a client that can reach the shop can also reach the simulator.
// The server reports an invalid address.
func (d *demoShop) gatewayAddress() string {
	host, _, err := net.SplitHostPort(d.Listen)
	if err != nil {
		host = "127.0.0.1"
	}
	return net.JoinHostPort(host, "0")
}

// showMail prints the path of a written e-mail and its link, which users of the demo need.
func showMail(out io.Writer, l outbox.Email, file string) {
	text := fmt.Sprintf("\nAn e-mail (%s) to %s:  %s\n", l.Kind, l.To, file)
	if l.Link != "" {
		text += "  open  " + l.Link + "\n"
	}
	_, _ = io.WriteString(out, text) // one write; an error cannot be reported
}

func (d *demoShop) printAddresses(e *env, about server.About, gateway *simulator, password string) {
	host, port, _ := strings.Cut(about.Redis, ":")
	fmt.Fprintf(e.out, `
Stampede is open:  http://%s
Console:           http://%[1]s/console  (e-mail %s, password %s)

  shoppers   %d simulated shoppers are connecting
  payments   a simulated Alipay at %s; no real money moves
  stores     embedded, for tests, in %s
  look in    redis-cli -h %s -p %s XINFO GROUPS 'stampede:{0}:orders'
  metrics    http://%s/metrics

Press Ctrl-C to stop.
`, about.Local(), demoOperator, password, d.Shoppers, gateway.base, d.Data, host, port, about.Metrics)
}
