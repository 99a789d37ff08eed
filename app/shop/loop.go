package shop

import (
	"context"
	"log/slog"
	"time"
)

// Sleep waits; false when ctx ended first.
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

// Repeat works at once and then with a pause between two times, until ctx ends. What fails is logged as what the duty
// was to do, and tried again the next time.
func Repeat(ctx context.Context, pause time.Duration, what string, work func(ctx context.Context) error) error {
	for ctx.Err() == nil {
		if err := work(ctx); err != nil && ctx.Err() == nil {
			slog.WarnContext(ctx, what, "err", err)
		}
		Sleep(ctx, pause)
	}
	return ctx.Err()
}
