package main

import (
	"strings"
	"testing"

	"stampede/app/test/kit"
)

// TestCheckconfigDetectsUnusableStores: checkconfig must not return 0 if serve or migrate would fail.
func TestCheckconfigDetectsUnusableStores(t *testing.T) {
	t.Parallel()
	dsn := kit.MySQL(t)
	environ := func(dsn string) []string {
		return []string{
			"STAMPEDE_REDIS_URL=" + kit.Redis(t), "STAMPEDE_MYSQL_DSN=" + dsn,
			"STAMPEDE_JWT_SECRET=" + strings.Repeat("s", 32),
		}
	}
	const all = "both stores respond and have everything that the program needs"
	code, out, errOut := runCommand(t, environ(dsn), "checkconfig")
	if code != exitOK || !strings.Contains(out, "the database lacks 10 migrations") || !strings.Contains(out, all) {
		t.Errorf("complete stores: got code %d, want 0\n%s%s", code, out, errOut)
	}
	code, out, errOut = runCommand(t, environ(kit.Account(t, dsn, "SELECT")), "checkconfig")
	if code != exitAudit || !strings.Contains(out, "does not work: MySQL: make tables (CREATE)") {
		t.Errorf("an account that cannot migrate: got code %d, want %d\n%s%s", code, exitAudit, out, errOut)
	}
	if code, out, errOut := runCommand(t, environ(dsn), "migrate", "up"); code != exitOK {
		t.Fatalf("migrate: code %d\n%s%s", code, out, errOut)
	}
	node := environ(kit.Account(t, dsn, "SELECT, INSERT, UPDATE, DELETE"))
	code, out, errOut = runCommand(t, node, "checkconfig")
	if code != exitOK || strings.Contains(out, "migrations") || !strings.Contains(out, all) {
		t.Errorf("an account that reads and writes rows: got code %d, want 0\n%s%s", code, out, errOut)
	}
}
