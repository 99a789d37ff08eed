package main

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestHealthReportsReadiness: the exit code of the health check of a container.
func TestHealthReportsReadiness(t *testing.T) {
	t.Parallel()
	status := http.StatusOK
	node := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/readyz" {
			status = http.StatusNotFound
		}
		w.WriteHeader(status)
		_, _ = w.Write([]byte("the stores are unreachable\n"))
	}))
	address := strings.TrimPrefix(node.URL, "http://")
	runSteps(t, []string{"STAMPEDE_METRICS_LISTEN=" + address}, []step{{"health", "", exitOK, "unreachable"}})
	status = http.StatusServiceUnavailable
	runSteps(t, []string{"STAMPEDE_METRICS_LISTEN=" + address}, []step{{"health", "", exitAudit, "unreachable"}})
	node.Close()
	runSteps(t, []string{"STAMPEDE_METRICS_LISTEN=" + address}, []step{{"health", "", exitFailed, "call the node"}})
	runSteps(t, []string{"STAMPEDE_METRICS_LISTEN=off"}, []step{{"health", "", exitUsage, "is off"}})
}

// TestCompletionOffersCommandsValuesAndFlags: the next words of a command line.
func TestCompletionOffersCommandsValuesAndFlags(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"stampede sa":             "sale",
		"stampede sale pau":       "pause",
		"stampede sale ":          "create list show edit",
		"stampede completion ":    "bash zsh fish",
		"stampede order list --s": "--state --sale --server",
		"stampede nothing":        "",
		"":                        "",
	} {
		code, out, _ := runCommand(t, []string{"COMP_LINE=" + line}, "complete-line", "stampede", "x", "y")
		got := strings.Join(strings.Fields(out), " ")
		if code != exitOK || !strings.HasPrefix(got, want) || want == "" && got != "" {
			t.Errorf("%q: got code %d and %q, want %q", line, code, got, want)
		}
	}
	runSteps(t, nil, []step{{"completion bash", "", exitOK, "complete-line"}, {"completion tcsh", "", exitUsage, "bash"}})
}
