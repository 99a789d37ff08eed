package load

import (
	"context"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"stampede/app/shop"
)

// progress shows the current stage and its progress on a terminal. Without a writer it does nothing.
type progress struct {
	out io.Writer
	end func() // removes the bar
}

const (
	barWidth = 30
	redraw   = 200 * time.Millisecond
)

func newProgress(out io.Writer) *progress { return &progress{out: out, end: func() {}} }

// stage starts a stage with this expected length; 0: the length is unknown.
func (p *progress) stage(name string, length time.Duration) {
	p.end()
	if p.out == nil {
		return
	}
	ctx, stop := context.WithCancel(context.Background())
	var drawing sync.WaitGroup
	drawing.Go(func() { p.draw(ctx, name, length) })
	p.end = sync.OnceFunc(func() {
		stop()
		drawing.Wait()
		fmt.Fprintf(p.out, "\r%*s\r", barWidth+24, "")
	})
}

func (p *progress) draw(ctx context.Context, name string, length time.Duration) {
	for began := time.Now(); ctx.Err() == nil; shop.Sleep(ctx, redraw) {
		elapsed, filled := time.Since(began).Seconds(), 0
		if length > 0 {
			filled = int(min(1, elapsed/length.Seconds()) * barWidth)
		}
		fmt.Fprintf(p.out, "\r%-10s [%-*s] %4.0f s ", name, barWidth, strings.Repeat("=", filled), elapsed)
	}
}
