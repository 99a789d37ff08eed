package wsclient

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
)

// This file has WebSocket framing (RFC 6455) without a library. It serves the load generator, whose thousands of
// sockets have no goroutine and no buffer each, and tests that control each sent byte.

// Opcodes of WebSocket frames.
const (
	Text   = 1
	Binary = 2
	Close  = 8
	Ping   = 9
	Pong   = 10
)

// maxServerFrame is larger than any frame of the server.
const maxServerFrame = 8 << 20

var errWire = errors.New("want an unmasked, unfragmented WebSocket frame from the server")

// Handshake returns the upgrade request to host:port. The first frames may be sent together with it.
func Handshake(host string) []byte {
	return []byte("GET " + Path + " HTTP/1.1\r\nHost: " + host + "\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n" +
		"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: c3RhbXBlZGUgbG9hZCBnZW4=\r\n" +
		"Sec-WebSocket-Protocol: " + Subprotocol + "\r\n\r\n")
}

// CutHandshake removes the server's response to the upgrade from b. ok is false while the response is incomplete.
func CutHandshake(b []byte) (rest []byte, ok bool, err error) {
	head, rest, ok := bytes.Cut(b, []byte("\r\n\r\n"))
	if !ok {
		return nil, false, nil
	}
	if !bytes.HasPrefix(head, []byte("HTTP/1.1 101 ")) {
		status, _, _ := bytes.Cut(head, []byte("\r\n"))
		return nil, false, errors.New("the server rejected the upgrade: " + string(status))
	}
	return rest, true, nil
}

// AppendFrame appends a client frame. The masking key is zero: the protocol requires a key but allows any value.
func AppendFrame(dst []byte, opcode byte, payload []byte) []byte {
	dst = append(dst, 0x80|opcode)
	if len(payload) < 126 {
		dst = append(dst, 0x80|byte(len(payload)))
	} else {
		dst = binary.BigEndian.AppendUint16(append(dst, 0x80|126), uint16(len(payload)))
	}
	return append(append(dst, 0, 0, 0, 0), payload...)
}

// CutFrame removes the first frame from b. If the frame is incomplete, ok is false and rest is b.
func CutFrame(b []byte) (opcode byte, payload, rest []byte, ok bool, err error) {
	switch {
	case len(b) < 2:
		return 0, nil, b, false, nil
	case b[0]&0xf0 != 0x80 || b[1]&0x80 != 0:
		return 0, nil, nil, false, errWire
	}
	head, n := 2, int(b[1])
	switch {
	case n == 126 && len(b) >= 4:
		head, n = 4, int(binary.BigEndian.Uint16(b[2:]))
	case n == 127 && len(b) >= 10:
		long := binary.BigEndian.Uint64(b[2:])
		if long > maxServerFrame {
			return 0, nil, nil, false, errWire
		}
		head, n = 10, int(long)
	case n >= 126:
		return 0, nil, b, false, nil
	}
	if len(b) < head+n {
		return 0, nil, b, false, nil
	}
	return b[0] & 0x0f, b[head : head+n], b[head+n:], true, nil
}

// ReadFrame waits for the next frame, which must fit into the buffer of r.
func ReadFrame(r *bufio.Reader) (opcode byte, payload []byte, err error) {
	for n := 2; ; n++ {
		b, err := r.Peek(n)
		if err != nil {
			return 0, nil, err
		}
		opcode, payload, _, ok, err := CutFrame(b)
		if ok || err != nil {
			payload = bytes.Clone(payload)
			_, _ = r.Discard(n) // cannot fail after Peek
			return opcode, payload, err
		}
	}
}
