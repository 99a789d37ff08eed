package load

import (
	"context"
	"fmt"
	"time"
)

// begin waits for the instant at which all processes of a run begin, or so long after it; the crowd goes on hearing
// meanwhile. Without such an instant it begins at once. A crowd that is not ready by then is no part of that run.
func (b *bench) begin(ctx context.Context, r *Result, after time.Duration) error {
	if !b.At.IsZero() {
		at := b.At.Add(after)
		if late := time.Since(at); late > 0 {
			return fmt.Errorf("the crowd was ready %v after it was to begin: give it more time (--at)",
				late.Round(time.Millisecond))
		}
		err := b.crowd.attend(ctx, func(*loop) (time.Duration, bool) {
			wait := time.Until(at)
			return wait, wait <= 0
		})
		if err != nil {
			return err
		}
	}
	if r.began.IsZero() {
		r.began = time.Now()
	}
	return nil
}
