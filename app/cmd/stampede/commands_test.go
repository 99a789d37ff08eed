package main

import (
	"context"
	"encoding/json"
	"regexp"
	"strings"
	"testing"
	"time"

	"stampede/app/journal"
	"stampede/app/store"
	"stampede/app/test/kit"
)

// secret is the password of the accounts in these tests.
const secret = "a pony in the rain"

// step is a command with its standard input, exit code, and a pattern of its output.
type step struct {
	args, in string
	code     int
	message  string
}

// runSteps runs the steps in order. HEAD in the arguments is the last printed head of the journal. No step may print a
// password.
func runSteps(t *testing.T, environ []string, steps []step) {
	t.Helper()
	head := ""
	for _, s := range steps {
		args := strings.Fields(strings.Replace(s.args, "HEAD", head, 1))
		code, out, errOut := runCommandWith(t, s.in, environ, args...)
		if code != s.code || !regexp.MustCompile(s.message).MatchString(out+errOut) {
			t.Errorf("%s: code %d, want %d with %q:\n%s%s", s.args, code, s.code, s.message, out, errOut)
		}
		if strings.Contains(out+errOut, secret) || strings.Contains(out, "argon2") {
			t.Errorf("%s printed the password:\n%s%s", s.args, out, errOut)
		}
		if _, after, found := strings.Cut(out, "head "); found {
			head = strings.TrimSpace(after)
		}
	}
}

// startServer starts a node on embedded stores. It returns the environment of commands that call the node as an admin
// with the user id 1.
func startServer(t *testing.T, settings ...string) []string {
	t.Helper()
	addr := kit.FreeAddress(t)
	environ := append([]string{
		"STAMPEDE_DATA=" + t.TempDir(), "STAMPEDE_LISTEN=" + addr, "STAMPEDE_METRICS_LISTEN=off",
		"STAMPEDE_URL=http://" + addr, "XDG_CONFIG_HOME=" + t.TempDir(),
	}, settings...)
	ctx, stop := context.WithCancel(kit.Context(t))
	var out output
	ended := make(chan int, 1)
	go func() {
		ended <- run(&env{
			ctx: ctx, args: []string{"serve"}, environ: environ, in: strings.NewReader(""), out: &out, err: &out,
		})
	}()
	t.Cleanup(func() {
		stop()
		if code := <-ended; code != exitOK {
			t.Errorf("serve ended with code %d:\n%s", code, out.String())
		}
	})
	kit.Eventually(t, time.Minute, func() (bool, string) { return kit.Ready(t, addr), out.String() })
	code, token, errOut := runCommand(t, environ, "token", "--user", "1", "--role", "admin")
	if code != exitOK {
		t.Fatal(errOut)
	}
	return append(environ, "STAMPEDE_TOKEN="+strings.TrimSpace(token))
}

// TestCommandsRunWithoutAServer covers commands that need no running server.
func TestCommandsRunWithoutAServer(t *testing.T) {
	t.Parallel()
	// Slots cover the whole day: at every hour, the slots of two days overlap the two hours of the rolling schedule.
	environ := []string{
		"STAMPEDE_DATA=" + t.TempDir(), "XDG_CONFIG_HOME=" + t.TempDir(), "STAMPEDE_URL=http://127.0.0.1:1",
		"STAMPEDE_SLOTS=00:00-02:00,02:00-04:00,04:00-06:00,06:00-08:00,08:00-10:00,10:00-12:00," +
			"12:00-14:00,14:00-16:00,16:00-18:00,18:00-20:00,20:00-22:00,22:00-24:00",
	}
	runSteps(t, environ, []step{
		{"version", "", exitOK, `^stampede unknown \(go1`},
		{"checkconfig", "", exitOK, `STAMPEDE_JWT_SECRET *\n(?s).*embedded stores`},
		{"checkconfig --offline --json", "", exitOK, `"settings"`},
		{"user add ada@shop.example --role admin --password", secret, exitUsage, `has no embedded shop: use the settings of a node`},
		{"block add --user 7", "", exitUsage, `has no embedded shop`},
		{"migrate status", "", exitOK, `not applied`},
		{"migrate up", "", exitOK, `applied 0001`},
		{"migrate up", "", exitOK, `nothing to apply`},
		{"migrate status --json", "", exitOK, `"Applied": true`},
		{"seed --rolling", "", exitOK, `^2[5-9] slots filled`},
		{"seed --rolling", "", exitOK, `^0 slots filled`},
		{"seed --days 2", "", exitFailed, `overlap`},
		{"seed --products 2500", "", exitOK, `2500 of 2500`},
		{"token --user 42 --role operator", "", exitOK, `^[\w-]+\.[\w-]+\.[\w-]+\n$`},
		{"audit", "", exitFailed, `no server is running`},
		{"dead list", "", exitFailed, `no server is running`},
		{"user add ada@shop.example --role admin --password", secret, exitOK, `^added admin ada@shop.example, user \d+\n$`},
		{"user add bob@shop.example", "", exitFailed, `--password\): no server is running`},
		{"user list", "", exitFailed, `not logged in at http://127.0.0.1:1: run stampede login`},
		{"user list --server shop.example", "", exitUsage, `want http://`},
		{"login ada@shop.example", secret, exitFailed, `cannot reach the server`},
		{"migrate down --yes", "", exitOK, `reverted`},
	})
	runSteps(t, append(environ, "STAMPEDE_TOKEN=x"), []step{{"mail list", "", exitFailed, `cannot reach the server`}})
}

// TestOrderPruneChecksItsDay covers invalid and recent days, a shop without old orders, and the removed setting.
func TestOrderPruneChecksItsDay(t *testing.T) {
	t.Parallel()
	environ := startServer(t)
	runSteps(t, environ, []step{
		{"order prune --before 2026-01-31", "", exitUsage, `--export`},
		{"order prune --before 2026 --export FOLDER", "", exitFailed, `invalid day "2026": want a day such as 2026-01-31`},
		{"order prune --before 2999-01-01 --export FOLDER", "", exitFailed, `2999-01-01 is less than 92 days ago.*the latest day is 20`},
		{"order prune --before 2026-01-31 --export FOLDER --dry-run --json", "", exitOK, `"dry_run": true,\n  "files": \[\]`},
		{"order prune --before 2026-01-31 --export FOLDER", "", exitOK, `^no orders to delete\n$`},
		{"journal list", "", exitOK, `^no operations\n$`},
		{"backoffice repost --since 2026-11-21T10:00:00+08:00", "", exitOK, `^0 entries`},
		{"pay reconcile --from 2026-11-21", "", exitFailed, `STAMPEDE_ALIPAY_APP_ID`},
	})
	code, _, errOut := runCommand(t, append(environ, "STAMPEDE_ARCHIVE_AFTER=2208h"), "checkconfig", "--offline")
	if code != exitUsage || !strings.Contains(errOut, "STAMPEDE_ARCHIVE_AFTER was removed with the archive of orders") {
		t.Errorf("a removed setting: got code %d, %s; want code %d", code, errOut, exitUsage)
	}
}

// TestBlockCommandsAddListAndRemove covers the block list on embedded stores, as text and as JSON.
func TestBlockCommandsAddListAndRemove(t *testing.T) {
	t.Parallel()
	environ := startServer(t)
	runSteps(t, environ, []step{
		{"block list", "", exitOK, `^no blocks\n$`},
		{"block list --json", "", exitOK, `^\[\]\n$`},
		{"block add --user 7 --reason resells", "", exitOK, `^blocked user 7, number 1\n$`},
	})
	code, out, errOut := runCommand(t, environ, strings.Fields("block add --address 2001:db8::1:2:3:4 --for 1h --json")...)
	var added store.Block
	if err := json.Unmarshal([]byte(out), &added); err != nil || code != exitOK ||
		added.Kind != store.BlockNetwork ||
		added.Value != "2001:db8::/64" || added.Until.Sub(added.CreatedAt).Round(time.Minute) != time.Hour {
		t.Errorf("block of an IPv6 address: got code %d, output %s%s and error %v", code, out, errOut, err)
	}
	runSteps(t, environ, []step{
		{"block list --json", "", exitOK, `(?s)"id": 1,.*"kind": "user",.*"value": "7",.*"reason": "resells",.*"created_by": "\S+"`},
		{"block list", "", exitOK, `user +7 .*resells`},
		{"block add --user 7", "", exitFailed, `blocked already, by number 1`},
		{"block remove 1 --json", "", exitOK, `^\[\s*1\s*\]\s*$`},
		{"block remove 1", "", exitFailed, `no block in force has the number 1`},
	})
}

// TestJournalRecordsCommandsOncePerKey: commands are recorded with their actor, once for each key. Verification detects
// a head that is not in the journal and sets exit status 3.
func TestJournalRecordsCommandsOncePerKey(t *testing.T) {
	t.Parallel()
	environ := startServer(t, "STAMPEDE_TIME_ZONE=Asia/Kathmandu")
	runSteps(t, environ, []step{
		{"journal list", "", exitOK, `^no operations\n$`},
		{"journal list --json", "", exitOK, `^\[\]\n$`},
		{"journal verify", "", exitOK, `^the journal is empty\n$`},
		{"block add --user 7 --key flood-0001", "", exitOK, `number 1`},
		{"block add --user 7 --key flood-0001", "", exitOK, `number 1`}, // a repeat with the same key
		{"block add --user 8 --key flood-0001", "", exitFailed, `duplicate_key`},
		{"block add --user 8 --key flood", "", exitUsage, `--key`},
		{"challenge --bits 18", "", exitOK, `18 bits`},
		{"user add bob@shop.example --password --by 鲍勃", secret, exitOK, `added shopper`},
		{"user role bob@shop.example operator", "", exitOK, `operator`},
		{"user delete bob@shop.example --yes", "", exitOK, `deleted`},
		{"token rotate --by ada", "", exitOK, `generation 1`},
		{"block remove 99", "", exitFailed, `no block in force`},
		{"journal list", "", exitOK, `(?s)^row .*key\.rotate.*user\.delete.*user\.role.*鲍勃.*switches\.edit.*1 .*cli.*block\.add +block:1 `},
		{"journal list --actor 1 --kind switches.edit", "", exitOK, `^row[^\n]*\n2 [^\n]*\n$`},
		{"journal list --since 2100-01-01T00:00:00Z", "", exitOK, `no operations`},
		{"journal list --limit 0", "", exitUsage, `--limit`},
		{"journal verify", "", exitOK, `^6 rows are valid; head 6:[0-9a-f]{64}\n$`},
		{"journal verify --head HEAD", "", exitOK, `^6 rows are valid`},
		{"journal verify --head 6:" + strings.Repeat("0a", 32), "", exitAudit, `row 6 is invalid: .*hash`},
		{"journal verify --json --head 7:" + strings.Repeat("0a", 32), "", exitAudit, `"at": 7`},
		{"journal verify --head 6", "", exitFailed, `a head must be`},
	})
	// The journal names users by id only.
	_, out, _ := runCommand(t, environ, "journal", "list", "--json")
	var rows []journal.Entry
	if err := json.Unmarshal([]byte(out), &rows); err != nil || len(rows) != 6 || strings.Contains(out, "bob@") {
		t.Fatalf("got %d journal rows and error %v: %s", len(rows), err, out)
	}
	// The table shows times in the time zone of the shop.
	at := rows[0].At.Time().In(time.FixedZone("Kathmandu", (5*60+45)*60)).Format(time.DateTime)
	if _, out, _ := runCommand(t, environ, "journal", "list"); !strings.Contains(out, at) {
		t.Errorf("the journal has no row of %s:\n%s", at, out)
	}
}

// TestSearchCommandsReportMissingObjects covers searches for orders, payments and users, missing objects and invalid
// arguments.
func TestSearchCommandsReportMissingObjects(t *testing.T) {
	t.Parallel()
	runSteps(t, startServer(t), []step{
		{"order list", "", exitOK, `^no orders\n$`},
		{"order list 7301444480512000257 --state paid --json", "", exitOK, `^\[\]\n$`},
		{"order list --state reserved", "", exitUsage, `--state`},
		{"order list --limit 0", "", exitUsage, `--limit`},
		{"pay list", "", exitOK, `^no payments\n$`},
		{"pay list T1 --state late --json", "", exitOK, `^\[\]\n$`},
		{"pay list --state x", "", exitUsage, `--state`},
		{"user add ada@shop.example --name Ada --password --by eve", secret, exitOK, `added`},
		{"user list ada@", "", exitOK, `ada@shop\.example`},
		{"user list Ada", "", exitOK, `ada@shop\.example`},
		{"user list bob", "", exitOK, `no accounts`},
		{"user list ada --role admin", "", exitUsage, `--role`},
		{"order ship 7 --carrier SF --tracking SF1", "", exitFailed, `not_found`},
		{"order ship 7 --carrier SF", "", exitUsage, `--tracking`},
		{"order ship-many -", "order,carrier,tracking\n7,SF,SF1\n", exitOK, `0 shipped, 0 unchanged, 1 failed`},
		{"order ship-many nowhere.csv", "", exitFailed, `nowhere\.csv`},
		{"report 7", "", exitFailed, `not_found`},
	})
}

// TestSwitchAndNoticeCommandsAreRecorded: switches and notices work on embedded stores and are recorded in the journal.
func TestSwitchAndNoticeCommandsAreRecorded(t *testing.T) {
	t.Parallel()
	runSteps(t, startServer(t), []step{
		{"switch show", "", exitOK, `(?s)tick-ms +100\nhttp-buy +true\nleast-challenge +none\nlists +live\nwork-bits +16`},
		{"switch set --tick-ms 500 --no-http-buy --work-bits 18", "", exitOK, `(?s)500\n.*false\n.*18`},
		{"switch set --lists cached --least-challenge work --json", "", exitOK, `"version": 2`},
		{"switch show", "", exitOK, `(?s)tick-ms +500\nhttp-buy +false\nleast-challenge +work\nlists +cached\nwork-bits +18`},
		{"switch set --tick-ms 50", "", exitFailed, `100 to 2000`},
		{"switch set --lists none", "", exitFailed, `live or cached`},
		{"switch set --least-challenge hard", "", exitFailed, `entry check`},
		{"notice end", "", exitFailed, `there is no current notice`},
		{"notice say Kettles --for 1h --json", "", exitOK, `(?s)"level": "info".*"until": \d+`},
		{"notice say 水壶 --lang zh --json", "", exitOK, `(?s)"text": "Kettles".*"zh": "水壶"`},
		{"notice say Slow --lang Z", "", exitFailed, `two or three lowercase letters`},
		{"notice say Slow --warn", "", exitOK, `within a second`},
		{"notice say " + strings.Repeat("x", 301), "", exitFailed, `300 characters`},
		{"notice end", "", exitOK, `new connections do not get the banner`},
		{"text list", "", exitOK, `(?s)contact +en +0 +0\n.*privacy +zh +0 +0\n`},
		{"text set terms - --lang zh", " 条款\n\n第二段 \n", exitOK, `set terms \(zh\), 7 characters`},
		{"text set terms - --lang zh --json", "\ufeff条款", exitOK, `(?s)"text": "条款".*"version": 2|"version": 2.*"text": "条款"`},
		{"text set terms - --lang fr", "x", exitUsage, `en`},
		{"text set imprint - --lang en", "x", exitUsage, `contact`},
		{"text set terms missing.txt --lang en", "", exitUsage, `missing\.txt`},
		{"text set terms - --lang en", strings.Repeat("x", 20_001), exitFailed, `the limit is 20000`},
		{"journal list", "", exitOK, `(?s)text\.edit.*text\.edit.*notice\.take_back.*notice\.say.*notice\.say.*notice\.say.*switches\.edit.*switches\.edit`},
		{"journal verify", "", exitOK, `^8 rows are valid`},
	})
}

// TestUserCommandsManageAccounts: accounts are added without the server and changed through it.
func TestUserCommandsManageAccounts(t *testing.T) {
	t.Parallel()
	environ := startServer(t)
	runSteps(t, environ, []step{
		{"user list", "", exitOK, `^no accounts\n$`},
		{"user list --json", "", exitOK, `^\[\]\n$`},
		{"user add Ada@Shop.example --role admin --password", "\ufeff" + secret + "\r\n", exitOK, `^added admin ada@shop.example, user \d+\n$`},
		{"user add ada@shop.example --password", secret, exitFailed, `the e-mail already has an account`},
		{"user add bob@shop.example --password", "short", exitFailed, `too short`},
		{"user add bob@shop.example --password", "", exitUsage, `--password`},
		{"user add bob@shop.example --password", "\n" + secret, exitUsage, `--password`},
		{"user add bob --password", secret, exitFailed, `the e-mail is not valid`},
		{"user add bob@shop.example --role king", "", exitUsage, `admin`},
		{"user add bob@shop.example --lang fr", "", exitUsage, `zh`},
		{"user add bob@shop.example --password --name 鲍勃 --lang zh --json", secret, exitOK, `"name": "鲍勃"`},
		{"user list", "", exitOK, `(?s)^id .*bob@shop\.example .*ada@shop\.example +ada +admin +active`},
		{"user list --role admin", "", exitOK, `ada@shop.example`},
		{"user list --role operator", "", exitOK, `no accounts`},
		{"user list --limit 0", "", exitUsage, `--limit`},
		{"user show ada@shop.example", "", exitOK, `(?s)role +admin\n.*no logged-in devices`},
		{"user show eve@shop.example", "", exitFailed, `no account has that id or e-mail`},
		{"user show eve", "", exitFailed, `by id or e-mail`},
		{"user show 12345", "", exitFailed, `not_found`},
		{"user role bob@shop.example operator", "", exitOK, `is operator`},
		{"user role bob@shop.example operator --json", "", exitOK, `"role": "operator"`},
		{"user list --role operator", "", exitOK, `bob@shop.example`},
		{"user revoke BOB@shop.example", "", exitOK, `on 0 devices`},
		{"user delete bob@shop.example", "", exitUsage, `--yes`},
		{"user delete bob@shop.example --yes", "", exitOK, `deleted user \d+`},
		{"user delete bob@shop.example --yes", "", exitFailed, `no account has that`},
		{"user delete 12345 --yes", "", exitOK, `deleted user 12345`}, // a guest
		{"user show bob@shop.example", "", exitFailed, `no account has that`},
		{"user add bob@shop.example --password", secret, exitOK, `added shopper`}, // the e-mail is free
	})
	_, out, _ := runCommand(t, environ, "user", "show", "ada@shop.example", "--json")
	var u userDetails
	if err := json.Unmarshal([]byte(out), &u); err != nil || u.Role != "admin" || u.Devices == nil {
		t.Errorf("%v: %s", err, out)
	}
}
