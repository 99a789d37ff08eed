package kit

import (
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"
)

// Account creates a user of the test database with exactly the given privileges ("SELECT, INSERT, UPDATE, DELETE") and
// returns its DSN. The user is dropped when the test ends.
func Account(t testing.TB, dsn, privileges string) string {
	t.Helper()
	cfg, err := mysql.ParseDSN(dsn)
	if err != nil {
		t.Fatalf("kit: %v", err)
	}
	name := "user_" + strings.ToLower(rand.Text()[:12])
	err = execOn(dsn, "CREATE USER "+name+"@'%' IDENTIFIED BY 'secret'",
		"GRANT "+privileges+" ON "+cfg.DBName+".* TO "+name+"@'%'")
	if err != nil {
		t.Fatalf("kit: make an account: %v", err)
	}
	t.Cleanup(func() {
		if err := execOn(dsn, "DROP USER "+name+"@'%'"); err != nil {
			t.Errorf("kit: drop the account: %v", err)
		}
	})
	cfg.User, cfg.Passwd = name, "secret"
	return cfg.FormatDSN()
}

// Kill closes one connection on the server of the DSN. To its client this looks like a lost network connection.
func Kill(t testing.TB, dsn string, connection int64) {
	t.Helper()
	if err := execOn(dsn, fmt.Sprintf("KILL %d", connection)); err != nil {
		t.Errorf("kit: kill connection %d: %v", connection, err)
	}
}

// ShippedACL sets the password in a copy of deploy/redis.acl. It returns the path of the copy, which Redis can include,
// and its text.
func ShippedACL(t testing.TB, password string) (file, text string) {
	t.Helper()
	shipped, err := os.ReadFile("../../../deploy/redis.acl")
	if err == nil {
		file, text = filepath.Join(t.TempDir(), "redis.acl"), strings.ReplaceAll(string(shipped), "CHANGE-ME", password)
		err = os.WriteFile(file, []byte(text), 0o600)
	}
	if err != nil {
		t.Fatalf("kit: %v", err)
	}
	return file, text
}
