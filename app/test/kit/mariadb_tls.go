package kit

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// StartEncryptedMariaDB starts a private MariaDB that offers TLS 1.2 or newer. It returns the server's self-signed
// certificate for 127.0.0.1 as PEM.
func StartEncryptedMariaDB(t testing.TB) (server *MariaDBServer, certificate string) {
	t.Helper()
	c := NewCertificate(t)
	settings := fmt.Sprintf("%s\n[mysqld]\nssl_cert = %s\nssl_key = %s\ntls_version = TLSv1.2,TLSv1.3\n",
		mariadbConf, c.Cert, c.Key)
	conf := filepath.Join(t.TempDir(), "my.cnf")
	if err := os.WriteFile(conf, []byte(settings), 0o600); err != nil {
		t.Fatal(err)
	}
	return StartMariaDB(t, MariaDBOptions{Conf: conf}), c.PEM(t)
}
