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
	deliverTimeout = 5 * time.Second
	maxDeliveries  = 32
)

// notification is one notification to deliver.
type notification struct {
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
	slots    chan struct{} // limits concurrent requests
}

func newDeliverer(schedule []time.Duration) *deliverer {
	ctx, stop := context.WithCancel(context.Background())
	return &deliverer{
		schedule: schedule, ctx: ctx, stop: stop, slots: make(chan struct{}, maxDeliveries),
		client: &http.Client{
			Timeout: deliverTimeout, Transport: &http.Transport{MaxIdleConnsPerHost: maxDeliveries},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}
}

// send delivers letters in order: the next one after the previous one was accepted or given up.
func (p *deliverer) send(notifications []notification) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ctx.Err() != nil {
		return
	}
	p.wg.Go(func() {
		for _, l := range notifications {
			p.deliver(l)
		}
	})
}

func (p *deliverer) deliver(l notification) {
	shop.Sleep(p.ctx, l.after)
	for tries := 0; p.ctx.Err() == nil && !p.try(l); tries++ {
		if l.once || tries >= len(p.schedule) {
			return
		}
		shop.Sleep(p.ctx, p.schedule[tries])
	}
}

// try delivers once and reports whether the shop replied success.
func (p *deliverer) try(l notification) bool {
	select {
	case p.slots <- struct{}{}:
		defer func() { <-p.slots }()
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
