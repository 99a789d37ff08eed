package rsa2

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"math/big"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"
)

var testKey = sync.OnceValue(func() *rsa.PrivateKey {
	key, err := rsa.GenerateKey(rand.Reader, MinBits)
	if err != nil {
		panic(err)
	}
	return key
})

func TestCanonicalSortsAndDoesNotEscape(t *testing.T) {
	t.Parallel()
	got := Canonical(url.Values{"b": {"2 &=+"}, "a": {"水"}, "empty": {""}, "sign": {"x"}}, Sign)
	if want := "a=水&b=2 &=+&empty="; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// A signature is valid only for its text, its key and its kind.
func TestSignatureIsBoundToTextAndKind(t *testing.T) {
	t.Parallel()
	key := testKey()
	request := url.Values{"app_id": {"1"}, "sign_type": {"RSA2"}, "subject": {"水壶 & more"}}
	if err := SignRequest(key, request); err != nil {
		t.Fatal(err)
	}
	if err := VerifyRequest(&key.PublicKey, request); err != nil {
		t.Errorf("a valid request: got %v, want no error", err)
	}
	if VerifyText(&key.PublicKey, Canonical(request, Sign, SignType, CertSN), request.Get(Sign)) == nil {
		t.Error("the signature of a request was accepted for a notification; only a request signs sign_type")
	}
	for name, change := range map[string]func(url.Values){
		"another value":    func(v url.Values) { v.Set("app_id", "2") },
		"one field more":   func(v url.Values) { v.Set("extra", "") },
		"one field less":   func(v url.Values) { v.Del("subject") },
		"no signature":     func(v url.Values) { v.Del(Sign) },
		"no base64":        func(v url.Values) { v.Set(Sign, "?") },
		"half a signature": func(v url.Values) { v.Set(Sign, v.Get(Sign)[:100]) },
	} {
		forged := url.Values{}
		for k, v := range request {
			forged[k] = append([]string(nil), v...)
		}
		change(forged)
		if VerifyRequest(&key.PublicKey, forged) == nil {
			t.Errorf("%s: the signature was accepted", name)
		}
	}
}

func TestKeysParseInEveryForm(t *testing.T) {
	t.Parallel()
	key := testKey()
	pkcs8, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	pkcs1 := x509.MarshalPKCS1PrivateKey(key)
	for name, text := range map[string]string{
		"PKCS #8 PEM":     string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: pkcs8})),
		"PKCS #1 PEM":     string(pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: pkcs1})),
		"PKCS #8 base64":  base64.StdEncoding.EncodeToString(pkcs8),
		"base64 in lines": strings.Join(strings.SplitAfterN(base64.StdEncoding.EncodeToString(pkcs1), "A", 5), "\n"),
	} {
		if got, err := ParsePrivateKey(text); err != nil || !got.Equal(key) {
			t.Errorf("%s: got %v, want the key", name, err)
		}
	}
	public, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	if err != nil {
		t.Fatal(err)
	}
	for name, der := range map[string][]byte{"PKIX": public, "PKCS #1": x509.MarshalPKCS1PublicKey(&key.PublicKey)} {
		got, err := ParsePublicKey(base64.StdEncoding.EncodeToString(der))
		if err != nil || !got.Equal(&key.PublicKey) {
			t.Errorf("public key in %s: got %v, want the key", name, err)
		}
	}
}

func TestInvalidKeysReturnReason(t *testing.T) {
	t.Parallel()
	short, err := rsa.GenerateKey(rand.Reader, 1024)
	if err != nil {
		t.Fatal(err)
	}
	curve, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	other, err := x509.MarshalPKCS8PrivateKey(curve)
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		"":         "neither PEM nor base64",
		"not here": "neither PEM nor base64",
		"YWJj":     "not a private key",
		base64.StdEncoding.EncodeToString(x509.MarshalPKCS1PrivateKey(short)):                            "1024 bits",
		base64.StdEncoding.EncodeToString(other):                                                         "needs an RSA key",
		"-----BEGIN ENCRYPTED PRIVATE KEY-----\nYWJj\n-----END ENCRYPTED PRIVATE KEY-----":               "openssl pkey",
		"-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n\nYWJj\n-----END RSA PRIVATE KEY-----": "openssl pkey",
		"-----BEGIN PUBLIC KEY-----\nYWJj\n-----END PUBLIC KEY-----":                                     "it is a public key",
	} {
		if _, err := ParsePrivateKey(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: got %v, want %q", text, err, want)
		}
	}
	const certificate = "-----BEGIN CERTIFICATE-----\nYWJj\n-----END CERTIFICATE-----"
	if _, err := ParsePublicKey(certificate); err == nil || !strings.Contains(err.Error(), "it is a certificate") {
		t.Errorf("a certificate as a public key: got %v, want an error that names it", err)
	}
}

func TestRootSerialNumberIgnoresNonRSA(t *testing.T) {
	t.Parallel()
	key := testKey()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(42), Subject: pkix.Name{CommonName: "root", Country: []string{"CN"}},
		NotBefore: time.Unix(0, 0), NotAfter: time.Unix(1<<32, 0), IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	text := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
	unreadable := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: []byte("of another kind")}))
	cert, err := ParseCertificate(text)
	if err != nil {
		t.Fatal(err)
	}
	one := SerialNumber(cert)
	if got, err := RootSerialNumber(text + unreadable + text); err != nil || got != one+"_"+one {
		t.Errorf("got %s, %v; want %s twice", got, err, one)
	}
	if _, err := RootSerialNumber(unreadable); err == nil {
		t.Error("a bundle without RSA certificates was accepted")
	}
}
