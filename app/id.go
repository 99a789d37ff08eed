package app

import (
	"fmt"
	"strconv"
)

// ID is a 64-bit identifier (snowflake). On every wire (JSON, Redis, URLs) it is a decimal string,
// because JavaScript and Redis Lua lose digits beyond 2^53. Zero means "none".
type ID int64

// ParseID reads a decimal id; the "no" cases are empty, signed, zero, too long and non-digits.
func ParseID(s string) (ID, error) {
	if s == "" || len(s) > 19 || s[0] < '1' || s[0] > '9' {
		return 0, fmt.Errorf("id %q: want a positive decimal number", clip(s, 24))
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("id %q: want a positive decimal number", clip(s, 24))
	}
	return ID(n), nil
}

// String is the decimal form used on every wire.
func (id ID) String() string { return strconv.FormatInt(int64(id), 10) }

// MarshalText makes JSON write the id as a string.
func (id ID) MarshalText() ([]byte, error) { return strconv.AppendInt(nil, int64(id), 10), nil }

// UnmarshalText accepts exactly what ParseID accepts.
func (id *ID) UnmarshalText(b []byte) error {
	parsed, err := ParseID(string(b))
	if err != nil {
		return err
	}
	*id = parsed
	return nil
}

// clip keeps foreign text short in messages and logs.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return s[:n] + "…"
}
