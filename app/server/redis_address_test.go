package server

import (
	"strings"
	"testing"
)

// TestParseRedisURLReadsEveryForm covers every form of STAMPEDE_REDIS_URL.
func TestParseRedisURLReadsEveryForm(t *testing.T) {
	t.Parallel()
	parse := func(text string) redisAddress {
		t.Helper()
		a, err := parseRedisURL(text)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		return a
	}
	if a := parse("rediss://shop:secret@10.0.0.5:6380/3"); a.hostsText() != "10.0.0.5:6380" || a.DB != 3 ||
		a.TLSConfig == nil {
		t.Errorf("one server with TLS: got address %+v", a)
	}
	if a := parse("unix:///run/redis.sock?db=2"); a.hostsText() != "/run/redis.sock" || a.DB != 2 {
		t.Errorf("Unix socket: got address %+v", a)
	}
	a := parse("redis-cluster://shop:s%40cret@10.0.0.1:7001,10.0.0.2,[::1]:7003/")
	if !a.IsClusterMode || a.Username != "shop" || a.Password != "s@cret" || a.TLSConfig != nil ||
		strings.Join(a.Addrs, " ") != "10.0.0.1:7001 10.0.0.2:6379 [::1]:7003" {
		t.Errorf("cluster: got address %+v", a)
	}
	if c := parse("rediss-cluster://:secret@redis.example:7001"); c.TLSConfig == nil || !c.IsClusterMode ||
		c.TLSConfig.ServerName != "" || c.Username != "" || c.Password != "secret" {
		t.Errorf("cluster with TLS: got address %+v, want a cluster with TLS and without ServerName", c)
	}
	a = parse("redis-sentinel://shop:secret@s1.example,s2.example:26380/main?db=4&" +
		"sentinel_username=watch&sentinel_password=other")
	if a.MasterName != "main" || a.IsClusterMode || a.DB != 4 || a.Username != "shop" ||
		a.Password != "secret" || a.SentinelUsername != "watch" || a.SentinelPassword != "other" ||
		strings.Join(a.Addrs, " ") != "s1.example:26379 s2.example:26380" {
		t.Errorf("sentinels: got address %+v", a)
	}
	if where := a.hostsText(); strings.Contains(where, "secret") || !strings.Contains(where, "s1.example:26379") {
		t.Errorf("got hosts %s, want all hosts and no password", where)
	}
}

// TestInvalidRedisAddressesHideThePassword: the error describes the problem and shows no password.
func TestInvalidRedisAddressesHideThePassword(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"redis://:57#hunter2@127.0.0.1:6379/0":                "%23",
		"redis://shop:57#hunter2@127.0.0.1:6379/0":            "%23",
		"redis://shop:hunter2#57@127.0.0.1:6379/0":            "%23",
		"redis://:hunter2@127.0.0.1/0?pool_size=5":            `"pool_size"`,
		"rediss://:hunter2@127.0.0.1/0?skip_verify=true":      `"skip_verify"`,
		"redis://hunter2@127.0.0.1:6379/0":                    ":password@host",
		"redis-clusters://:hunter2@h:1":                       "want redis://",
		"redis-cluster://:hunter2@":                           "names the host",
		"redis-cluster://:hunter2@h1:7001,,h2:7001":           "names the host",
		"redis-cluster://:hunter2@h1:70010":                   "names the host",
		"redis-cluster://:hunter2@h1:7001/1":                  "a cluster has only 0",
		"redis-cluster://:hunter2@h1:7001/?read_only=true":    `"read_only"`,
		"redis-cluster://:hunter2%zz@h1:7001":                 "cannot be read",
		"redis-cluster://:hunter2#@h1:7001":                   "",
		"redis-sentinel://:hunter2@s1:26379":                  "names no master",
		"redis-sentinel://:hunter2@s1:26379/a/b":              "names no master",
		"redis-sentinel://:hunter2@s1:26379/main?db=x":        "want the number of a database",
		"redis-sentinel://:hunter2@s1:26379/main?master=main": `"master"`,
	} {
		_, err := parseRedisURL(address)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: got error %v, want an error with %q and no password", address, err, want)
		}
	}
}
