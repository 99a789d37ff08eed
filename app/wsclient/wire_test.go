package wsclient

import (
	"bytes"
	"strings"
	"testing"
)

// serverFrame returns a frame as the server sends it, without masking.
func serverFrame(opcode byte, payload []byte) []byte {
	masked := AppendFrame(nil, opcode, payload)
	head := len(masked) - len(payload) - 4
	frame := append([]byte(nil), masked[:head]...)
	frame[1] &^= 0x80
	return append(frame, payload...)
}

// TestCutFrameWaitsForACompleteFrame: CutFrame returns a frame only when it is complete.
func TestCutFrameWaitsForACompleteFrame(t *testing.T) {
	t.Parallel()
	for _, size := range []int{0, 1, 125, 126, 4096, 65535} {
		payload := bytes.Repeat([]byte("x"), size)
		wire := serverFrame(Text, payload)
		for _, cut := range []int{0, 1, 2, 3, len(wire) - 1} {
			if cut >= len(wire) {
				continue
			}
			if _, _, rest, ok, err := CutFrame(wire[:cut]); ok || err != nil || len(rest) != cut {
				t.Errorf("%d of %d bytes: got complete %v, error %v", cut, len(wire), ok, err)
			}
		}
		opcode, got, rest, ok, err := CutFrame(append(wire, "next"...))
		if opcode != Text || !bytes.Equal(got, payload) || string(rest) != "next" || !ok || err != nil {
			t.Errorf("%d bytes: got opcode %d, %d payload bytes, rest %q, complete %v, error %v", size, opcode, len(got), rest, ok, err)
		}
	}
}

func TestCutFrameRejectsInvalidFrames(t *testing.T) {
	t.Parallel()
	for name, wire := range map[string][]byte{
		"fragmented": {0x01, 0}, "masked": {0x81, 0x80}, "reserved bit": {0xc1, 0},
		"endless": {0x81, 127, 0xff, 0, 0, 0, 0, 0, 0, 0},
	} {
		if _, _, _, ok, err := CutFrame(wire); ok || err == nil {
			t.Errorf("%s: got complete %v, error %v; want an error", name, ok, err)
		}
	}
}

func TestCutHandshakeParsesResponses(t *testing.T) {
	t.Parallel()
	good := "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n"
	if rest, ok, err := CutHandshake([]byte(good + "frame")); !ok || err != nil || string(rest) != "frame" {
		t.Errorf("got rest %q, complete %v, error %v", rest, ok, err)
	}
	if _, ok, err := CutHandshake([]byte(good[:40])); ok || err != nil {
		t.Errorf("half of the response: got complete %v, error %v", ok, err)
	}
	if _, _, err := CutHandshake([]byte("HTTP/1.1 503 Service Unavailable\r\n\r\n")); err == nil ||
		!strings.Contains(err.Error(), "503") {
		t.Errorf("rejected upgrade: got %v, want the status in the error", err)
	}
}
