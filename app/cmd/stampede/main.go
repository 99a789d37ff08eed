// Command stampede is the flash-sale platform: server, demo and tools in one binary. See `stampede --help`.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"syscall"
	"time"

	"github.com/alecthomas/kong"

	"stampede/app/account"
	"stampede/app/server"
)

// version is set by the linker.
var version = "unknown"

// Exit codes, for scripts.
const (
	exitOK         = 0
	exitFailed     = 1 // error; the message describes it
	exitUsage      = 2 // wrong arguments or configuration
	exitAudit      = 3 // the command found and printed a problem, such as a broken promise or an alarm
	exitIncomplete = 4 // the rehearsal was not completed
)

func main() {
	// The first signal starts an orderly shutdown and restores the default handler, so that a second signal kills.
	signals := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) { // nohup: the terminal may close
		signals = append(signals, syscall.SIGHUP)
	}
	ctx, stop := signal.NotifyContext(context.Background(), signals...)
	context.AfterFunc(ctx, stop)
	os.Exit(run(&env{
		ctx: ctx, args: os.Args[1:], environ: os.Environ(), in: os.Stdin, out: os.Stdout, err: os.Stderr,
	}))
}

// env contains the input, the output and the state of a command.
type env struct {
	ctx     context.Context
	args    []string
	environ []string
	in      io.Reader
	out     io.Writer      // results
	err     io.Writer      // progress and logs
	zone    *time.Location // time zone of the shop; nil: not read yet
	shop    *client        // server from which the zone is read; nil: the command calls no server
	zoneErr error          // error of reading the zone
	model   *kong.Application
}

// config reads the configuration. Flags of the command override the environment.
func (e *env) config(overrides ...string) (server.Config, error) {
	config, err := server.Load(slices.Concat(e.environ, overrides))
	if err == nil {
		e.zone = config.TimeZone.Location
	}
	return config, err
}

// issuer reads the configuration and returns an issuer of access tokens.
func (e *env) issuer() (server.Config, *account.Issuer, error) {
	config, err := e.config()
	if err != nil {
		return config, nil, err
	}
	issuer, err := server.Issuer(e.ctx, config)
	return config, issuer, err
}

// errAudit sets exit status 3 for a failed audit; its report was already printed.
var errAudit = errors.New("the audit found violations")

// errNodeNotReady sets exit status 3 for a node that is not ready; its reason was already printed.
var errNodeNotReady = errors.New("the node is not ready")

// commands lists all commands by group, in the order of --help. kong calls Run of the selected one and shows its Help
// in --help.
type commands struct {
	Demo      demoShop    `cmd:"" group:"Try it" help:"Run a demo: a complete shop on embedded stores with simulated shoppers."`
	AlipaySim alipaySim   `cmd:"" group:"Try it" help:"Run a simulated Alipay gateway, to test payments."`
	Rehearse  rehearseCmd `cmd:"" group:"Try it" help:"Test the deployment with a hidden sale and simulated shoppers: go or no-go."`
	Load      loadCmd     `cmd:"" group:"Try it" help:"Measure a running server under load."`

	Serve       serve         `cmd:"" group:"Run nodes" help:"Run a node."`
	Migrate     migrate       `cmd:"" group:"Run nodes" help:"Migrate the schema of the database up or down."`
	Seed        seedCmd       `cmd:"" group:"Run nodes" help:"Add demo products, slots and sales."`
	Checkconfig checkconfig   `cmd:"" group:"Run nodes" help:"Check the configuration and the stores."`
	Health      health        `cmd:"" group:"Run nodes" help:"Check that the node on this machine is ready."`
	Version     versionCmd    `cmd:"" group:"Run nodes" help:"Print the version."`
	Completion  completionCmd `cmd:"" group:"Run nodes" help:"Print the definition of completion for a shell."`

	Status  status     `cmd:"" group:"Watch and repair" help:"Show the live board of all nodes in a terminal."`
	Audit   audit      `cmd:"" group:"Watch and repair" help:"Verify that no sale is oversold."`
	Recover recoverCmd `cmd:"" group:"Watch and repair" help:"Restore the state of a shop after a store has lost writes."`
	Dead    dead       `cmd:"" group:"Watch and repair" help:"Manage dead letters: orders whose row could not be written."`

	Category  categoryCmd `cmd:"" group:"Sell" help:"Manage categories of products."`
	Product   productCmd  `cmd:"" group:"Sell" help:"Manage products and their pictures."`
	Slot      slotCmd     `cmd:"" group:"Sell" help:"Manage slots, the calendar of sales."`
	Sale      saleCmd     `cmd:"" group:"Sell" help:"Manage sales: terms, checklist, and operations on open sales."`
	Challenge challenge   `cmd:"" group:"Sell" help:"Show or set the challenge of a sale before a buy and its difficulty."`
	Notice    noticeCmd   `cmd:"" group:"Sell" help:"Show a banner to all shoppers."`
	Text      textCmd     `cmd:"" group:"Sell" help:"Manage the contact, terms and privacy texts of the page."`
	Switch    switchCmd   `cmd:"" group:"Sell" help:"Reduce the load of the shop while it continues to sell."`
	Report    reportCmd   `cmd:"" group:"Sell" help:"Show the report of a sale."`

	Order      orderCmd   `cmd:"" group:"Orders and money" help:"Search for orders and enter parcels."`
	Pay        pay        `cmd:"" group:"Orders and money" help:"Search for payments and reconcile them with the gateway."`
	Backoffice backOffice `cmd:"" group:"Orders and money" help:"Manage the entries for the back office: paid and refunded orders."`
	Mail       mailCmd    `cmd:"" group:"Orders and money" help:"Manage quarantined e-mails, which could not be sent."`

	Login   loginCmd   `cmd:"" group:"Accounts" help:"Log in at a server, for commands that call it."`
	Logout  logoutCmd  `cmd:"" group:"Accounts" help:"Log out at a server."`
	User    userCmd    `cmd:"" group:"Accounts" help:"Manage accounts."`
	Block   block      `cmd:"" group:"Accounts" help:"Block users, addresses and networks."`
	Token   token      `cmd:"" group:"Accounts" help:"Sign an access token for a user."`
	Journal journalCmd `cmd:"" group:"Accounts" help:"List the operations of operators and verify the journal."`

	CompleteLine completeLine `cmd:"" hidden:""`
}

type versionCmd struct{}

func (versionCmd) Run(e *env) error {
	_, err := fmt.Fprintf(e.out, "stampede %s (%s, %s/%s)\n", version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
	return err
}

const description = `Stampede is a flash-sale platform that people watch live.

Start with:  stampede demo

On real stores:  stampede migrate up, stampede seed, stampede serve, with STAMPEDE_REDIS_URL, STAMPEDE_MYSQL_DSN and STAMPEDE_JWT_SECRET set. All settings are environment variables: stampede serve --help lists them.

Times are in the time zone of the shop (STAMPEDE_TIME_ZONE); --json has Unix milliseconds.

Exit codes:  0 done, 1 failed, 2 wrong arguments or configuration, 3 audit, load, pay reconcile, journal verify, sale ready, status, health, recover or checkconfig found a problem; stampede rehearse --help lists the codes of rehearse.`

// exited is the panic value that carries kong's exit code (after --help) to run.
type exited int

// run parses the arguments, runs the command and returns the exit code.
func run(e *env) (code int) {
	defer func() {
		if r := recover(); r != nil {
			exit, ok := r.(exited)
			if !ok {
				panic(r)
			}
			code = int(exit)
		}
	}()
	var all commands
	parser, err := kong.New(&all, kong.Name("stampede"), kong.Description(description), kong.UsageOnError(),
		kong.Writers(e.out, e.err), kong.Exit(func(code int) { panic(exited(code)) }),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, WrapUpperBound: 100}))
	if err != nil {
		fmt.Fprintln(e.err, "stampede:", err)
		return exitFailed
	}
	switch {
	case len(e.args) == 0:
		e.args = []string{"--help"}
	case e.args[0] == "help":
		e.args = append(e.args[1:], "--help")
	}
	command, err := parser.Parse(e.args)
	if err != nil {
		fmt.Fprintf(e.err, "stampede: %v\nSee stampede --help.\n", err)
		return exitUsage
	}
	e.model = parser.Model
	return codeOf(command.Run(e), e.err)
}

func codeOf(err error, errOut io.Writer) int {
	if err == nil {
		return exitOK
	}
	fmt.Fprintln(errOut, "stampede:", err)
	_, config := errors.AsType[*server.ConfigError](err)
	switch {
	case errors.Is(err, errAudit), errors.Is(err, errAlarms), errors.Is(err, errLoad),
		errors.Is(err, errReconciliation), errors.Is(err, errStoresIncomplete), errors.Is(err, errJournal),
		errors.Is(err, errNotReady), errors.Is(err, errNodeNotReady), errors.Is(err, errOrdersOpen):
		return exitAudit
	case config, errors.Is(err, errUsage):
		return exitUsage
	case errors.Is(err, errIncomplete):
		return exitIncomplete
	}
	return exitFailed // also for errRehearsalFailed
}

// errUsage marks invalid arguments that kong does not detect.
var errUsage = errors.New("wrong arguments")
