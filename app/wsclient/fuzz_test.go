package wsclient

import (
	"bufio"
	"bytes"
	"errors"
	"testing"

	"stampede/app/test/kit"
)

// Any input to Parse yields either a frame or an error, never a panic.
func FuzzParse(f *testing.F) {
	for _, frame := range kit.GoldenFrames(f, "../../realtime/testdata/protocol", "server") {
		f.Add(frame)
	}
	f.Add([]byte(`{"ev":"tick","sales":null,"id":1,"ok":{},"error":{}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		frame, err := Parse(text)
		if (frame == nil) == (err == nil) || err != nil && !errors.Is(err, ErrFrame) {
			t.Fatalf("Parse(%q) = frame %+v, error %v", text, frame, err)
		}
	})
}

// Any input to ReadFrame yields frames and then an error. No frame has more bytes than the input.
func FuzzReadFrame(f *testing.F) {
	f.Add(AppendFrame(nil, Text, []byte(`{"id":1,"op":"hello"}`)))
	f.Add([]byte{0x81, 0x7e, 0xff, 0xff, 'x'})
	f.Add([]byte{0x81, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff})
	f.Add([]byte{0x88, 0x02, 0x03, 0xe8, 0x81, 0x00, 0x89, 0x80, 1, 2, 3, 4})
	f.Fuzz(func(t *testing.T, wire []byte) {
		r := bufio.NewReader(bytes.NewReader(wire))
		for read := 0; ; {
			_, payload, err := ReadFrame(r)
			if err != nil {
				return
			}
			if read += len(payload) + 2; read > len(wire) {
				t.Fatalf("consumed %d bytes of %d", read, len(wire))
			}
		}
	})
}
