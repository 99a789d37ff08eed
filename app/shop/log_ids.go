package shop

import (
	"context"
	"log/slog"
	"slices"
)

// A log line contains the IDs of the request, order, sale and entry that it concerns. The context and the error can
// carry these IDs; the logger adds them as fields (LogIDs). Only IDs are allowed: never a token, an address, or user
// input.

type logIDsKey struct{}

// WithLogIDs returns a context that adds the IDs to its log lines. ids are alternating names and values, as in slog.
func WithLogIDs(ctx context.Context, ids ...any) context.Context {
	return context.WithValue(ctx, logIDsKey{}, ids)
}

// IsLogIDs reports whether key is the context key of the log IDs. Custom context types use it. The value is a []any of
// names and values.
func IsLogIDs(key any) bool { return key == logIDsKey{} }

// errorWithIDs is an error with log IDs.
type errorWithIDs struct {
	error
	ids []any
}

func (e *errorWithIDs) Unwrap() error { return e.error }

// WithErrorIDs adds IDs to the log lines about err. ids are alternating names and values, as in slog. An *Error stays
// unchanged: it goes to clients and has no IDs.
func WithErrorIDs(err error, ids ...any) error {
	if _, direct := err.(*Error); direct || err == nil {
		return err
	}
	return &errorWithIDs{err, ids}
}

// LogIDs returns the IDs of the error and the context. For equal names the error precedes the context, and an outer
// error precedes an inner one. err may be nil.
func LogIDs(ctx context.Context, err error) []slog.Attr {
	ctxIDs, _ := ctx.Value(logIDsKey{}).([]any)
	return appendIDs(logAttrs(err, nil), ctxIDs)
}

// logAttrs collects the IDs of the whole error tree, outer errors first.
func logAttrs(err error, ids []slog.Attr) []slog.Attr {
	if n, ok := err.(*errorWithIDs); ok {
		ids = appendIDs(ids, n.ids)
	}
	switch e := err.(type) {
	case interface{ Unwrap() error }:
		return logAttrs(e.Unwrap(), ids)
	case interface{ Unwrap() []error }:
		for _, joined := range e.Unwrap() {
			ids = logAttrs(joined, ids)
		}
	}
	return ids
}

func appendIDs(ids []slog.Attr, more []any) []slog.Attr {
	var r slog.Record
	r.Add(more...)
	r.Attrs(func(a slog.Attr) bool {
		if !slices.ContainsFunc(ids, func(b slog.Attr) bool { return b.Key == a.Key }) {
			ids = append(ids, a)
		}
		return true
	})
	return ids
}
