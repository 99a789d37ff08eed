package main

import (
	"encoding/json"
	"strings"
	"testing"

	"stampede/app"
)

// The block list is kept on embedded stores as on real ones, for people and for scripts.
func TestBlockList(t *testing.T) {
	t.Parallel()
	environ := []string{"STAMPEDE_DATA=" + t.TempDir()}
	do := func(wantCode int, args string) (out, errOut string) {
		t.Helper()
		code, out, errOut := call(t, environ, strings.Fields(args)...)
		if code != wantCode {
			t.Fatalf("%s: code %d, %s%s", args, code, out, errOut)
		}
		return out, errOut
	}
	if out, _ := do(exitOK, "block list"); out != "nobody is blocked\n" {
		t.Errorf("an empty list: %q", out)
	}
	if out, _ := do(exitOK, "block list --json"); out != "[]\n" {
		t.Errorf("an empty list for scripts: %q", out)
	}
	out, _ := do(exitOK, "block add --user 7 --reason resells --by ada")
	if out != "blocked user 7, number 1\n" {
		t.Errorf("a user: %q", out)
	}
	out, _ = do(exitOK, "block add --address 2001:db8::1:2:3:4 --for 1h --json")
	var added app.Block
	if err := json.Unmarshal([]byte(out), &added); err != nil || added.Kind != app.BlockNetwork ||
		added.Value != "2001:db8::/64" || added.Until != added.CreatedAt+3_600_000 {
		t.Errorf("an address of IPv6: %s %v", out, err)
	}
	out, _ = do(exitOK, "block list --json")
	for _, field := range []string{`"id": 1`, `"kind": "user"`, `"value": "7"`, `"reason": "resells"`, `"created_by": "ada"`} {
		if !strings.Contains(out, field) {
			t.Errorf("the list for scripts lacks %s: %s", field, out)
		}
	}
	if out, _ := do(exitOK, "block list"); !strings.Contains(out, "resells") || !strings.Contains(out, "ada") {
		t.Errorf("the list: %s", out)
	}
	if _, errOut := do(exitFailed, "block add --user 7"); !strings.Contains(errOut, "blocked already, by number 1") {
		t.Errorf("the same again: %s", errOut)
	}
	if out, _ := do(exitOK, "block remove 1 --json"); strings.Join(strings.Fields(out), "") != "[1]" {
		t.Errorf("a removal: %s", out)
	}
	if _, errOut := do(exitFailed, "block remove 1"); !strings.Contains(errOut, "no block in force has the number 1") {
		t.Errorf("removed twice: %s", errOut)
	}
}
