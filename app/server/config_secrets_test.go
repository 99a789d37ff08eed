package server

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// secretFile writes the content to a new file with the mode.
func secretFile(t *testing.T, content string, mode os.FileMode) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil { // Chmod is independent of the umask
		t.Fatal(err)
	}
	return path
}

// TestEverySecretCanComeFromAFile: files may end with any line break, and the content is never shown.
func TestEverySecretCanComeFromAFile(t *testing.T) {
	t.Parallel()
	found := 0
	for _, v := range Variables() {
		if !v.Secret {
			continue
		}
		found++
		t.Run(v.Name, func(t *testing.T) {
			t.Parallel()
			const secret = "never-shown-0123456789-0123456789-0123456789"
			for _, end := range []string{"", "\n", "\r\n"} {
				// Most values are invalid for their variable: the test covers only the reading of files.
				var p problems
				vars := map[string]string{strings.TrimPrefix(v.Name, prefix) + "_FILE": secretFile(t, secret+end, 0o400)}
				readSecretFiles(vars, variablesByName(), &p)
				if got := vars[strings.TrimPrefix(v.Name, prefix)]; got != secret || len(vars) != 1 || p.found != nil {
					t.Errorf("file that ends with %q: got variables %v and problems %v, want the secret and no problem", end, vars, p.found)
				}
			}
			if _, err := Load([]string{v.Name + "_FILE=" + secretFile(t, secret, 0o400)}); err != nil &&
				strings.Contains(err.Error(), secret) {
				t.Errorf("the error shows the secret: %v", err)
			}
			var c Config
			reflect.ValueOf(&c).Elem().FieldByName(v.field).SetString(secret)
			if shown := fmt.Sprintf("%v %+v %v", c, c, c.Settings()); strings.Contains(shown, secret) {
				t.Error("the configuration shows the secret")
			}
		})
	}
	if found < 10 {
		t.Errorf("got %d secrets, want at least 10", found)
	}
}

// TestInvalidSecretFilesAreReportedWithoutContent: errors name the variable and do not show the content of the file.
func TestInvalidSecretFilesAreReportedWithoutContent(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ path, want string }{
		"absent file":  {filepath.Join(t.TempDir(), "absent"), "no such file"},
		"a folder":     {t.TempDir(), "is a directory"},
		"empty file":   {secretFile(t, "\r\n", 0o400), "empty file"},
		"endless file": {"/dev/zero", "longer than 1 MiB"},
		"no text":      {secretFile(t, goodSecret+"\x00", 0o400), "not text"},
	} {
		_, err := Load([]string{"STAMPEDE_JWT_SECRET_FILE=" + c.path})
		if err == nil || !strings.Contains(err.Error(), "STAMPEDE_JWT_SECRET_FILE") || !strings.Contains(err.Error(), c.want) ||
			strings.Contains(err.Error(), goodSecret) {
			t.Errorf("%s: got %v, want %q and no content", name, err, c.want)
		}
	}
	path := secretFile(t, goodSecret, 0o400)
	_, err := Load([]string{"STAMPEDE_JWT_SECRET_FILE=" + path, "STAMPEDE_JWT_SECRET=" + goodSecret})
	if err == nil || !strings.Contains(err.Error(), "is set together with STAMPEDE_JWT_SECRET") {
		t.Errorf("variable and file: got %v, want an error about both", err)
	}
	if _, err := Load([]string{"STAMPEDE_LISTEN_FILE=" + path}); err == nil || !strings.Contains(err.Error(), "_FILE") {
		t.Errorf("a _FILE variable of a setting that is not secret: got %v, want an error", err)
	}
	if c, err := Load([]string{"STAMPEDE_JWT_SECRET_FILE=" + path}); err != nil || string(c.JWTSecret) != goodSecret ||
		strings.Contains(c.JWTSecret.String(), goodSecret) {
		t.Errorf("the secret was not read, or the output shows it: %s, %v", c.JWTSecret, err)
	}
}

// TestPublicSecretFilesAreReported: serve and checkconfig report secrets that every user of the machine can read or
// write. Certificates and public keys are not secrets.
func TestPublicSecretFilesAreReported(t *testing.T) {
	t.Parallel()
	for mode, exposed := range map[os.FileMode]bool{
		0o400: false, 0o600: false, 0o440: false, 0o640: false, 0o444: true, 0o644: true, 0o602: true,
	} {
		path := secretFile(t, goodSecret, mode)
		c, err := Load([]string{"STAMPEDE_JWT_SECRET_FILE=" + path})
		if err != nil {
			t.Fatal(err)
		}
		warned := fmt.Sprint(c.Warnings())
		if strings.Contains(warned, "STAMPEDE_JWT_SECRET_FILE names a file that all users") != exposed ||
			strings.Contains(warned, path) != exposed {
			t.Errorf("secret file with mode %04o: got warnings %s, want one: %v", mode, warned, exposed)
		}
	}
	for mode, exposed := range map[os.FileMode]bool{0o700: false, 0o750: false, 0o755: true, 0o701: true} {
		data := t.TempDir()
		if err := os.Chmod(data, mode); err != nil {
			t.Fatal(err)
		}
		c, err := Load([]string{"STAMPEDE_DATA=" + data})
		warned := fmt.Sprint(c.Warnings())
		if err != nil || strings.Contains(warned, "STAMPEDE_DATA is a folder") != exposed {
			t.Errorf("data folder with mode %04o: got warnings %s, %v, want one: %v", mode, warned, err, exposed)
		}
	}
	var p problems
	public := map[string]string{"MYSQL_CA_FILE": secretFile(t, "-----BEGIN CERTIFICATE-----", 0o644)}
	if warned := readSecretFiles(public, variablesByName(), &p); warned != nil || p.found != nil {
		t.Errorf("certificate: got warnings %v, problems %v, want none", warned, p.found)
	}
}

// TestLinkInAnEMailNeedsThePublicAddress: a command of an operator on another machine than the nodes must not send a
// link to its own machine.
func TestLinkInAnEMailNeedsThePublicAddress(t *testing.T) {
	t.Parallel()
	tools := &Tools{config: Config{RedisURL: "redis://127.0.0.1", MySQLDSN: "u:p@tcp(127.0.0.1)/shop"}}
	_, err := tools.AddUser(t.Context(), NewUser{Email: "x@shop.example"})
	if err == nil || !strings.Contains(err.Error(), "STAMPEDE_PUBLIC_URL is not set") {
		t.Errorf("got %v, want an error about STAMPEDE_PUBLIC_URL", err)
	}
}

func TestTrivialSecretsAndOpenProxiesAreReported(t *testing.T) {
	t.Parallel()
	const trivial, open, public = "STAMPEDE_JWT_SECRET can be guessed", "lets clients choose", "profiles show the memory"
	for setting, want := range map[string]string{
		"JWT_SECRET=" + goodSecret: "", "JWT_SECRET=" + strings.Repeat("a", 64): trivial,
		"JWT_SECRET=" + strings.Repeat("pZ4mQv9xK2tR7wLc", 3):      trivial,
		"JWT_SECRET=a-key-for-tests-only-0123456789abcdef":         trivial,
		"JWT_SECRET=Change-Me-pZ4mQv9xK2tR7wLcYd5NfB8sHj3":         trivial,
		"JWT_SECRET=9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b8": "",
		"TRUSTED_PROXIES=10.0.0.0/8, fc00::/7":                     "",
		"TRUSTED_PROXIES=127.0.0.1, 0.0.0.0/0":                     open,
		"TRUSTED_PROXIES=::/0":                                     open,
		"TRUSTED_PROXIES=128.0.0.0/1":                              open,
		"PROFILES=true":                                            "",
		"PROFILES=true\nSTAMPEDE_METRICS_LISTEN=:9090":             public,
	} {
		environ := append(strings.Split("STAMPEDE_"+setting, "\n"), "STAMPEDE_DATA="+t.TempDir())
		c, err := Load(environ)
		if err != nil {
			t.Fatal(err)
		}
		warned := ""
		for _, w := range c.Warnings() {
			if strings.Contains("STAMPEDE_JWT_SECRET STAMPEDE_TRUSTED_PROXIES STAMPEDE_PROFILES", w.Variable) {
				warned += w.Variable + " " + w.Message
			}
		}
		if (warned != "") != (want != "") || !strings.Contains(warned, want) {
			t.Errorf("%s: got warning %q, want %q", setting, warned, want)
		}
	}
}

// TestMySQLCertificatesRequireVerification: with configured certificates the DSN must enable TLS verification.
// Otherwise the program does not start.
func TestMySQLCertificatesRequireVerification(t *testing.T) {
	t.Parallel()
	certificate := "STAMPEDE_MYSQL_CA_FILE=" + filepath.Join("testdata", "ca.pem")
	environ := func(dsn string, more ...string) []string {
		return append([]string{
			"STAMPEDE_REDIS_URL=redis://127.0.0.1", "STAMPEDE_MYSQL_DSN=" + dsn, "STAMPEDE_JWT_SECRET=" + goodSecret,
		}, more...)
	}
	const dsn = "u:p@tcp(db:3306)/shop"
	c, err := Load(environ(dsn+"?tls=true", certificate))
	if err != nil || strings.Contains(fmt.Sprint(c.Warnings()), "MYSQL") {
		t.Errorf("got error %v and warnings %v, want none about MySQL", err, c.Warnings())
	}
	for _, weak := range []string{"", "?tls=skip-verify", "?tls=preferred", "?tls=false"} {
		if _, err := Load(environ(dsn+weak, certificate)); err == nil || !strings.Contains(err.Error(), "STAMPEDE_MYSQL_CA is set") {
			t.Errorf("DSN parameter %q with a certificate: got error %v, want `STAMPEDE_MYSQL_CA is set`", weak, err)
		}
	}
	if _, err := Load(environ(dsn+"?tls=true", "STAMPEDE_MYSQL_CA=nonsense")); err == nil ||
		!strings.Contains(err.Error(), "STAMPEDE_MYSQL_CA has no valid certificate") {
		t.Errorf("invalid certificate: got error %v, want an error about STAMPEDE_MYSQL_CA", err)
	}
	for _, weak := range []string{"skip-verify", "preferred"} {
		c, err := Load(environ(dsn + "?tls=" + weak))
		if err != nil || !strings.Contains(fmt.Sprint(c.Warnings()), "tls="+weak) {
			t.Errorf("tls=%s: got error %v and warnings %v, want a warning", weak, err, c.Warnings())
		}
	}
}

// TestMySQLReplicaNeedsAPrimary: a replica requires a primary, and its certificate is checked like the primary's.
func TestMySQLReplicaNeedsAPrimary(t *testing.T) {
	t.Parallel()
	with := func(settings ...string) []string {
		return append([]string{"STAMPEDE_REDIS_URL=redis://127.0.0.1", "STAMPEDE_JWT_SECRET=" + goodSecret}, settings...)
	}
	const database = "STAMPEDE_MYSQL_DSN=u:p@tcp(db:3306)/shop?tls=true"
	replica := func(dsn string) string { return "STAMPEDE_MYSQL_REPLICA_DSN=" + dsn }
	const dsn = "u:p@tcp(replica:3306)/shop"
	for name, c := range map[string]struct {
		environ []string
		want    string
	}{
		"replica without a primary": {with(replica(dsn)), "STAMPEDE_MYSQL_DSN is not"},
		"invalid DSN":               {with(database, replica("replica:3306")), "STAMPEDE_MYSQL_REPLICA_DSN"},
		"replica without TLS verification": {
			with(database, replica(dsn), "STAMPEDE_MYSQL_CA_FILE="+filepath.Join("testdata", "ca.pem")),
			"STAMPEDE_MYSQL_REPLICA_DSN does not end with ?tls=true",
		},
	} {
		if _, err := Load(c.environ); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got error %v, want %q", name, err, c.want)
		}
	}
	c, err := Load(with(database, replica(dsn+"?tls=skip-verify")))
	if err != nil || !strings.Contains(fmt.Sprint(c.Warnings()), "STAMPEDE_MYSQL_REPLICA_DSN") {
		t.Errorf("got error %v and warnings %v, want a warning about STAMPEDE_MYSQL_REPLICA_DSN", err, c.Warnings())
	}
}
