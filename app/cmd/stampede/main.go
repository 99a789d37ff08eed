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
	exitOK        = 0
	exitFailed    = 1 // error; the message describes it
	exitUsage     = 2 // wrong arguments or configuration
	exitAudit     = 3 // the command found and printed a problem, such as a broken promise or an alarm
	exitNoVerdict = 4 // the rehearsal was not completed
)

func main() {
	// The first signal starts an orderly shutdown and restores the default handler, so that a second signal kills.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	os.Exit(run(&env{
		ctx: ctx, args: os.Args[1:], environ: os.Environ(), in: os.Stdin, out: os.Stdout, err: os.Stderr,
	}))
}

// env contains the environment of a command.
type env struct {
	ctx     context.Context
	args    []string
	environ []string
	in      io.Reader
	out     io.Writer      // results
	err     io.Writer      // progress and logs
	zone    *time.Location // time zone of the shop; nil: not read yet
	shop    *client        // server to read the zone from; nil: the command calls no server
	noZone  error          // error of reading the zone
}

// config reads the configuration. Flags of the command override the environment.
func (e *env) config(over ...string) (server.Config, error) {
	config, err := server.Load(slices.Concat(e.environ, over))
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
var errAudit = errors.New("the audit found broken promises")

// commands lists all commands. kong calls Run of the selected one and shows its Help in --help.
type commands struct {
	Serve       serve       `cmd:"" help:"Run a node."`
	Demo        demoShop    `cmd:"" help:"Try it out: a whole shop on embedded stores, with simulated shoppers."`
	Migrate     migrate     `cmd:"" help:"Bring the database's schema up to date, or back."`
	Seed        seedCmd     `cmd:"" help:"Fill an empty shop with products and slots."`
	Product     productCmd  `cmd:"" help:"What is sold: products and their pictures."`
	Category    categoryCmd `cmd:"" help:"What products are sorted by."`
	Slot        slotCmd     `cmd:"" help:"When sales are open: the calendar."`
	Sale        saleCmd     `cmd:"" help:"What is offered when and at which price, whether it is ready, and acts while people buy."`
	Notice      noticeCmd   `cmd:"" help:"Tell all shoppers something."`
	Switch      switchCmd   `cmd:"" help:"Take load off the shop while it goes on selling."`
	Challenge   challenge   `cmd:"" help:"What a sale asks of its buyers before a buy, and how hard it is."`
	Status      status      `cmd:"" help:"Show what all nodes do now: the live board in a terminal."`
	Audit       audit       `cmd:"" help:"Prove that nothing was oversold."`
	Pay         pay         `cmd:"" help:"Compare payments with the gateway."`
	Backoffice  backOffice  `cmd:"" help:"Read what the shop's back office is told: paid and refunded orders."`
	Order       orderCmd    `cmd:"" help:"Search for orders, and enter what was sent."`
	Report      reportCmd   `cmd:"" help:"What became of a sale."`
	Archive     archiveCmd  `cmd:"" help:"Show the archive of orders, delete months of it."`
	Recover     recoverCmd  `cmd:"" help:"Restore the state of a shop after a store has lost writes."`
	Dead        dead        `cmd:"" help:"Look after dead letters: orders that could not be written."`
	Login       loginCmd    `cmd:"" help:"Log in at a server, for the commands that call one."`
	Logout      logoutCmd   `cmd:"" help:"End that log in."`
	Block       block       `cmd:"" help:"Keep users, addresses and networks out."`
	User        userCmd     `cmd:"" help:"Look after accounts."`
	Mail        mailCmd     `cmd:"" help:"Look after mails that could not be sent."`
	Load        loadCmd     `cmd:"" help:"Press on a running server as a crowd and measure what it bears."`
	Rehearse    rehearseCmd `cmd:"" help:"Test the deployment with a hidden sale and simulated shoppers: go or no-go."`
	AlipaySim   alipaySim   `cmd:"" help:"Run a simulated Alipay, to try out paying."`
	Journal     journalCmd  `cmd:"" help:"What operators have done, and the proof that nobody has changed that."`
	Token       token       `cmd:"" help:"Sign an access token for a user."`
	Checkconfig checkconfig `cmd:"" help:"Say what is wrong with the configuration and the stores."`
	Version     versionCmd  `cmd:"" help:"Print the version."`
}

type versionCmd struct{}

func (versionCmd) Run(e *env) error {
	_, err := fmt.Fprintf(e.out, "stampede %s (%s, %s/%s)\n", version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
	return err
}

const description = `Stampede is a flash-sale platform that people watch live.

Start with:  stampede demo

On real stores:  stampede migrate up, stampede seed, stampede serve, with STAMPEDE_REDIS_URL, STAMPEDE_MYSQL_DSN and STAMPEDE_JWT_SECRET set. All settings are environment variables: stampede serve --help lists them.

Times are told by the clocks of the shop (STAMPEDE_TIME_ZONE); --json has milliseconds.

Exit codes:  0 done, 1 failed, 2 wrong arguments or configuration, 3 audit, load, pay reconcile, journal verify, sale ready, status, recover or checkconfig found that something is not as it must be; rehearse has its own.`

// exited is the panic value that carries kong's exit code (after --help) to run.
type exited int

// run parses the arguments, runs the command and returns the exit code.
func run(e *env) (code int) {
	defer func() {
		if r := recover(); r != nil {
			wish, ok := r.(exited)
			if !ok {
				panic(r)
			}
			code = int(wish)
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
	if len(e.args) == 0 {
		e.args = []string{"--help"}
	}
	command, err := parser.Parse(e.args)
	if err != nil {
		fmt.Fprintf(e.err, "stampede: %v\nSee stampede --help.\n", err)
		return exitUsage
	}
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
		errors.Is(err, errReconciliation), errors.Is(err, errUnfit), errors.Is(err, errJournal),
		errors.Is(err, errNotReady), errors.Is(err, errUnsettled):
		return exitAudit
	case config, errors.Is(err, errUsage):
		return exitUsage
	case errors.Is(err, errNoVerdict):
		return exitNoVerdict
	}
	return exitFailed // also for errNoGo
}

// errUsage marks invalid arguments that kong does not detect.
var errUsage = errors.New("wrong arguments")
