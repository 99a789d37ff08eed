package server

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"stampede/app/demo"
	"stampede/app/limits"
)

const goodSecret = "pZ4mQv9xK2tR7wLcYd5NfB8sHj3GaUeT"

func TestLoadAppliesTheDefaults(t *testing.T) {
	t.Parallel()
	c, err := Load(nil)
	if err != nil {
		t.Fatal(err)
	}
	if !c.Embedded() || c.Listen != "127.0.0.1:8080" || c.PayWindow != 5*time.Minute || c.Partitions != 8 ||
		c.GuestLogin {
		t.Errorf("got %+v, want the default values", c)
	}
	if c.Roles != (Roles{API: true, Worker: true, Sweeper: true}) {
		t.Errorf("got roles %v, want all roles", c.Roles)
	}
	if len(c.Slots) != 8 || c.Slots[0] != (demo.Hours{Opens: 8 * time.Hour, Closes: 10 * time.Hour}) ||
		c.Slots[7].Closes != 24*time.Hour {
		t.Errorf("got slots %v, want 8 from 08:00 to 24:00", c.Slots)
	}
}

func TestLoadAcceptsRealStores(t *testing.T) {
	t.Parallel()
	c, err := Load([]string{
		"STAMPEDE_REDIS_URL=redis://:pw@127.0.0.1:6379/2", "STAMPEDE_MYSQL_DSN=u:p@tcp(127.0.0.1:3306)/shop",
		"STAMPEDE_JWT_SECRET=" + goodSecret, "STAMPEDE_TRUSTED_PROXIES=10.0.0.0/8, 127.0.0.1", "STAMPEDE_ROLES=api",
		"STAMPEDE_TEST_REDIS=redis://127.0.0.1:1", "STAMPEDE_TEST_STORES=mysql9+redis8",
		"PATH=/bin",
	})
	if err != nil {
		t.Fatal(err)
	}
	if c.Embedded() || c.Roles.Worker || c.Proxies.String() != "10.0.0.0/8,127.0.0.1/32" {
		t.Errorf("got %+v, want real stores, no worker and two proxies", c)
	}
}

// TestInvalidValuesNameTheVariable: the error names each invalid variable and its correction.
func TestInvalidValuesNameTheVariable(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"LISTEN=8080":                            "want host:port",
		"OTLP_ENDPOINT=127.0.0.1:4318":           "want http://",
		"OTLP_ENDPOINT=grpc://127.0.0.1:4317":    "want http://",
		"OTLP_ENDPOINT=http://me:pw@collector":   "without one",
		"OTLP_ENDPOINT=http://collector/?a=b":    "more than a path",
		"TRACE_RATIO=1.5":                        "want 0 to 1",
		"TRACE_RATIO=-0.1":                       "want 0 to 1",
		"TRACE_RATIO=NaN":                        "want 0 to 1",
		"TRACE_RATIO=often":                      "want a number",
		"LISTEN=shop.example:80":                 "want an IP address",
		"LISTEN=:99999":                          "port",
		"METRICS_LISTEN=127.0.0.1:8080":          "same address",
		"EMBEDDED_REDIS=0.0.0.0:6379":            "loopback only",
		"PAY_WINDOW=5":                           "want a number with a unit",
		"PAY_WINDOW=0s":                          "want 1s to",
		"PARTITIONS=eight":                       `"eight": want a whole number`,
		"PARTITIONS=0":                           "want 1 to 1024",
		"BACKLOG=-1":                             "want 1 to",
		"GUEST_LOGIN=maybe":                      "want true or false",
		"ROLES=api,cook":                         `"cook"`,
		"ROLES=,":                                "is empty",
		"SLOTS=08-07":                            "must open before it closes",
		"SLOTS=08-11,10":                         "before the next slot",
		"SLOTS=25":                               "want hours and minutes",
		"SLOTS=8:75":                             "want hours and minutes",
		"TIME_ZONE=Mars/Base":                    "want a name like",
		"ALLOWED_ORIGINS=https://a.example/path": "scheme and host only",
		"ALLOWED_ORIGINS=https://*.shop.example": "wildcards are not supported",
		"PUBLIC_URL=https://shop.example?x=1#y":  "scheme and host only",
		"PUBLIC_URL=capacitor://localhost":       "want http:// or https://",
		"MYSQL_DSN=mysql://u:p@db/shop":          "is a URL",
		"WEBHOOK_URL=https://u:hunter2@office":   "without them",
		"JWT_SECRET=" + goodSecret + "\r":        "carriage return",
		"JWT_SECRET=" + goodSecret + "\n":        "line break",
		"LISTEN= :8080":                          "begins or ends with a blank",
		"MYSQL_DSN='u:p@tcp(db)/shop'":           "is in quotes",
		"SERVICE_HOSTS=10.0.0.7":                 "is not a variable",
		"TRUSTED_PROXIES=proxy.example":          "want an IP address",
		"MAX_CONNS=0":                            "want 1 to",
		"LIMITS=lax":                             "want default or strict",
		"BUY_ALL_RATE=-1":                        "want 0 to",
		"OPS_BURST=0":                            "want 1 to",
		"LOG_LEVEL=loud":                         "want debug",
		"LOG_FORMAT=xml":                         "want text or json",
		"JWT_SECRET=short":                       "at least 32 bytes",
		"REDIS_URL=127.0.0.1:6379":               "want redis://",
		"REDIS_CA=nonsense":                      "has no TLS",
		"REDIS_REPLICAS=9":                       "want 0 to 5",
		"MYSQL_DSN=nonsense":                     "want user:password@tcp",
		"LISTN=:80":                              "did you mean STAMPEDE_LISTEN?",
		"UNRELATED_SETTING=red":                  "is not a variable",
	} {
		_, err := Load([]string{prefix + line})
		var configErr *ConfigError
		if !errors.As(err, &configErr) {
			t.Errorf("%s: got %v, want a ConfigError", line, err)
			continue
		}
		name, _, _ := strings.Cut(line, "=")
		found := false
		for _, p := range configErr.Problems {
			found = found || p.Variable == prefix+name && strings.Contains(p.Message, want)
		}
		if !found || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: got %v, want %q", line, err, want)
		}
	}
}

// TestAppOriginsAreAccepted: apps send an origin with the scheme of their web view.
func TestAppOriginsAreAccepted(t *testing.T) {
	t.Parallel()
	for _, origin := range []string{"capacitor://localhost", "ionic://localhost", "tauri://localhost", "http://localhost:3000"} {
		if c, err := Load([]string{"STAMPEDE_ALLOWED_ORIGINS=" + origin}); err != nil || c.Origins.String() != origin {
			t.Errorf("%s: got %s, %v; want it accepted", origin, c.Origins, err)
		}
	}
}

// TestKubernetesServiceVariablesAreIgnored: a Service named stampede adds such variables to each pod of its namespace.
func TestKubernetesServiceVariablesAreIgnored(t *testing.T) {
	t.Parallel()
	_, err := Load([]string{
		"STAMPEDE_SERVICE_HOST=10.0.0.7", "STAMPEDE_SERVICE_PORT=8080", "STAMPEDE_SERVICE_PORT_HTTP=8080",
		"STAMPEDE_PORT=tcp://10.0.0.7:8080", "STAMPEDE_PORT_8080_TCP_ADDR=10.0.0.7",
		"STAMPEDE_METRICS_SERVICE_HOST=10.0.0.8", "STAMPEDE_METRICS_PORT=tcp://10.0.0.8:9090",
	})
	if err != nil {
		t.Errorf("got %v, want no error", err)
	}
	if _, err := Load([]string{"STAMPEDE_SERVICE_HOST=10.0.0.7", "STAMPEDE_LISTN=:80"}); err == nil {
		t.Error("an unknown variable beside those of a Service was accepted")
	}
}

func TestSingleStoreSettingIsRejected(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"STAMPEDE_REDIS_URL=redis://127.0.0.1:6379":       "STAMPEDE_MYSQL_DSN is not set",
		"STAMPEDE_MYSQL_DSN=u:p@tcp(127.0.0.1:3306)/shop": "STAMPEDE_REDIS_URL is not set",
	} {
		_, err := Load([]string{line, "STAMPEDE_JWT_SECRET=" + goodSecret})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", line, err, want)
		}
	}
}

func TestLoadReportsAllProblemsTogether(t *testing.T) {
	t.Parallel()
	_, err := Load([]string{
		"STAMPEDE_LISTEN=x", "STAMPEDE_PARTITIONS=x", "STAMPEDE_PAY_WINDOW=x",
		"STAMPEDE_REDIS_URL=redis://127.0.0.1:6379",
	})
	var configErr *ConfigError
	if !errors.As(err, &configErr) {
		t.Fatal(err)
	}
	var named []string
	for _, p := range configErr.Problems {
		named = append(named, strings.TrimPrefix(p.Variable, prefix))
	}
	const want = "[JWT_SECRET LISTEN MYSQL_DSN PARTITIONS PAY_WINDOW]"
	if got := fmt.Sprint(named); got != want {
		t.Errorf("got problems of %s, want %s", got, want)
	}
}

func TestEveryVariableHasADescription(t *testing.T) {
	t.Parallel()
	for _, v := range Variables() {
		if v.Description == "" || v.Name == prefix {
			t.Errorf("variable without a name or a description: %+v", v)
		}
	}
}

func TestSlotTimesAreParsed(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"08":                "08:00-10:00",
		"8,9":               "08:00-09:00,09:00-11:00",
		"08:30-09,22-00":    "08:30-09:00,22:00-24:00",
		"23":                "23:00-24:00",
		" 10 - 11 , 11-12 ": "10:00-11:00,11:00-12:00",
	} {
		var s SlotTimes
		if err := s.UnmarshalText([]byte(in)); err != nil || s.String() != want {
			t.Errorf("%q: got %v, %v, want %s", in, s, err, want)
		}
	}
}

// TestVariablesOverrideTheLimitPreset: the preset strict applies the values of the tag strict. A variable that is set
// overrides the preset.
func TestVariablesOverrideTheLimitPreset(t *testing.T) {
	t.Parallel()
	load := func(lines ...string) Config {
		t.Helper()
		c, err := Load(lines)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	defaults, strict := load(), load("STAMPEDE_LIMITS=strict")
	if defaults.BuyRate != 100 || defaults.BuyUserRate != 5 || defaults.BuyAllRate != 100_000 {
		t.Errorf("preset default: got %+v, want 100, 5 and 100000 buys per second", defaults.classes()[limits.Buy])
	}
	if strict.BuyAllRate != 1000 || strict.BuyRate != 10 || strict.BuyUserRate != 1 || strict.BuyUserBurst != 1 {
		t.Errorf("preset strict: got %+v, want 10, 1 and 1000 buys per second", strict.classes()[limits.Buy])
	}
	overridden := load("STAMPEDE_LIMITS=strict", "STAMPEDE_BUY_RATE=77", "STAMPEDE_BUY_USER_RATE=0")
	if overridden.BuyRate != 77 || overridden.BuyUserRate != 0 || overridden.BuyAllRate != 1000 {
		t.Errorf("preset strict with overrides: got %+v, want 77, 0 and 1000 buys per second", overridden.classes()[limits.Buy])
	}
	strictValues := 0
	for _, v := range Variables() {
		if v.Strict != "" {
			strictValues++
			if v.Strict == v.Default {
				t.Errorf("%s is no stricter in the preset strict", v.Name)
			}
		}
	}
	if strictValues < 14 {
		t.Errorf("the preset strict sets %d values, want at least 14", strictValues)
	}
}
