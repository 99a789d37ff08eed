package server

import (
	"errors"
	"strings"
	"testing"

	"stampede/app/account"
)

// FuzzLoad: for any environment, the configuration is valid or every problem names a variable. No message contains a
// secret.
func FuzzLoad(f *testing.F) {
	for _, lines := range []string{
		"STAMPEDE_LISTEN=[::1]:0\nSTAMPEDE_ROLES=api,worker",
		"STAMPEDE_SLOTS=08:00-10:00,10:00-12:00\nSTAMPEDE_TIME_ZONE=Asia/Shanghai",
		"STAMPEDE_REDIS_URL=redis://:pw@127.0.0.1:6379/2\nSTAMPEDE_MYSQL_DSN=u:p@tcp(127.0.0.1:3306)/shop",
		"STAMPEDE_PAY_WINDOW=5m\nSTAMPEDE_BACKLOG=1\nSTAMPEDE_PARTITIONS=1024",
		"STAMPEDE_TRUSTED_PROXIES=10.0.0.0/8, ::1\nSTAMPEDE_GUEST_LOGIN=true",
		"STAMPEDE_SLOTS=23:00-01:00\nSTAMPEDE_PARTITION=8\nSTAMPEDE_=x\n=",
	} {
		f.Add(lines)
	}
	f.Fuzz(func(t *testing.T, lines string) {
		environ := []string{"STAMPEDE_JWT_SECRET=" + goodSecret}
		for line := range strings.SplitSeq(lines, "\n") {
			if name, _, _ := strings.Cut(line, "="); !strings.HasSuffix(name, "_FILE") { // these would read files
				environ = append(environ, line)
			}
		}
		c, err := Load(environ)
		if err == nil {
			if c.Partitions < 1 || c.PayWindow <= 0 || c.Backlog < 1 || len(c.Slots) == 0 ||
				len(c.JWTSecret) < account.MinKeyBytes {
				t.Fatalf("an invalid configuration was accepted: %+v", c)
			}
			return
		}
		var configErr *ConfigError
		if !errors.As(err, &configErr) || len(configErr.Problems) == 0 {
			t.Fatalf("error %v names no variable", err)
		}
		for _, p := range configErr.Problems {
			if !strings.HasPrefix(p.Variable, "STAMPEDE_") || p.Message == "" ||
				strings.Contains(p.Message, goodSecret) {
				t.Fatalf("got problem %+v, want a variable, a message and no secret", p)
			}
		}
	})
}
