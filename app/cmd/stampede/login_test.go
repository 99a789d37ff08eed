package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestLoginSavesAndRenewsTheSession: the saved session is readable by its user only, an expired access token is
// renewed, and logout ends the session.
func TestLoginSavesAndRenewsTheSession(t *testing.T) {
	t.Parallel()
	environ := startServer(t)
	environ = slices.DeleteFunc(environ, func(line string) bool { return strings.HasPrefix(line, "STAMPEDE_TOKEN=") })
	runSteps(t, environ, []step{
		{"user add ada@shop.example --role admin --password", secret, exitOK, `added`},
		{"user list", "", exitFailed, `not logged in at http://127\.0\.0\.1:\d+: run stampede login`},
		{"login ada@shop.example", "wrong " + secret, exitFailed, `unauthorized`},
		{"login", "ada@shop.example\n" + secret + "\n", exitOK, `logged in at .* as ada@shop\.example, admin`},
		{"user list", "", exitOK, `ada@shop\.example`},
	})
	var file string
	for _, line := range environ {
		if folder, found := strings.CutPrefix(line, "XDG_CONFIG_HOME="); found {
			file = filepath.Join(folder, "stampede", "sessions.json")
		}
	}
	info, err := os.Stat(file)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("file of the sessions: got mode %v, %v, want 0600", info.Mode(), err)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	ended := strings.Replace(string(text), `"access":"`, `"access":"x`, 1)
	if err := os.WriteFile(file, []byte(ended), fs.FileMode(0o600)); err != nil {
		t.Fatal(err)
	}
	runSteps(t, environ, []step{
		{"user role ada@shop.example admin --note again", "", exitOK, `is admin`},
		{"user show ada@shop.example", "", exitOK, `stampede at `},
		{"logout", "", exitOK, `logged out`},
		{"user list", "", exitFailed, `not logged in`},
		{"logout", "", exitOK, `not logged in`},
	})
	if _, err := os.ReadFile(file); err != nil {
		t.Error(err)
	}
}
