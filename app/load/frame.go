package load

import (
	"encoding/binary"
	"errors"
)

// WebSocket frames are cut and built here, and not by the library behind wsclient: that one reads on a goroutine for each
// socket, with a buffer of its own, and a crowd of thousands must cost less than the server that it measures.

// Opcodes of WebSocket frames (RFC 6455).
const (
	frameText  = 1
	frameClose = 8
	framePing  = 9
	framePong  = 10
)

// maxServerFrame is more than the server ever sends in one frame: a whole personal log.
const maxServerFrame = 8 << 20

var errFrame = errors.New("the server sent something that is no unmasked, unfragmented WebSocket frame")

// appendFrame appends a client frame. The masking key is zero: it must be there, and it may be any.
func appendFrame(dst []byte, opcode byte, payload []byte) []byte {
	dst = append(dst, 0x80|opcode)
	if len(payload) < 126 {
		dst = append(dst, 0x80|byte(len(payload)))
	} else {
		dst = binary.BigEndian.AppendUint16(append(dst, 0x80|126), uint16(len(payload)))
	}
	return append(append(dst, 0, 0, 0, 0), payload...)
}

// cutFrame takes the first frame off b. Without a whole one there, ok is false and nothing is taken.
func cutFrame(b []byte) (opcode byte, payload, rest []byte, ok bool, err error) {
	if len(b) < 2 {
		return 0, nil, b, false, nil
	}
	if b[0]&0xf0 != 0x80 || b[1]&0x80 != 0 {
		return 0, nil, nil, false, errFrame
	}
	head, n := 2, int(b[1])
	switch {
	case n == 126 && len(b) >= 4:
		head, n = 4, int(binary.BigEndian.Uint16(b[2:]))
	case n == 127 && len(b) >= 10:
		long := binary.BigEndian.Uint64(b[2:])
		if long > maxServerFrame {
			return 0, nil, nil, false, errFrame
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
