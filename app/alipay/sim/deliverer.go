package sim

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"stampede/app/shop"
)

const (
	deliverWithin = 5 * time.Second
	handsAtOnce   = 32
)

// letter is one notification to deliver.
type letter struct {
	to    string
	form  url.Values
	after time.Duration // before the first delivery
	once  bool          // not repeated, regardless of the reply
}

// deliverer delivers notifications, each in its own goroutine, which ends with the deliverer.
type deliverer struct {
	schedule []time.Duration
	client   *http.Client
	ctx      context.Context
	stop     context.CancelFunc
	mu       sync.Mutex // orders the last send before close
	wg       sync.WaitGroup
	hands    chan struct{} // limits concurrent requests
}

func newDeliverer(schedule []time.Duration) *deliverer {
	ctx, stop := context.WithCancel(context.Background())
	return &deliverer{
		schedule: schedule, ctx: ctx, stop: stop, hands: make(chan struct{}, handsAtOnce),
		client: &http.Client{
			Timeout: deliverWithin, Transport: &http.Transport{MaxIdleConnsPerHost: handsAtOnce},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}
}

// send delivers letters in order: the next one after the previous one was accepted or given up.
func (p *deliverer) send(letters []letter) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ctx.Err() != nil {
		return
	}
	p.wg.Go(func() {
		for _, l := range letters {
			p.deliver(l)
		}
	})
}

func (p *deliverer) deliver(l letter) {
	shop.Sleep(p.ctx, l.after)
	for tries := 0; p.ctx.Err() == nil && !p.try(l); tries++ {
		if l.once || tries >= len(p.schedule) {
			return
		}
		shop.Sleep(p.ctx, p.schedule[tries])
	}
}

// try delivers once and reports whether the shop replied success.
func (p *deliverer) try(l letter) bool {
	select {
	case p.hands <- struct{}{}:
		defer func() { <-p.hands }()
	case <-p.ctx.Done():
		return false
	}
	request, err := http.NewRequestWithContext(p.ctx, http.MethodPost, l.to, strings.NewReader(l.form.Encode()))
	if err != nil {
		return false
	}
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded; charset=utf-8")
	response, err := p.client.Do(request)
	if err != nil {
		return false
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, 64))
	return err == nil && response.StatusCode == http.StatusOK && string(body) == "success"
}

// close stops the deliveries and waits for them.
func (p *deliverer) close() {
	p.mu.Lock()
	p.stop()
	p.mu.Unlock()
	p.wg.Wait()
	p.client.CloseIdleConnections()
}
