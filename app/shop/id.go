package shop

import (
	"fmt"
	"strconv"
)

// ID is a 64-bit identifier (snowflake). On every wire (JSON, Redis, URLs) it is a decimal string, because JavaScript
// and Redis Lua lose digits beyond 2^53. Zero means "none".
type ID int64

// ParseID reads a decimal ID. It rejects texts that are empty, signed, zero, too long or contain non-digits.
func ParseID[text ~string | ~[]byte](s text) (ID, error) {
	if id, ok := readID(s); ok {
		return id, nil
	}
	return 0, fmt.Errorf("id %q: want a positive decimal number", Clip(string(s), 24))
}

// readID is separate from ParseID: formatting its error would copy every text to the heap.
func readID[text ~string | ~[]byte](s text) (ID, bool) {
	if len(s) == 0 || len(s) > 19 || s[0] < '1' || s[0] > '9' {
		return 0, false
	}
	n, err := strconv.ParseInt(string(s), 10, 64)
	return ID(n), err == nil
}

// String returns the decimal form.
func (id ID) String() string { return strconv.FormatInt(int64(id), 10) }

// MarshalText writes the ID as a decimal string.
func (id ID) MarshalText() ([]byte, error) { return strconv.AppendInt(nil, int64(id), 10), nil }

// UnmarshalText accepts exactly what ParseID accepts.
func (id *ID) UnmarshalText(b []byte) error {
	parsed, err := ParseID(b)
	if err != nil {
		return err
	}
	*id = parsed
	return nil
}

// Clip shortens external text to n bytes plus "…" for messages and logs.
func Clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return s[:n] + "…"
}
