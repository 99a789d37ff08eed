package main

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"stampede/app/test/kit"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func TestMain(m *testing.M) {
	flag.Parse()
	kit.Main(m, goleak.IgnoreAnyFunction("github.com/valyala/fasthttp.updateServerDate.func1"),
		goleak.IgnoreAnyFunction("github.com/valyala/fasthttp.(*workerPool).Start.func2"))
}

// runCommand runs a command and returns its exit code and output.
func runCommand(t *testing.T, environ []string, args ...string) (code int, out, errOut string) {
	t.Helper()
	return runCommandWith(t, "", environ, args...)
}

// runCommandWith is like runCommand, with standard input.
func runCommandWith(t *testing.T, in string, environ []string, args ...string) (code int, out, errOut string) {
	t.Helper()
	var o, e bytes.Buffer
	code = run(&env{
		ctx: kit.Context(t), args: args, environ: environ, in: strings.NewReader(in), out: &o, err: &e,
	})
	return code, o.String(), e.String()
}

// TestHelpMatchesTestdata compares the help of each command with testdata/help.
func TestHelpMatchesTestdata(t *testing.T) {
	t.Parallel()
	for _, command := range []string{
		"", "serve", "demo", "migrate", "migrate up", "migrate down", "migrate status", "seed", "status", "audit",
		"pay", "pay reconcile", "backoffice", "backoffice repost", "dead", "dead list",
		"dead replay", "dead drop", "block", "block add", "block list", "block remove",
		"user", "user add", "user list", "user show", "user role", "user revoke", "user delete",
		"login", "logout", "mail", "mail list", "mail retry", "mail drop", "load", "alipay-sim", "token",
		"token sign", "token rotate", "journal", "journal list", "journal verify",
		"rehearse", "notice", "notice say", "notice end", "text", "text list", "text set", "switch", "switch show", "switch set", "sale", "sale pause", "sale resume", "sale end", "sale add-stock", "sale withdraw", "checkconfig", "version",
	} {
		code, out, errOut := runCommand(t, nil, append(strings.Fields(command), "--help")...)
		if code != exitOK || errOut != "" {
			t.Errorf("%q: got code %d and error output %q, want code 0 and none", command, code, errOut)
		}
		path := filepath.Join("testdata", "help", strings.ReplaceAll("stampede "+command, " ", "_")+".txt")
		path = strings.Replace(path, "stampede_.txt", "stampede.txt", 1)
		if *update {
			if err := os.WriteFile(path, []byte(out), 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		want, err := os.ReadFile(path)
		if err != nil || out != string(want) {
			t.Errorf("%q: help differs from %s (go test ./app/cmd/stampede -update rewrites it): %v\n%s", command,
				path, err, out)
		}
	}
	if _, out, _ := runCommand(t, nil); !strings.Contains(out, "stampede demo") {
		t.Errorf("help without arguments lacks `stampede demo`: %s", out)
	}
}

// TestInvalidUseNamesTheMistake: invalid use returns exit code 2 and a message that names the mistake.
func TestInvalidUseNamesTheMistake(t *testing.T) {
	t.Parallel()
	data := "STAMPEDE_DATA=" + t.TempDir()
	for _, c := range []struct {
		args    string
		environ []string
		message string
	}{
		{"sell", nil, "sell"},
		{"serve --fast", nil, "--fast"},
		{"audit --sale x", nil, "positive decimal number"},
		{"token", nil, "--user"},
		{"token --user 1 --role king", nil, "shopper"},
		{"token --user 1 --ttl 9999h", []string{data}, "--ttl"},
		{"seed --days 0", []string{data}, "--days"},
		{"demo --shoppers -1", nil, "--shoppers"},
		{"load", nil, "scenario"},
		{"load idle --sockets 0", nil, "--sockets"},
		{"demo --listen nowhere", []string{data}, "STAMPEDE_LISTEN"},
		{"dead replay", nil, "id"},
		{"mail retry", nil, "--all"},
		{"mail retry --all 1-0", nil, "--all"},
		{"serve", []string{"STAMPEDE_SMTP_URL=smtp://u:hidden@mail.example"}, "STAMPEDE_MAIL_FROM"},
		{"serve", []string{"STAMPEDE_SMTP_URL=ftp://mail.example"}, "smtp:// or smtps://"},
		{"serve", []string{"STAMPEDE_MAIL_FROM=nobody"}, "STAMPEDE_MAIL_FROM"},
		{"block add", nil, "--user, --address or --network"},
		{"block add --user 7 --address 192.0.2.1", nil, "can't be used together"},
		{"block add --network 0.0.0.0/0", nil, "too wide"},
		{"block add --address here", nil, "203.0.113.9"},
		{"block add --user 7 --for -1h", nil, "--for"},
		{"pay reconcile --from yesterday", []string{data}, "--from"},
		{"pay reconcile --from 2026-11-20 --to 2026-11-19", []string{data}, "--to"},
		{"backoffice repost --since noon", nil, "--since"},
		{"serve", []string{"STAMPEDE_ALIPAY_APP_ID=1"}, "STAMPEDE_ALIPAY_PRIVATE_KEY"},
		{"migrate down", nil, "--yes"},
		{"serve", []string{"STAMPEDE_PARTITIONS=many"}, "STAMPEDE_PARTITIONS"},
		{"checkconfig", []string{"STAMPEDE_LISTN=:80"}, "did you mean STAMPEDE_LISTEN?"},
	} {
		code, _, errOut := runCommand(t, c.environ, strings.Fields(c.args)...)
		if code != exitUsage || !strings.Contains(errOut, c.message) {
			t.Errorf("%s: got code %d: %s; want code %d with %q", c.args, code, errOut, exitUsage, c.message)
		}
	}
}

// output collects the output of a running command.
type output struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (o *output) Write(text []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.Write(text)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.String()
}
