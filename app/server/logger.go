package server

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"sync/atomic"

	"github.com/redis/go-redis/v9"
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
	return slog.New(countingHandler{idsHandler{handler}})
}

// loggedErrors is how many errors the log of this process has: the log is the process's, as slog's default is.
var loggedErrors atomic.Int64

// countingHandler counts the errors that pass through it.
type countingHandler struct{ slog.Handler }

// Handle implements slog.Handler.
func (h countingHandler) Handle(ctx context.Context, r slog.Record) error {
	if r.Level >= slog.LevelError {
		loggedErrors.Add(1)
	}
	return h.Handler.Handle(ctx, r)
}

// WithAttrs implements slog.Handler.
func (h countingHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return countingHandler{h.Handler.WithAttrs(attrs)}
}

// WithGroup implements slog.Handler.
func (h countingHandler) WithGroup(name string) slog.Handler {
	return countingHandler{h.Handler.WithGroup(name)}
}
