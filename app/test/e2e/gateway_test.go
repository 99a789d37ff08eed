package e2e

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"stampede/app/shop"
	"stampede/app/test/kit"
)

// gateway is a running `stampede alipay-sim`.
type gateway struct {
	t        *testing.T
	base     string
	settings []string // for the nodes
}

func startGateway(t *testing.T) *gateway {
	t.Helper()
	dir := t.TempDir()
	g := &gateway{t: t}
	p := kit.StartProgram(t, binary, filepath.Join(dir, "log"), nil, "alipay-sim", "--listen", "127.0.0.1:0", "--data", dir)
	kit.Eventually(t, waitTimeout, func() (bool, string) { return strings.Contains(p.Text(), "listens on"), p.Text() })
	text, err := os.ReadFile(filepath.Join(dir, "env"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		setting := strings.ReplaceAll(strings.TrimSpace(line), "'", "")
		g.settings = append(g.settings, setting)
		if address, ok := strings.CutPrefix(setting, "STAMPEDE_ALIPAY_GATEWAY="); ok {
			g.base = strings.TrimSuffix(address, "/gateway.do")
		}
	}
	return g
}

// withTest returns the gateway for a subtest, which reports its own failures.
func (g *gateway) withTest(t *testing.T) *gateway {
	own := *g
	own.t = t
	return &own
}

// payAtGateway loads the payment URL of the shop and pays.
func (g *gateway) payAtGateway(url string, placed shop.ID) {
	g.t.Helper()
	for _, step := range []struct{ method, url string }{
		{http.MethodGet, url}, {http.MethodPost, g.base + "/admin/trades/" + placed.String() + "/pay"},
	} {
		request, err := http.NewRequestWithContext(kit.Context(g.t), step.method, step.url, nil)
		if err != nil {
			g.t.Fatal(err)
		}
		response, err := kit.HTTP.Do(request)
		if err != nil {
			g.t.Fatalf("%s: %v", step.url, err)
		}
		_ = response.Body.Close()
		if response.StatusCode >= 300 {
			g.t.Fatalf("%s %s: %s", step.method, step.url, response.Status)
		}
	}
}

// ledger returns the amounts that the gateway has taken and refunded, in fen.
func (g *gateway) ledger() (taken, refunded int64) {
	g.t.Helper()
	response, err := kit.HTTP.Get(g.base + "/admin/ledger")
	if err != nil {
		g.t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	var ledger struct {
		TakenFen    int64 `json:"taken_fen"`
		RefundedFen int64 `json:"refunded_fen"`
	}
	if err := json.NewDecoder(response.Body).Decode(&ledger); err != nil {
		g.t.Fatal(err)
	}
	return ledger.TakenFen, ledger.RefundedFen
}
