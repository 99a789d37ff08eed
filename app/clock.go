package app

import "time"

// Millis is an instant: milliseconds since the Unix epoch, the only form of time on wires, in Redis
// and in the tables. Zero means "not set".
type Millis int64

// MillisOf converts a time; the fraction below a millisecond is dropped.
func MillisOf(t time.Time) Millis { return Millis(t.UnixMilli()) }

// Time converts back, in UTC.
func (m Millis) Time() time.Time { return time.UnixMilli(int64(m)).UTC() }

// Add moves the instant by d, which is truncated to milliseconds.
func (m Millis) Add(d time.Duration) Millis { return m + Millis(d.Milliseconds()) }

// Sub is the time from o to m.
func (m Millis) Sub(o Millis) time.Duration { return time.Duration(m-o) * time.Millisecond }
