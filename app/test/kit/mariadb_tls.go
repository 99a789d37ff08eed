package kit

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// StartEncryptedMariaDB starts a private MariaDB that speaks TLS 1.2 or newer to whoever asks for it, with a
// certificate for 127.0.0.1 that signed itself; certificate is that one, PEM.
func StartEncryptedMariaDB(t testing.TB) (server *MariaDBServer, certificate string) {
	t.Helper()
	dir := t.TempDir()
	if _, err := certify(dir); err != nil {
		t.Fatalf("kit: certificate: %v", err)
	}
	pem, err := os.ReadFile(filepath.Join(dir, "cert.pem"))
	if err != nil {
		t.Fatal(err)
	}
	settings := fmt.Sprintf("%s\n[mysqld]\nssl_cert = %[2]s/cert.pem\nssl_key = %[2]s/key.pem\ntls_version = TLSv1.2,TLSv1.3\n",
		mariadbConf, dir)
	conf := filepath.Join(dir, "my.cnf")
	if err := os.WriteFile(conf, []byte(settings), 0o600); err != nil {
		t.Fatal(err)
	}
	return StartMariaDB(t, MariaDBOptions{Conf: conf}), string(pem)
}
