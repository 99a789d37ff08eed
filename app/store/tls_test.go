package store_test

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"strings"
	"testing"

	"stampede/app/shop"
	"stampede/app/store"
	"stampede/app/test/kit"
)

// The client verifies a TLS server against the given certificates before it sends a password. An account that requires
// TLS is rejected at once without it, instead of being retried.
func TestMySQLClientVerifiesTheServer(t *testing.T) {
	t.Parallel()
	ctx := kit.Context(t)
	server, certificate := kit.StartEncryptedMariaDB(t)
	dsn := server.Database()
	root := openMySQL(t, dsn)
	migrated(t, root)
	for _, statement := range []string{
		"CREATE USER shop@'%' IDENTIFIED BY 'secret' REQUIRE SSL", "GRANT ALL ON *.* TO shop@'%'",
	} {
		must(t, errOf(root.DB().ExecContext(ctx, statement)))
	}
	dsnOfShop := strings.Replace(dsn, "root@", "shop:secret@", 1)

	s, err := store.OpenTrustedMySQL(ctx, dsnOfShop+"?tls=true", certificate)
	must(t, err)
	defer func() { must(t, s.Close()) }()
	must(t, s.Partitions().EnsurePartitions(ctx, 2))
	var name, version string
	must(t, s.DB().QueryRowContext(ctx, "SHOW SESSION STATUS LIKE 'Ssl_version'").Scan(&name, &version))
	if version != "TLSv1.3" {
		t.Errorf("got the TLS version %q", version)
	}

	_, err = store.OpenMySQL(ctx, dsnOfShop+"?tls=true")
	var certificateErr *tls.CertificateVerificationError
	if !errors.As(err, &certificateErr) || !errors.Is(err, shop.ErrMisconfigured) {
		t.Errorf("a server with an untrusted certificate: got error %v", err)
	}
	otherHostDSN := strings.Replace(dsnOfShop, "127.0.0.1", "localhost", 1)
	var hostnameErr x509.HostnameError
	if _, err = store.OpenTrustedMySQL(ctx, otherHostDSN+"?tls=true", certificate); !errors.As(err, &hostnameErr) {
		t.Errorf("a certificate for another name: got error %v", err)
	}
	if _, err = store.OpenMySQL(ctx, dsnOfShop); !errors.Is(err, shop.ErrMisconfigured) {
		t.Errorf("without TLS: got error %v, want ErrMisconfigured", err)
	}
	for _, weak := range []string{"", "?tls=skip-verify", "?tls=preferred"} {
		if _, err = store.OpenTrustedMySQL(ctx, dsnOfShop+weak, certificate); err == nil {
			t.Errorf("certificates are set with %q in the DSN: got no error", weak)
		}
	}
	if _, err = store.OpenTrustedMySQL(ctx, dsnOfShop+"?tls=true", "nonsense"); err == nil {
		t.Error("an invalid certificate text: got no error")
	}
}
