package api

import (
	"errors"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/prometheus/client_golang/prometheus"

	"stampede/app/shop"
)

// Metrics counts requests by route and status, and payment notifications by outcome. Register it as a Prometheus
// collector.
type Metrics struct {
	requests      *prometheus.CounterVec
	seconds       *prometheus.HistogramVec
	notifications *prometheus.CounterVec
	forged        atomic.Int64 // notifications

	untrustedForwards, unreadableClients prometheus.Counter
}

// The outcomes of payment notifications.
const (
	outcomeSuccess    = "success"
	outcomeForged     = "forged"
	outcomeUnreadable = "unreadable"
	outcomeFailed     = "failed"   // the gateway sends it again
	outcomeRejected   = "rejected" // too many at once, or from an address that has sent many forged ones
)

// NewMetrics creates the metrics of the handler that New returns.
func NewMetrics() *Metrics {
	m := &Metrics{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "stampede_http_requests_total", Help: "HTTP requests with a response, by route and status.",
		}, []string{"route", "status"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "stampede_http_seconds", Help: "Response time of HTTP requests, by route.",
			Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 5, 30},
		}, []string{"route"}),
		notifications: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "stampede_payment_notifications_total",
			Help: "Payment notifications, by outcome.",
		}, []string{"outcome"}),
		untrustedForwards: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "stampede_http_untrusted_forwards_total",
			Help: "Requests with X-Real-IP, X-Forwarded-For or Forwarded from a peer that is not a trusted proxy.",
		}),
		unreadableClients: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "stampede_http_unreadable_clients_total",
			Help: "Requests of a trusted proxy with a client address that cannot be read; they count for the proxy.",
		}),
	}
	for _, outcome := range []string{outcomeSuccess, outcomeForged, outcomeUnreadable, outcomeFailed, outcomeRejected} {
		m.notifications.WithLabelValues(outcome) // 0 from the start, so that an alert sees the first one
	}
	return m
}

// countNotification counts a payment notification.
func (m *Metrics) countNotification(outcome string) {
	m.notifications.WithLabelValues(outcome).Inc()
	if outcome == outcomeForged {
		m.forged.Add(1)
	}
}

// Forged returns the number of forged payment notifications.
func (m *Metrics) Forged() int64 { return m.forged.Load() }

// Describe implements prometheus.Collector.
func (m *Metrics) Describe(ch chan<- *prometheus.Desc) {
	m.requests.Describe(ch)
	m.seconds.Describe(ch)
	m.notifications.Describe(ch)
	m.untrustedForwards.Describe(ch)
	m.unreadableClients.Describe(ch)
}

// Collect implements prometheus.Collector.
func (m *Metrics) Collect(ch chan<- prometheus.Metric) {
	m.requests.Collect(ch)
	m.seconds.Collect(ch)
	m.notifications.Collect(ch)
	m.untrustedForwards.Collect(ch)
	m.unreadableClients.Collect(ch)
}

// count counts and measures requests; it wraps all handlers. The route label is the pattern of the route, so that
// clients cannot create labels.
func (m *Metrics) count(c *fiber.Ctx) error {
	began := time.Now()
	err := c.Next()
	code := c.Response().StatusCode()
	if err != nil {
		code = statusOf(err)
	}
	route := c.Route().Path
	m.requests.WithLabelValues(route, strconv.Itoa(code)).Inc()
	m.seconds.WithLabelValues(route).Observe(time.Since(began).Seconds())
	return err
}

// statusOf returns the status that handleError sends.
func statusOf(err error) int {
	var framework *fiber.Error
	if errors.As(err, &framework) {
		return framework.Code
	}
	return status[shop.AsError(err).Code]
}
