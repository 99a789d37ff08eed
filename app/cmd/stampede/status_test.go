package main

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/mattn/go-runewidth"

	"stampede/app/board"
	"stampede/app/shop"
)

// TestStatusFitsATerminal: the board fits into 80 columns for all names of products and nodes, and shows the action for
// each alarm.
func TestStatusFitsATerminal(t *testing.T) {
	t.Parallel()
	b := &board.Board{
		Now: 1795222800000, Rates: board.Rates{
			BuysPerS: 123456.7, ReservedPerS: 12.4,
			RejectedPerS: map[shop.Code]float64{shop.SoldOut: 99999, shop.Busy: .5},
		},
		LatencyMS: board.LatencyTimes{P50: 14, P99: 62, N: 9},
		Sales: []board.Sale{
			{
				Name: strings.Repeat("电饭煲", 20), Phase: shop.Upcoming, Stock: 12345678, Held: 1234567, Sold: 1234567,
				Rate: 12345.6,
			},
			{Name: "Kettle", Phase: shop.Open, Paused: true},
		},
		Partitions: make([]board.PartitionFigures, 20),
		Nodes: []board.NodeFigures{{
			Name: "a-very-long-name-of-a-machine-3", Roles: []string{"api", "worker", "sweeper"}, Heap: 70 << 20,
			Version: "1.4.0-rc.1+very.long", UpSeconds: 90000,
		}},
		Alarms: []board.Alarm{{
			Name: board.AlarmGrowingLag, Since: 1795222790000, Message: "The lag of partition 3 has grown for 30 s.",
			Do: "Start more workers, or find out why they are slow. Until then buyers wait longer for their orders.", Link: "l#x",
		}},
	}
	b.Partitions[3] = board.PartitionFigures{P: 3, Lag: 1234, Pending: 500, OldestMS: 2345}
	text := boardText(b, time.FixedZone("shop", 8*60*60))
	for line := range strings.Lines(text) {
		if n := runewidth.StringWidth(strings.TrimRight(line, "\n")); n > statusWidth {
			t.Errorf("got a line of %d columns, want at most %d: %s", n, statusWidth, line)
		}
	}
	if !strings.HasPrefix(text, "! lag_grows: The lag") || !strings.Contains(text, "2026-11-21 09:00:00 +08:00") {
		t.Errorf("the status begins without its alarm, or has another time zone than the shop:\n%s", text)
	}
	for _, part := range []string{
		"sold_out 99999/s  busy 0.5/s", "paused", "2.3s", "19 more without waiting entries", "25h", "! lag_grows: The lag",
		"\n  Start more workers", "14 ms, 99 % within 62 ms",
	} {
		if !strings.Contains(text, part) {
			t.Errorf("the status lacks %q:\n%s", part, text)
		}
	}
}

// TestStatusPrintsJSONAndSetsExitCode: --json prints the figures, and an alarm sets the exit code.
func TestStatusPrintsJSONAndSetsExitCode(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	e := &env{out: &out, err: &out}
	b := &board.Board{Rates: board.Rates{BuysPerS: 2}, Alarms: []board.Alarm{}}
	for range 2 {
		if err := (&status{Watch: true, readFlags: readFlags{JSON: true}}).show(e, b, nil); err != nil {
			t.Fatal(err)
		}
	}
	for line := range strings.Lines(out.String()) {
		var got board.Board
		if err := json.Unmarshal([]byte(line), &got); err != nil || got.BuysPerS != 2 {
			t.Errorf("line %s: got %v buys per second and error %v, want 2", line, got.BuysPerS, err)
		}
	}
	out.Reset()
	if err := (&status{Watch: true}).show(e, b, errors.New("Redis is unreachable")); err != nil ||
		!strings.Contains(out.String(), "Redis is unreachable") {
		t.Errorf("without a board: got output %q and error %v", out.String(), err)
	}
	if code := codeOf(errAlarms, &out); code != exitAudit {
		t.Errorf("with alarms: got exit code %d, want %d", code, exitAudit)
	}
	code, _, errOut := runCommand(t, []string{"STAMPEDE_URL=http://127.0.0.1:1", "STAMPEDE_TOKEN=x"}, "status")
	if code != exitFailed || !strings.Contains(errOut, "cannot reach the server") {
		t.Errorf("without a server: got code %d, want %d: %s", code, exitFailed, errOut)
	}
}
