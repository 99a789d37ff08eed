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

// progress shows on a terminal what is under way and how far it is. Without a writer it does nothing.
type progress struct {
	out io.Writer
	end func() // takes the bar away
}

const (
	barWidth = 30
	redraw   = 200 * time.Millisecond
)

func newProgress(out io.Writer) *progress { return &progress{out: out, end: func() {}} }

// stage begins a stage of about the length given; 0 when nobody knows.
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
