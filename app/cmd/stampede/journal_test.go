package main

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"
	"time"

	"stampede/app"
)

// What is done from the command line is journalled with who did it, once for each key, and the walk along the journal
// sees it; a head that is not in it ends with exit code 3.
func TestJournal(t *testing.T) {
	t.Parallel()
	environ := []string{"STAMPEDE_DATA=" + t.TempDir()}
	const secret = "a pony in the rain"
	var head string
	for _, step := range []struct {
		args, in string
		code     int
		says     string // a pattern in what is printed
	}{
		{"journal list", "", exitOK, `^nothing was done\n$`},
		{"journal list --json", "", exitOK, `^\[\]\n$`},
		{"journal verify", "", exitOK, `^nothing was done yet\n$`},
		{"block add --user 7 --by ada --key flood-0001", "", exitOK, `number 1`},
		{"block add --user 7 --by ada --key flood-0001", "", exitOK, `number 1`}, // the same again
		{"block add --user 8 --by ada --key flood-0001", "", exitFailed, `duplicate_key`},
		{"block add --user 8 --by ada --key flood", "", exitUsage, `--key`},
		{"challenge --bits 18 --by ada", "", exitOK, `18 bits`},
		{"user add bob@shop.example --password --by 鲍勃", secret, exitOK, `added shopper`},
		{"user role bob@shop.example operator", "", exitOK, `operator`},
		{"user delete bob@shop.example --yes", "", exitOK, `deleted`},
		{"token rotate --by ada", "", exitOK, `generation 1`},
		{"block remove 99", "", exitFailed, `no block in force`},
		{"journal list", "", exitOK, `(?s)^row .*key\.rotate.*user\.delete.*user\.role.*鲍勃.*switch\.work_bits.*1 .*ada.*cli.*block\.add +block:1 `},
		{"journal list --actor ada --kind block.add", "", exitOK, `^row[^\n]*\n1 [^\n]*\n$`},
		{"journal list --since 2100-01-01T00:00:00Z", "", exitOK, `nothing`},
		{"journal list --limit 0", "", exitUsage, `--limit`},
		{"journal verify", "", exitOK, `^6 rows fit; head 6:[0-9a-f]{64}\n$`},
		{"journal verify --head HEAD", "", exitOK, `^6 rows fit`},
		{"journal verify --head 6:" + strings.Repeat("0a", 32), "", exitAudit, `row 6 does not fit: .*written anew`},
		{"journal verify --json --head 7:" + strings.Repeat("0a", 32), "", exitAudit, `"at": 7`},
		{"journal verify --head 6", "", exitFailed, `a head is`},
	} {
		args := strings.Fields(strings.Replace(step.args, "HEAD", head, 1))
		code, out, errOut := callWith(t, step.in, environ, args...)
		if code != step.code || !regexp.MustCompile(step.says).MatchString(out+errOut) {
			t.Errorf("%s: code %d, want %d with %q:\n%s%s", step.args, code, step.code, step.says, out, errOut)
		}
		if _, after, found := strings.Cut(out, "head "); found {
			head = strings.TrimSpace(after)
		}
	}
	// Nothing in the journal says who a user is but by an id.
	_, out, _ := call(t, environ, "journal", "list", "--json")
	var rows []app.JournalEntry
	if err := json.Unmarshal([]byte(out), &rows); err != nil || len(rows) != 6 || strings.Contains(out, "bob@") {
		t.Fatalf("%d rows, %v: %s", len(rows), err, out)
	}
	// The table tells times by the clocks of the shop, wherever it is read.
	at := rows[0].At.Time().In(time.FixedZone("Kathmandu", (5*60+45)*60)).Format(time.DateTime)
	if _, out, _ := call(t, append(environ, "STAMPEDE_TIME_ZONE=Asia/Kathmandu"), "journal", "list"); !strings.Contains(out, at) {
		t.Errorf("no row of %s:\n%s", at, out)
	}
}
