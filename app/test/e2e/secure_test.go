package e2e

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"stampede/app/order"
	"stampede/app/test/kit"
)

// One Redis over TLS, with the shipped restricted account (deploy/redis.acl) and a private CA: `checkconfig` reports no
// problem, a buy succeeds and gets its row (P2, P3), and the audit passes (P1). A connection with the wrong CA,
// password or scheme is rejected with an error that names the fix and does not contain the password.
func TestRedisOverTLSAcceptsBuys(t *testing.T) {
	t.Parallel()
	const password = "of-the-test-only"
	certificate := kit.NewCertificate(t)
	account, _ := kit.ShippedACL(t, password)
	redis := kit.StartRedis(t, kit.RedisOptions{Durable: true, TLS: certificate, Args: []string{"--include", account}})
	s := openShop(t, redis.URL, kit.MySQL(t), "STAMPEDE_REDIS_URL=rediss://stampede:"+password+"@"+redis.Addr()+"/0")
	s.settings = append(s.settings, "STAMPEDE_REDIS_CA_FILE="+certificate.Cert)
	sale := s.open(10, 1)
	if out, code := s.run("checkconfig"); code != 0 {
		t.Errorf("checkconfig exits %d:\n%s", code, out)
	}
	n := s.start()
	var receipt order.Receipt
	n.expect(http.StatusOK, &receipt, n.post, "/api/v1/sales/"+sale.ID.String()+"/buy", token(t, kit.NewID()),
		map[string]any{"qty": 1, "key": "over-tls-1"})
	s.awaitDrained(sale)
	if rows := s.count("SELECT COUNT(*) FROM orders WHERE id = ?", int64(receipt.Order)); rows != 1 {
		t.Errorf("the buy has %d rows, want 1", rows)
	}
	s.audit(sale)

	for name, c := range map[string]struct {
		setting string
		words   []string
	}{
		"no certificate authority": {"STAMPEDE_REDIS_CA_FILE=", []string{"reach Redis at ", "STAMPEDE_REDIS_CA_FILE"}},
		"another certificate authority": {
			"STAMPEDE_REDIS_CA_FILE=" + kit.NewCertificate(t).Cert,
			[]string{"reach Redis at ", "STAMPEDE_REDIS_CA_FILE"},
		},
		"a wrong password": {
			"STAMPEDE_REDIS_URL=rediss://stampede:" + password + "x@" + redis.Addr() + "/0",
			[]string{"reach Redis at ", "WRONGPASS"},
		},
		"no TLS to a server that requires TLS": {
			"STAMPEDE_REDIS_URL=redis://stampede:" + password + "@" + redis.Addr() + "/0",
			[]string{"STAMPEDE_REDIS_CA", "rediss://"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := s.withTest(t)
			s.settings = slices.Concat(s.settings, []string{
				c.setting, "STAMPEDE_LISTEN=" + kit.FreeAddress(t), "STAMPEDE_METRICS_LISTEN=127.0.0.1:0",
			})
			for _, command := range []string{"checkconfig", "serve"} {
				out, code := s.run(command)
				if code <= 0 || strings.Contains(out, password) {
					t.Errorf("%s exits %d:\n%s", command, code, out)
				}
				for _, word := range c.words {
					if !strings.Contains(out, word) {
						t.Errorf("the output of %s does not contain %q:\n%s", command, word, out)
					}
				}
			}
		})
	}
}
