package main

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"stampede/app/server"
)

// TestUsers goes through what an operator does with accounts, on a fresh folder without a server: the first admin of a
// shop is made so.
func TestUsers(t *testing.T) {
	t.Parallel()
	environ := []string{"STAMPEDE_DATA=" + t.TempDir()}
	const secret = "a pony in the rain"
	for _, step := range []struct {
		args, in string
		code     int
		says     string // a pattern in what is printed
	}{
		{"user list", "", exitOK, `^nobody has an account\n$`},
		{"user list --json", "", exitOK, `^\[\]\n$`},
		{"user add Ada@Shop.example --role admin --password", secret + "\r\n", exitOK, `^added admin ada@shop.example, user \d+\n$`},
		{"user add ada@shop.example --password", secret, exitFailed, `that e-mail has an account`},
		{"user add bob@shop.example --password", "short", exitFailed, `too short`},
		{"user add bob@shop.example --password", "", exitUsage, `--password`},
		{"user add bob@shop.example --password", "\n" + secret, exitUsage, `--password`},
		{"user add bob --password", secret, exitFailed, `does not look like an e-mail`},
		{"user add bob@shop.example --role king", "", exitUsage, `admin`},
		{"user add bob@shop.example --lang fr", "", exitUsage, `zh`},
		{"user add bob@shop.example", "", exitFailed, `--password\): no server is running`},
		{"user add bob@shop.example --password --name 鲍勃 --lang zh --json", secret, exitOK, `"name": "鲍勃"`},
		{"user list", "", exitOK, `(?s)^id .*bob@shop\.example .*ada@shop\.example +Guest \d+ +admin +active`},
		{"user list --role admin", "", exitOK, `ada@shop.example`},
		{"user list --role operator", "", exitOK, `nobody`},
		{"user list --limit 0", "", exitUsage, `--limit`},
		{"user show ada@shop.example", "", exitOK, `(?s)role +admin\n.*logged in nowhere`},
		{"user show eve@shop.example", "", exitFailed, `nobody has that id or e-mail`},
		{"user show eve", "", exitFailed, `by id or e-mail`},
		{"user show 12345", "", exitFailed, `nobody has that id or e-mail`},
		{"user role bob@shop.example operator", "", exitOK, `is operator`},
		{"user role bob@shop.example operator --json", "", exitOK, `"role": "operator"`},
		{"user list --role operator", "", exitOK, `bob@shop.example`},
		{"user revoke BOB@shop.example", "", exitOK, `on 0 devices`},
		{"user delete bob@shop.example", "", exitUsage, `--yes`},
		{"user delete bob@shop.example --yes", "", exitOK, `deleted user \d+`},
		{"user delete bob@shop.example --yes", "", exitFailed, `nobody has that`},
		{"user delete 12345 --yes", "", exitOK, `deleted user 12345`}, // a guest
		{"user show bob@shop.example", "", exitFailed, `nobody`},
		{"user add bob@shop.example --password", secret, exitOK, `added shopper`}, // the e-mail is free again
	} {
		code, out, errOut := callWith(t, step.in, environ, strings.Fields(step.args)...)
		if code != step.code || !regexp.MustCompile(step.says).MatchString(out+errOut) {
			t.Errorf("%s: code %d, want %d with %q:\n%s%s", step.args, code, step.code, step.says, out, errOut)
		}
		if strings.Contains(out+errOut, secret) || strings.Contains(out, "argon2") {
			t.Errorf("%s prints the password:\n%s%s", step.args, out, errOut)
		}
	}
	_, out, _ := callWith(t, "", environ, "user", "show", "ada@shop.example", "--json")
	var u server.UserDetails
	if err := json.Unmarshal([]byte(out), &u); err != nil || u.Role != "admin" || u.Devices == nil {
		t.Errorf("%v: %s", err, out)
	}
}
