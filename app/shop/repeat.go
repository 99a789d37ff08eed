package shop

import (
	"context"
	"log/slog"
	"time"
)

// Sleep waits for d. It returns false if ctx ends first.
func Sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// Repeat calls work at once and then after each pause, until ctx ends. It logs an error with the given message and
// tries again after the pause.
func Repeat(ctx context.Context, pause time.Duration, message string, work func(ctx context.Context) error) error {
	for ctx.Err() == nil {
		if err := work(ctx); err != nil && ctx.Err() == nil {
			slog.WarnContext(ctx, message, "err", err)
		}
		Sleep(ctx, pause)
	}
	return ctx.Err()
}
