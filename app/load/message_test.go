package load

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"stampede/app/test/kit"
	"stampede/app/wsclient"
)

// TestPartialParserReadsGoldenFrames: the partial parser reads all golden frames correctly. It fails when the protocol
// moves a parsed member.
func TestPartialParserReadsGoldenFrames(t *testing.T) {
	t.Parallel()
	seen := make(map[kind]int)
	for _, frame := range kit.GoldenFrames(t, "../../realtime/testdata/protocol", "server") {
		m := parseMessage(frame)
		seen[m.kind]++
		checkMessage(t, m)
	}
	for _, k := range []kind{replied, refused, ticked, ordered} {
		if seen[k] == 0 {
			t.Errorf("no golden frame is of kind %d", k)
		}
	}
}

// checkMessage compares the members that the scenarios read with the decoded frame.
func checkMessage(t *testing.T, m message) {
	t.Helper()
	var frame struct {
		ID     int64
		Now    int64
		Cursor string
		Error  struct{ Code string }
		OK     struct{ Cursor, Order string }
	}
	if err := json.Unmarshal(m.text, &frame); err != nil {
		t.Fatal(err)
	}
	cursor := string(m.word(`"cursor":"`))
	now, _ := number(m.after(`"now":`))
	switch {
	case m.kind == replied && m.accepted() != (frame.OK.Order != ""):
		t.Errorf("got accepted %v for %s", m.accepted(), m.text)
	case m.id != frame.ID:
		t.Errorf("got id %d, want %d of %s", m.id, frame.ID, m.text)
	case m.kind == refused && string(m.word(`"code":"`)) != frame.Error.Code:
		t.Errorf("got code %s, want %s of %s", m.word(`"code":"`), frame.Error.Code, m.text)
	case m.kind == ticked && now != frame.Now:
		t.Errorf("got now %d, want %d of %s", now, frame.Now, m.text)
	case m.kind == ordered && cursor != frame.Cursor:
		t.Errorf("got cursor %q, want %q of %s", cursor, frame.Cursor, m.text)
	case m.kind == replied && frame.OK.Cursor != "" && cursor != frame.OK.Cursor:
		t.Errorf("got cursor %q, want %q of %s", cursor, frame.OK.Cursor, m.text)
	}
}

// TestFastOpsEqualTheClientEncoding: hand-encoded ops equal the encoding of wsclient.
func TestFastOpsEqualTheClientEncoding(t *testing.T) {
	t.Parallel()
	want := wsclient.Request{ID: 7, Op: wsclient.Buy, Sale: 7301444403200000101, Qty: 1, Key: "load-123456789-3"}.Encode()
	if got := appendBuy(nil, 7, "7301444403200000101", 123456789, 3); !bytes.Equal(got, want) {
		t.Errorf("buy is %s, want %s", got, want)
	}
	want = wsclient.Request{ID: 8, Op: wsclient.Time, T0: "123456789"}.Encode()
	if got := appendTime(nil, 8, 123456789); !bytes.Equal(got, want) {
		t.Errorf("time is %s, want %s", got, want)
	}
}

func TestForeignTargetNeedsConfirmation(t *testing.T) {
	t.Parallel()
	if _, err := newTarget("192.0.2.1:8080", 4, false); err == nil || !strings.Contains(err.Error(),
		"--i-own-this-host") {
		t.Errorf("a foreign host: got %v, want an error that names --i-own-this-host", err)
	}
	to, err := newTarget("192.0.2.1:8080", 4, true)
	if err != nil || to.source(7) != [4]byte{} {
		t.Errorf("a foreign host with --i-own-this-host: got error %v, want a source chosen by the kernel", err)
	}
	if to, err = newTarget("127.0.0.1:8080", 4, false); err != nil || to.source(5) != [4]byte{127, 0, 0, 3} {
		t.Errorf("this machine: got error %v, want the source 127.0.0.3", err)
	}
}
