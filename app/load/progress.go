package load

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// progress shows on a terminal what is under way and how far it is. Without a writer it does nothing.
type progress struct {
	out  io.Writer
	stop chan struct{}
	done chan struct{}
}

const (
	barWidth = 30
	redraw   = 200 * time.Millisecond
)

func newProgress(out io.Writer) *progress { return &progress{out: out} }

// stage begins a stage of about the length given; 0 when nobody knows.
func (p *progress) stage(name string, length time.Duration) {
	p.end()
	if p.out == nil {
		return
	}
	p.stop, p.done = make(chan struct{}), make(chan struct{})
	go p.draw(name, length, p.stop, p.done)
}

// end takes the bar away.
func (p *progress) end() {
	if p.stop == nil {
		return
	}
	close(p.stop)
	<-p.done
	p.stop = nil
}

func (p *progress) draw(name string, length time.Duration, stop, done chan struct{}) {
	defer close(done)
	began := time.Now()
	ticker := time.NewTicker(redraw)
	defer ticker.Stop()
	for {
		elapsed := time.Since(began)
		filled := 0
		if length > 0 {
			filled = int(min(1, elapsed.Seconds()/length.Seconds()) * barWidth)
		}
		fmt.Fprintf(p.out, "\r%-10s [%-*s] %4.0f s ", name, barWidth, strings.Repeat("=", filled), elapsed.Seconds())
		select {
		case <-stop:
			fmt.Fprintf(p.out, "\r%*s\r", barWidth+24, "")
			return
		case <-ticker.C:
		}
	}
}
