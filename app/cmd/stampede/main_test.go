package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"stampede/app/test/kit"
)

var update = flag.Bool("update", false, "write the golden files anew")

func TestMain(m *testing.M) {
	flag.Parse()
	kit.Main(m, goleak.IgnoreAnyFunction("github.com/valyala/fasthttp.updateServerDate.func1"),
		goleak.IgnoreAnyFunction("github.com/valyala/fasthttp.(*workerPool).Start.func2"))
}

// call runs the program to its end.
func call(t *testing.T, environ []string, args ...string) (code int, out, errOut string) {
	t.Helper()
	return callWith(t, "", environ, args...)
}

// callWith is call with something on standard input.
func callWith(t *testing.T, in string, environ []string, args ...string) (code int, out, errOut string) {
	t.Helper()
	var o, e bytes.Buffer
	code = run(kit.Context(t), args, environ, strings.NewReader(in), &o, &e)
	return code, o.String(), e.String()
}

// TestHelpTeaches compares what each command says about itself with testdata/help.
func TestHelpTeaches(t *testing.T) {
	t.Parallel()
	for _, command := range []string{
		"", "serve", "demo", "migrate", "migrate up", "migrate down", "migrate status", "seed", "status", "audit",
		"pay", "pay reconcile", "backoffice", "backoffice tail", "backoffice repost", "archive", "archive run", "archive status", "archive drop", "dead", "dead list",
		"dead replay", "dead drop", "block", "block add", "block list", "block remove",
		"user", "user add", "user list", "user show", "user role", "user revoke", "user delete",
		"mail", "mail list", "mail retry", "mail drop", "load", "alipay-sim", "token",
		"token sign", "token rotate", "journal", "journal list", "journal verify",
		"rehearse", "notice", "notice say", "notice end", "switch", "switch show", "switch set", "sale", "sale pause", "sale resume", "sale end", "sale add-stock", "sale withdraw", "checkconfig", "version",
	} {
		code, out, errOut := call(t, nil, append(strings.Fields(command), "--help")...)
		if code != exitOK || errOut != "" {
			t.Errorf("%q: code %d, %s", command, code, errOut)
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
			t.Errorf("%q: help differs from %s (go test ./app/cmd/stampede -update writes it anew): %v\n%s", command,
				path, err, out)
		}
	}
	if _, out, _ := call(t, nil); !strings.Contains(out, "stampede demo") {
		t.Errorf("without arguments: %s", out)
	}
}

// TestWrongUse: exit code 2, and a sentence that names what is wrong.
func TestWrongUse(t *testing.T) {
	t.Parallel()
	data := "STAMPEDE_DATA=" + t.TempDir()
	for _, c := range []struct {
		args    string
		environ []string
		says    string
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
		{"load buy --shard 3/2", nil, "1/2 and 2/2"},
		{"load buy --at soon", nil, "seconds since 1970"},
		{"load buy --at 2026-01-01T00:00:00Z", nil, "ago"},
		{"load buy --at 99999999999", nil, "at most 1h0m0s ahead"},
		{"load buy time --at 99999999999", nil, "--at is for one scenario"},
		{"load logins --out x.json", nil, "cannot be merged"},
		{"load buy --out no/such/folder/x", []string{data}, "--out"},
		{"load merge", nil, "merge wants the files"},
		{"load merge no-such-file", nil, "no-such-file"},
		{"load merge x --shard 1/2", nil, "files only"},
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
		{"pay reconcile", nil, "--day"},
		{"pay reconcile --day yesterday", []string{data}, "--day"},
		{"backoffice tail --count -1", []string{data}, "--count"},
		{"backoffice repost --since noon", nil, "--since"},
		{"serve", []string{"STAMPEDE_ALIPAY_APP_ID=1"}, "STAMPEDE_ALIPAY_PRIVATE_KEY"},
		{"migrate down", nil, "--yes"},
		{"serve", []string{"STAMPEDE_PARTITIONS=many"}, "STAMPEDE_PARTITIONS"},
		{"checkconfig", []string{"STAMPEDE_LISTN=:80"}, "did you mean STAMPEDE_LISTEN?"},
	} {
		code, _, errOut := call(t, c.environ, strings.Fields(c.args)...)
		if code != exitUsage || !strings.Contains(errOut, c.says) {
			t.Errorf("%s: code %d: %s", c.args, code, errOut)
		}
	}
}

// TestToolsOnAFolder goes through the commands that need no running server.
func TestToolsOnAFolder(t *testing.T) {
	t.Parallel()
	// Slots all day long: whatever the hour is, those of two days overlap the two hours of the rolling schedule.
	environ := []string{
		"STAMPEDE_DATA=" + t.TempDir(),
		"STAMPEDE_SLOTS=00:00-02:00,02:00-04:00,04:00-06:00,06:00-08:00,08:00-10:00,10:00-12:00," +
			"12:00-14:00,14:00-16:00,16:00-18:00,18:00-20:00,20:00-22:00,22:00-24:00",
	}
	for _, step := range []struct {
		args string
		code int
		says string // a pattern in what is printed
	}{
		{"version", exitOK, `^stampede unknown \(go1`},
		{"checkconfig", exitOK, `STAMPEDE_JWT_SECRET +\n(?s).*embedded stores`},
		{"checkconfig --offline --json", exitOK, `"settings"`},
		{"migrate status", exitOK, `not applied`},
		{"migrate up", exitOK, `applied 2026`},
		{"migrate up", exitOK, `nothing to apply`},
		{"migrate status --json", exitOK, `"Applied": true`},
		{"seed --rolling", exitOK, `^2[5-9] slots filled`},
		{"seed --rolling", exitOK, `^0 slots filled`},
		{"seed --days 2", exitFailed, `overlap`},
		{"seed --products 2500", exitOK, `2500 of 2500`},
		{"token --user 42 --role operator", exitOK, `^[\w-]+\.[\w-]+\.[\w-]+\n$`},
		{"audit", exitFailed, `no server is running`},
		{"dead list", exitFailed, `no server is running`},
		{"backoffice tail --count 1", exitFailed, `no server is running`},
		{"mail list", exitFailed, `no server is running`},
		{"backoffice repost --since 2026-11-21T10:00:00+08:00", exitOK, `^0 entries`},
		{"pay reconcile --day 2026-11-21", exitFailed, `STAMPEDE_ALIPAY_APP_ID`},
		{"migrate down --yes", exitOK, `taken back`},
	} {
		code, out, errOut := call(t, environ, strings.Fields(step.args)...)
		if code != step.code || !regexp.MustCompile(step.says).MatchString(out+errOut) {
			t.Errorf("%s: code %d, want %d with %q:\n%s%s", step.args, code, step.code, step.says, out, errOut)
		}
	}
}

// printed is what a running command has printed so far.
type printed struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (p *printed) Write(text []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.b.Write(text)
}

func (p *printed) String() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.b.String()
}

// TestDemo: it opens, its shoppers buy, the audit beside it proves every sale, and it ends in order.
func TestDemo(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	ctx, stop := context.WithCancel(kit.Context(t))
	defer stop()
	var out printed
	ended := make(chan int, 1)
	// An address of real stores in the environment must not lead the demo there.
	environ := []string{"STAMPEDE_REDIS_URL=redis://127.0.0.1:1"}
	go func() {
		ended <- run(ctx, []string{"demo", "--listen", "127.0.0.1:0", "--data", dir, "--shoppers", "30"}, environ,
			strings.NewReader(""), &out, &out)
	}()
	address := regexp.MustCompile(`http://127\.0\.0\.1:\d+`)
	kit.Eventually(t, 20*time.Second, func() (bool, string) { return address.MatchString(out.String()), out.String() })
	base := address.FindString(out.String())
	kit.Eventually(t, 40*time.Second, func() (bool, string) {
		held, watching, err := look(base)
		return err == nil && held >= 5 && watching >= 30, out.String()
	})
	code, text, errOut := call(t, []string{"STAMPEDE_DATA=" + dir}, "audit")
	if code != exitOK || !strings.Contains(text, "0 failed") || !strings.Contains(text, "proved") {
		t.Errorf("audit: code %d\n%s%s", code, text, errOut)
	}
	code, text, _ = call(t, []string{"STAMPEDE_DATA=" + dir}, "audit", "--sale", "4", "--json")
	if code != exitFailed {
		t.Errorf("audit of an unknown sale: code %d %s", code, text)
	}
	stop()
	select {
	case code := <-ended:
		if code != exitOK {
			t.Errorf("code %d\n%s", code, out.String())
		}
	case <-time.After(30 * time.Second):
		t.Error("the demo did not end")
	}
}

// look adds up what is held in the open sales, and how many people watch one of them.
func look(base string) (held, watching int64, err error) {
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 5 * time.Second}
	res, err := client.Get(base + "/api/v1/sales?phase=open")
	if err != nil {
		return 0, 0, err
	}
	defer func() { err = errors.Join(err, res.Body.Close()) }()
	var page struct {
		Sales []struct{ Held, Watching int64 }
	}
	text, err := io.ReadAll(res.Body)
	if err == nil {
		err = json.Unmarshal(text, &page)
	}
	for _, s := range page.Sales {
		held += s.Held
		watching = max(watching, s.Watching)
	}
	return held, watching, err
}
