package server

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"sync/atomic"

	"github.com/redis/go-redis/v9"

	"stampede/app/shop"
)

// The Redis library remarks on every connection that fails. Whoever made the call reports that, so its remarks
// are for debugging. Its logger can only be set for the whole process, and only before it is used.
func init() { redis.SetLogger(redisRemarks{}) }

type redisRemarks struct{}

func (redisRemarks) Printf(ctx context.Context, format string, args ...any) {
	slog.DebugContext(ctx, fmt.Sprintf(format, args...))
}

// Logger writes as the configuration wants it. Secrets and tokens are never given to it.
func (c *Config) Logger(w io.Writer) *slog.Logger {
	options := &slog.HandlerOptions{Level: c.LogLevel.Level}
	var handler slog.Handler = slog.NewTextHandler(w, options)
	if c.LogFormat == "json" {
		handler = slog.NewJSONHandler(w, options)
	}
	return slog.New(logHandler{handler})
}

// loggedErrors is how many errors the log of this process has: the log is the process's, as slog's default is.
var loggedErrors atomic.Int64

// logHandler counts errors, and adds to each line the ids that its context and its error carry (shop.LogIDs), unless
// the line has them.
type logHandler struct{ slog.Handler }

// Handle implements slog.Handler.
func (h logHandler) Handle(ctx context.Context, r slog.Record) error {
	if r.Level >= slog.LevelError {
		loggedErrors.Add(1)
	}
	var err error
	said := make(map[string]bool, r.NumAttrs())
	r.Attrs(func(a slog.Attr) bool {
		said[a.Key] = true
		if e, ok := a.Value.Any().(error); ok && err == nil {
			err = e
		}
		return true
	})
	for _, id := range shop.LogIDs(ctx, err) {
		if !said[id.Key] {
			r.AddAttrs(id)
		}
	}
	return h.Handler.Handle(ctx, r)
}

// WithAttrs implements slog.Handler.
func (h logHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return logHandler{h.Handler.WithAttrs(attrs)}
}

// WithGroup implements slog.Handler.
func (h logHandler) WithGroup(name string) slog.Handler { return logHandler{h.Handler.WithGroup(name)} }
