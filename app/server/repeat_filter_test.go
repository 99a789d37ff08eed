package server

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"stampede/app/shop"
)

// While a store is down, each message shows its cause once a minute, with the number of dropped lines.
func TestRepeatedFaultsAreLoggedOnceAMinute(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	now := time.Unix(1_000_000, 0)
	f := &repeatFilter{now: func() time.Time { return now }, lines: make(map[string]*repeatedLine)}
	log := slog.New(logHandler{slog.NewTextHandler(&out, nil), f})
	fault := func(partition int, cause string) error {
		return fmt.Errorf("partition %d: %w: %s", partition, shop.ErrTransient, cause)
	}
	wantLines := func(want ...string) {
		t.Helper()
		got := strings.Split(strings.TrimSpace(out.String()), "\n")
		if len(got) != len(want) {
			t.Fatalf("got %d lines, want %d:\n%s", len(got), len(want), out.String())
		}
		for i := range want {
			if !strings.Contains(got[i], want[i]) {
				t.Errorf("line %d: got %s, want %s", i, got[i], want[i])
			}
		}
		out.Reset()
	}
	for i := range 100 {
		log.With("node", i).Warn("write", "err", errors.Join(fault(i, "Error 1290: read-only"), fault(i+1, "Error 1290: read-only")))
	}
	log.Warn("write", "err", fault(1, "Error 1040: Too many connections"))
	log.Warn("read", "err", fault(1, "Error 1290: read-only"))
	log.Warn("defect", "err", errors.New("defect"))
	log.Warn("defect", "err", errors.New("defect"))
	wantLines("Error 1290", "Error 1040", "msg=read", "defect", "defect")
	now = now.Add(time.Minute)
	log.Warn("write", "err", fault(7, "Error 1290: read-only"))
	wantLines("repeated=99")
}
