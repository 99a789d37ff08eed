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
	idleTimeout    = 10 * time.Second // unused connections are closed after this time
)

// notification is one notification to deliver.
type notification struct {
	target string
	form   url.Values
	delay  time.Duration // pause before the first delivery
	once   bool          // delivered once, regardless of the reply
}

// deliverer delivers notifications. Each call of send has its own goroutine, which ends with the deliverer.
type deliverer struct {
	schedule []time.Duration
	client   *http.Client
	ctx      context.Context
	stop     context.CancelFunc
	mu       sync.Mutex // send and close exclude each other
	wg       sync.WaitGroup
	slots    chan struct{} // limits concurrent requests
}

func newDeliverer(schedule []time.Duration) *deliverer {
	ctx, stop := context.WithCancel(context.Background())
	return &deliverer{
		schedule: schedule, ctx: ctx, stop: stop, slots: make(chan struct{}, maxDeliveries),
		client: &http.Client{
			Timeout: deliverTimeout, Transport: &http.Transport{
				MaxIdleConnsPerHost: maxDeliveries, IdleConnTimeout: idleTimeout,
			},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}
}

// send delivers notifications in order. Each starts after the previous notification was accepted or has used all
// attempts.
func (d *deliverer) send(notifications []notification) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.ctx.Err() != nil {
		return
	}
	d.wg.Go(func() {
		for _, n := range notifications {
			d.deliver(n)
		}
	})
}

func (d *deliverer) deliver(n notification) {
	shop.Sleep(d.ctx, n.delay)
	for tries := 0; d.ctx.Err() == nil && !d.try(n); tries++ {
		if n.once || tries >= len(d.schedule) {
			return
		}
		shop.Sleep(d.ctx, d.schedule[tries])
	}
}

// try delivers once and reports whether the shop replied success.
func (d *deliverer) try(n notification) bool {
	select {
	case d.slots <- struct{}{}:
		defer func() { <-d.slots }()
	case <-d.ctx.Done():
		return false
	}
	request, err := http.NewRequestWithContext(d.ctx, http.MethodPost, n.target, strings.NewReader(n.form.Encode()))
	if err != nil {
		return false
	}
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded; charset=utf-8")
	response, err := d.client.Do(request)
	if err != nil {
		return false
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, 64))
	return err == nil && response.StatusCode == http.StatusOK && string(body) == "success"
}

// close stops the deliveries and waits for them.
func (d *deliverer) close() {
	d.mu.Lock()
	d.stop()
	d.mu.Unlock()
	d.wg.Wait()
	d.client.CloseIdleConnections()
}
