package server

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"stampede/app/alipay/rsa2"
	"stampede/app/alipay/sim"
)

// alipayKeys returns the private key of the shop and the public key of the gateway in the format of the variables.
func alipayKeys(t *testing.T) (private, public string) {
	t.Helper()
	var keys [2]*rsa.PrivateKey // of the shop, of the gateway
	for i := range keys {
		var err error
		if keys[i], err = rsa.GenerateKey(rand.Reader, 2048); err != nil {
			t.Fatal(err)
		}
	}
	der, err := x509.MarshalPKIXPublicKey(&keys[1].PublicKey)
	if err != nil {
		t.Fatal(err)
	}
	own := x509.MarshalPKCS1PrivateKey(keys[0])
	return base64.StdEncoding.EncodeToString(own), base64.StdEncoding.EncodeToString(der)
}

// publicKeyOf returns the public key of a private key.
func publicKeyOf(t *testing.T, private string) string {
	t.Helper()
	key, err := rsa2.ParsePrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return base64.StdEncoding.EncodeToString(x509.MarshalPKCS1PublicKey(&key.PublicKey))
}

// TestKeysAreReadAsPeopleWriteThem: environment files and secret stores change the line breaks of a key.
func TestKeysAreReadAsPeopleWriteThem(t *testing.T) {
	t.Parallel()
	private, public := alipayKeys(t)
	inPEM := func(kind, key string) string {
		der, err := base64.StdEncoding.DecodeString(key)
		if err != nil {
			t.Fatal(err)
		}
		return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
	}
	private = inPEM("RSA PRIVATE KEY", private)
	for name, change := range map[string]func(string) string{
		"PEM":           func(text string) string { return text },
		"one line":      func(text string) string { return strings.ReplaceAll(text, "\n", " ") },
		"literal \\n":   func(text string) string { return strings.ReplaceAll(text, "\n", `\n`) },
		"Windows":       func(text string) string { return "\ufeff" + strings.ReplaceAll(text, "\n", "\r\n") },
		"no line break": func(text string) string { return strings.ReplaceAll(text, "\n", "") },
	} {
		for _, environ := range [][]string{
			{"STAMPEDE_ALIPAY_PRIVATE_KEY=" + change(private), "STAMPEDE_ALIPAY_PUBLIC_KEY=" + change(inPEM("PUBLIC KEY", public))},
			{"STAMPEDE_ALIPAY_PRIVATE_KEY_FILE=" + secretFile(t, change(private), 0o400), "STAMPEDE_ALIPAY_PUBLIC_KEY=" + public},
		} {
			c, err := Load(append(environ, "STAMPEDE_ALIPAY_APP_ID=2021000000000001"))
			if err != nil {
				t.Errorf("%s: got %v, want no error", name, err)
			} else if gateway, err := c.gateway(); err != nil || gateway == nil {
				t.Errorf("%s: got gateway %v, %v, want a gateway", name, gateway, err)
			}
		}
	}
	certificates, err := os.ReadFile(filepath.Join("testdata", "ca.pem"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Load([]string{
		"STAMPEDE_REDIS_URL=rediss://127.0.0.1", "STAMPEDE_MYSQL_DSN=u:p@tcp(db:3306)/shop?tls=true", "STAMPEDE_JWT_SECRET=" + goodSecret,
		"STAMPEDE_REDIS_CA=" + strings.ReplaceAll(string(certificates), "\n", `\n`),
		"STAMPEDE_MYSQL_CA=" + strings.ReplaceAll(string(certificates), "\n", " "),
	}); err != nil {
		t.Errorf("certificates in one line: got %v, want no error", err)
	}
}

// TestAlipayWarningsNameMissingVariables: production, sandbox and simulator differ only in configuration. Warnings name
// variables that are probably missing. The simulator has a single seller, so it needs no seller id.
func TestAlipayWarningsNameMissingVariables(t *testing.T) {
	t.Parallel()
	if c, err := Load(nil); err != nil {
		t.Fatal(err)
	} else if gateway, err := c.gateway(); err != nil || gateway != nil {
		t.Errorf("without settings: got gateway %v, %v, want none", gateway, err)
	}
	private, public := alipayKeys(t)
	keys := []string{
		"ALIPAY_APP_ID=2021000000000001", "ALIPAY_PRIVATE_KEY_FILE=" + secretFile(t, private+"\n", 0o600),
		"ALIPAY_PUBLIC_KEY=" + public,
	}
	const notify = "ALIPAY_NOTIFY_URL=https://shop.example/api/v1/payments/alipay/notify"
	const sandbox = "ALIPAY_GATEWAY=https://openapi-sandbox.dl.alipaydev.com/gateway.do"
	for name, c := range map[string]struct {
		more []string
		want string
	}{
		"everything set":        {[]string{notify, "ALIPAY_SELLER_ID=2088000000000001"}, "[]"},
		"no seller id":          {[]string{notify}, "[ALIPAY_SELLER_ID]"},
		"sandbox, no seller id": {[]string{notify, sandbox}, "[ALIPAY_SELLER_ID]"},
		"no notify URL":         {[]string{"ALIPAY_SELLER_ID=2088000000000001"}, "[ALIPAY_NOTIFY_URL]"},
		"a simulator":           {[]string{"ALIPAY_GATEWAY=http://127.0.0.1:8091/gateway.do", "ALIPAY_SIMULATOR=true"}, "[ALIPAY_SIMULATOR]"},
	} {
		var environ []string
		for _, line := range slices.Concat(keys, c.more) {
			environ = append(environ, prefix+line)
		}
		config, err := Load(environ)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if gateway, err := config.gateway(); err != nil || gateway == nil {
			t.Errorf("%s: got gateway %v, %v, want a gateway", name, gateway, err)
		}
		named := []string{}
		for _, w := range config.Warnings() {
			named = append(named, strings.TrimPrefix(w.Variable, prefix))
		}
		if got := fmt.Sprint(named); got != c.want {
			t.Errorf("%s: got warnings about %s, want %s", name, got, c.want)
		}
	}
}

// TestInvalidAlipaySettingsNameTheVariable: invalid keys and addresses prevent the start. The error names the variable
// and shows no key.
func TestInvalidAlipaySettingsNameTheVariable(t *testing.T) {
	t.Parallel()
	private, public := alipayKeys(t)
	good := map[string]string{"APP_ID": "2021000000000001", "PRIVATE_KEY": private, "PUBLIC_KEY": public}
	for name, c := range map[string]struct {
		change  map[string]string
		names   string
		message string
	}{
		"no app id":                       {map[string]string{"APP_ID": ""}, "APP_ID", "set it too"},
		"no private key":                  {map[string]string{"PRIVATE_KEY": ""}, "PRIVATE_KEY", "is not set"},
		"a wrong private key":             {map[string]string{"PRIVATE_KEY": public}, "PRIVATE_KEY", "not a private key"},
		"a wrong public key":              {map[string]string{"PUBLIC_KEY": "nonsense"}, "PUBLIC_KEY", "cannot be used"},
		"the shop's own public key":       {map[string]string{"PUBLIC_KEY": publicKeyOf(t, private)}, "PUBLIC_KEY", "private key of the shop"},
		"no public key, no certificates":  {map[string]string{"PUBLIC_KEY": ""}, "PUBLIC_KEY", "is not set"},
		"a public key and a certificate":  {map[string]string{"CERT": "x"}, "PUBLIC_KEY", "together"},
		"only one of three certificates":  {map[string]string{"PUBLIC_KEY": "", "CERT": "x"}, "APP_CERT", "no PEM certificate"},
		"simulator, not set as simulator": {map[string]string{"GATEWAY": "http://127.0.0.1:8091/gateway.do"}, "GATEWAY", "SIMULATOR=true"},
		"a host similar to Alipay's":      {map[string]string{"GATEWAY": "https://openapi.alipay.com.evil.example/"}, "GATEWAY", "not Alipay's"},
		"real gateway, set as simulator":  {map[string]string{"SIMULATOR": "true"}, "SIMULATOR", "real money"},
		"an address without a scheme":     {map[string]string{"NOTIFY_URL": "shop.example/notify"}, "NOTIFY_URL", "complete address"},
		"timeout too short":               {map[string]string{"TIMEOUT": "1ms"}, "TIMEOUT", "want 100ms"},
	} {
		var environ []string
		for variable, value := range good {
			if _, changed := c.change[variable]; !changed {
				environ = append(environ, "STAMPEDE_ALIPAY_"+variable+"="+value)
			}
		}
		for variable, value := range c.change {
			environ = append(environ, "STAMPEDE_ALIPAY_"+variable+"="+value)
		}
		_, err := Load(environ)
		var configErr *ConfigError
		if !errors.As(err, &configErr) || len(configErr.Problems) != 1 {
			t.Errorf("%s: got %v, want a ConfigError with one problem", name, err)
			continue
		}
		p := configErr.Problems[0]
		if p.Variable != "STAMPEDE_ALIPAY_"+c.names || !strings.Contains(p.Message, c.message) ||
			strings.Contains(err.Error(), private) {
			t.Errorf("%s: got %+v, want STAMPEDE_ALIPAY_%s and %q", name, p, c.names, c.message)
		}
	}
}

// C4: checkconfig calls both lists of the gateway and names the permission that the account lacks.
func TestMissingPermissionForAListIsNamed(t *testing.T) {
	t.Parallel()
	keys, err := sim.NewKeys()
	if err != nil {
		t.Fatal(err)
	}
	simulator, err := sim.New(sim.Options{Keys: keys})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(simulator.Close)
	gateway := httptest.NewServer(simulator)
	t.Cleanup(gateway.Close)
	private, public, err := keys.PEM()
	if err != nil {
		t.Fatal(err)
	}
	tools := &Tools{config: Config{
		AlipayGateway: gateway.URL + "/gateway.do", AlipayAppID: keys.AppID, AlipaySellerID: keys.SellerID,
		AlipayPrivateKey: Secret(private), AlipayPublicKey: Secret(public),
	}}
	if weak := tools.CheckGateway(t.Context()); len(weak) > 0 {
		t.Errorf("with all permissions: got %+v, want nothing", weak)
	}
	for _, method := range []string{"alipay.data.bill.sell.query", "alipay.data.bill.accountlog.query"} {
		fault, err := simulator.Inject(sim.Fault{Kind: sim.NotPermitted, Method: method, Times: 1})
		weak := tools.CheckGateway(t.Context())
		if err != nil || len(weak) != 1 || !strings.Contains(weak[0].Message, method) {
			t.Errorf("without the permission of %v (%v): got %+v, want its name", fault, err, weak)
		}
	}
}
