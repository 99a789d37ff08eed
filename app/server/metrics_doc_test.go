package server

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
)

var update = flag.Bool("update", false, "rewrite deploy/METRICS.md")

const metricsPage = "../../deploy/METRICS.md"

// labelSets are the permitted values of each label. All sets are bounded, independently of the requests.
var labelSets = map[string]string{
	"partition": "`0` to `STAMPEDE_PARTITIONS` − 1",
	"code":      "the error codes of [PROTOCOL.md](../realtime/PROTOCOL.md#errors)",
	"verdict":   "the verdicts of [reserve.lua](../streams/lua/reserve.lua)",
	"reason":    "for sockets: the close codes of [PROTOCOL.md](../realtime/PROTOCOL.md#close-codes); for the database: `read_only`, `connections`",
	"route":     "the patterns of the routes",
	"status":    "HTTP statuses",
	"outcome":   "`success`, `forged`, `unreadable`, `failed`, `rejected`",
	"result":    "for e-mails: `sent`, `quarantined`, `unsent`; for deliveries: `accepted`, `quarantined`, `undelivered`",
	"state":     "for e-mails: `waiting`, `quarantined`; for refunds: `requested`, `open`, `stuck`",
	"version":   "the running version",
	"from":      "`replica`, `primary`",

	"certificate": "`page` (of `STAMPEDE_PUBLIC_URL`), `alipay_app`, `alipay`",
}

var (
	descriptionPattern = regexp.MustCompile(`fqName: "([^"]+)", help: "((?:[^"\\]|\\.)*)", (?:unit: "[^"]*", )?constLabels: \{(.*?)\}, variableLabels: \{(.*?)\}`)
	labelName          = regexp.MustCompile(`([a-z_]+)(="|,|$)`)
)

// TestMetricsAreDocumented: deploy/METRICS.md lists exactly the metrics of the registry with type, unit and labels. To
// rewrite it:
//
//	go test ./app/server -run Metrics -update
func TestMetricsAreDocumented(t *testing.T) {
	t.Parallel()
	private, public := alipayKeys(t)
	n := startNode(t, embeddedConfig(t, t.TempDir(), "STAMPEDE_ALIPAY_APP_ID=2021000000000001",
		"STAMPEDE_ALIPAY_PRIVATE_KEY="+private, "STAMPEDE_ALIPAY_PUBLIC_KEY="+public,
		"STAMPEDE_ALIPAY_GATEWAY=http://127.0.0.1:9/gateway.do", "STAMPEDE_ALIPAY_SIMULATOR=true",
		"STAMPEDE_WEBHOOK_URL=http://127.0.0.1:9/", "STAMPEDE_WEBHOOK_SECRET="+strings.Repeat("s", 32),
	), Options{Rolling: true}).ready().logInGuest()
	n.waitSettled(n.buy(n.firstOpenSale().ID, "a-buy-for-metrics").Order)
	types := make(map[string]string)
	families, err := n.server.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		types[family.GetName()] = strings.ToLower(family.GetType().String())
	}
	rows := make(map[string]string)
	for desc := range described(n.server.registry) {
		parts := descriptionPattern.FindStringSubmatch(desc)
		if parts == nil {
			t.Fatalf("unreadable description of a metric: %s", desc)
		}
		name := parts[1]
		if !strings.HasPrefix(name, "stampede_") {
			continue
		}
		var labels []string
		for _, found := range labelName.FindAllStringSubmatch(parts[3]+","+parts[4], -1) {
			if labelSets[found[1]] == "" {
				t.Errorf("%s has the label %s, which is not in labelSets", name, found[1])
			}
			labels = append(labels, "`"+found[1]+"`")
		}
		kind := types[name]
		if kind == "" {
			t.Errorf("%s has no value before its first event, which increase() in an alert would miss", name)
		}
		help := strings.ReplaceAll(parts[2], `\"`, `"`)
		rows[name] = fmt.Sprintf("| `%s` | %s | %s | %s | %s |\n", name, kind, unitOf(name),
			strings.Join(labels, ", "), help)
	}
	got := metricsHead
	for _, name := range slices.Sorted(maps.Keys(rows)) {
		got += rows[name]
	}
	got += "\n## Labels\n\n| label | values |\n|---|---|\n"
	for _, label := range slices.Sorted(maps.Keys(labelSets)) {
		got += "| `" + label + "` | " + labelSets[label] + " |\n"
	}
	if *update {
		if err := os.WriteFile(metricsPage, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(metricsPage)
	if err != nil || string(want) != got {
		t.Errorf("deploy/METRICS.md and the registry differ; go test ./app/server -run Metrics -update (%v)", err)
		for line := range strings.Lines(got) {
			if !strings.Contains(string(want), line) {
				t.Logf("missing: %s", line)
			}
		}
	}
	checkUsedMetrics(t, rows)
}

const metricsHead = `# Metrics

` + "`/metrics`" + ` on the listener of ` + "`STAMPEDE_METRICS_LISTEN`" + `, for Prometheus. It also has the metrics of Go and of the
process, ` + "`go_…` and `process_…`" + `, see [client_golang](https://pkg.go.dev/github.com/prometheus/client_golang/prometheus/collectors).
Gauges of streams, e-mails and sales have the same value on every node: use ` + "`max`" + ` over all nodes. Add up the counters of the
nodes. A test compares this page with the registry. The [alerts](prometheus/alerts.yml) and the
[dashboard](grafana/stampede.json) use only these metrics.

| name | type | unit | labels | meaning |
|---|---|---|---|---|
`

// described returns all descriptions of the registry, including those of vectors without values.
func described(registry *prometheus.Registry) map[string]bool {
	ch, all := make(chan *prometheus.Desc), make(map[string]bool)
	go func() {
		registry.Describe(ch)
		close(ch)
	}()
	for desc := range ch {
		all[desc.String()] = true
	}
	return all
}

func unitOf(name string) string {
	switch {
	case strings.HasSuffix(name, "_timestamp_seconds"):
		return "Unix seconds"
	case strings.HasSuffix(name, "_seconds"):
		return "seconds"
	}
	return ""
}

// checkUsedMetrics checks that alerts and dashboard use only existing metrics.
func checkUsedMetrics(t *testing.T, rows map[string]string) {
	t.Helper()
	used := regexp.MustCompile(`stampede_[a-z_]+`)
	for _, path := range []string{"../../deploy/prometheus/alerts.yml", "../../deploy/grafana/stampede.json"} {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range used.FindAllString(string(text), -1) {
			if rows[strings.TrimSuffix(name, "_bucket")] == "" {
				t.Errorf("%s uses %s, which is not a metric of the registry", path, name)
			}
		}
	}
}

// TestProfilesAreServedOnlyIfEnabled: profiles are served only if enabled, and without the command line.
func TestProfilesAreServedOnlyIfEnabled(t *testing.T) {
	t.Parallel()
	without := startNode(t, embeddedConfig(t, t.TempDir()), Options{}).ready()
	if text := without.getPrivatePage("/debug/pprof/goroutine?debug=1"); strings.Contains(text, "goroutine profile") {
		t.Error("profiles are shown without STAMPEDE_PROFILES")
	}
	with := startNode(t, embeddedConfig(t, t.TempDir(), "STAMPEDE_PROFILES=true"), Options{}).ready()
	if text := with.getPrivatePage("/debug/pprof/goroutine?debug=1"); !strings.Contains(text, "goroutine profile") {
		t.Errorf("got %s, want a profile", text)
	}
	if text := with.getPrivatePage("/debug/pprof/cmdline"); strings.Contains(text, os.Args[0]) {
		t.Errorf("the command line is shown: %s", text)
	}
}
