package shop

import (
	"context"
	"log/slog"
	"slices"
)

// A line of the log names the request, order, sale and entry that it is about. The context and the error can carry
// these ids; the logger makes fields of them (LogIDs). Only ids go there: never a token, an address, or anything that a
// person typed.

type logIDsKey struct{}

// WithLogIDs is a context whose lines of the log carry the ids: names and values, as slog takes them.
func WithLogIDs(ctx context.Context, ids ...any) context.Context {
	return context.WithValue(ctx, logIDsKey{}, ids)
}

// IsLogIDs reports whether a context is asked for the ids of its lines; for contexts that are no context.WithValue. The
// value is names and values.
func IsLogIDs(key any) bool { return key == logIDsKey{} }

// namedError is an error that knows what it is about.
type namedError struct {
	error
	ids []any
}

func (n *namedError) Unwrap() error { return n.error }

// Named has lines of the log about the error carry ids: names and values, as slog takes them. What people are told
// stays as it is: it names nothing.
func Named(err error, ids ...any) error {
	if _, plain := err.(*Error); plain || err == nil {
		return err
	}
	return &namedError{err, ids}
}

// LogIDs are the ids that the context and the error carry; of two of one name the error's, of two in an error the outer
// one. The error may be nil.
func LogIDs(ctx context.Context, err error) []slog.Attr {
	of, _ := ctx.Value(logIDsKey{}).([]any)
	return appendIDs(logAttrs(err, nil), of)
}

// logAttrs looks through the whole tree of an error.
func logAttrs(err error, ids []slog.Attr) []slog.Attr {
	if n, ok := err.(*namedError); ok {
		ids = appendIDs(ids, n.ids)
	}
	switch e := err.(type) {
	case interface{ Unwrap() error }:
		return logAttrs(e.Unwrap(), ids)
	case interface{ Unwrap() []error }:
		for _, one := range e.Unwrap() {
			ids = logAttrs(one, ids)
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
