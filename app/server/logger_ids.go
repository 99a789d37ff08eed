package server

import (
	"context"
	"log/slog"

	"stampede/app"
)

// idsHandler adds to each line the ids that its context and its error carry (app.LogIDs), unless the line has them.
type idsHandler struct{ slog.Handler }

// Handle implements slog.Handler.
func (h idsHandler) Handle(ctx context.Context, r slog.Record) error {
	var err error
	said := make(map[string]bool, r.NumAttrs())
	r.Attrs(func(a slog.Attr) bool {
		said[a.Key] = true
		if e, ok := a.Value.Any().(error); ok && err == nil {
			err = e
		}
		return true
	})
	for _, id := range app.LogIDs(ctx, err) {
		if !said[id.Key] {
			r.AddAttrs(id)
		}
	}
	return h.Handler.Handle(ctx, r)
}

// WithAttrs implements slog.Handler.
func (h idsHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return idsHandler{h.Handler.WithAttrs(attrs)}
}

// WithGroup implements slog.Handler.
func (h idsHandler) WithGroup(name string) slog.Handler { return idsHandler{h.Handler.WithGroup(name)} }
