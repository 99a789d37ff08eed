package server

import (
	"context"
	"fmt"
	"io"
	"log/slog"

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
	if c.LogFormat == "json" {
		return slog.New(slog.NewJSONHandler(w, options))
	}
	return slog.New(slog.NewTextHandler(w, options))
}
