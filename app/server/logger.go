package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"stampede/app/shop"
)

// go-redis logs every failed connection. The caller also logs the error, so these lines are logged at debug level. The
// logger of go-redis is global and must be set before the first use.
func init() { redis.SetLogger(redisLog{}) }

type redisLog struct{}

func (redisLog) Printf(ctx context.Context, format string, args ...any) {
	slog.DebugContext(ctx, fmt.Sprintf(format, args...))
}

// Logger returns a logger with the configured level and format. Callers never log secrets or tokens.
func (c *Config) Logger(w io.Writer) *slog.Logger {
	options := &slog.HandlerOptions{Level: c.LogLevel.Level}
	var handler slog.Handler = slog.NewTextHandler(w, options)
	if c.LogFormat == "json" {
		handler = slog.NewJSONHandler(w, options)
	}
	return slog.New(logHandler{handler, &repeatFilter{now: time.Now, lines: make(map[string]*repeatedLine)}})
}

// loggedErrors counts the error lines of this process. It is global, like slog's default logger.
var loggedErrors atomic.Int64

// logHandler counts errors and drops repeats, see repeatFilter. It adds the ids of the context and of the error
// (shop.LogIDs) to lines without these ids.
type logHandler struct {
	slog.Handler

	repeats *repeatFilter
}

// Handle implements slog.Handler.
func (h logHandler) Handle(ctx context.Context, r slog.Record) error {
	if r.Level >= slog.LevelError {
		loggedErrors.Add(1)
	}
	var err error
	present := make(map[string]bool, r.NumAttrs())
	r.Attrs(func(a slog.Attr) bool {
		present[a.Key] = true
		if e, ok := a.Value.Any().(error); ok && err == nil {
			err = e
		}
		return true
	})
	if r.Level >= slog.LevelWarn && errors.Is(err, shop.ErrTransient) {
		earlier, show := h.repeats.admit(r.Message, err)
		if !show {
			return nil
		}
		if earlier > 0 {
			r.AddAttrs(slog.Int("repeated", earlier))
		}
	}
	for _, id := range shop.LogIDs(ctx, err) {
		if !present[id.Key] {
			r.AddAttrs(id)
		}
	}
	return h.Handler.Handle(ctx, r)
}

// WithAttrs implements slog.Handler.
func (h logHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return logHandler{h.Handler.WithAttrs(attrs), h.repeats}
}

// WithGroup implements slog.Handler.
func (h logHandler) WithGroup(name string) slog.Handler {
	return logHandler{h.Handler.WithGroup(name), h.repeats}
}
