package api

import (
	"context"
	"errors"
	"log/slog"
	"net/url"
	"time"

	"github.com/gofiber/fiber/v2"
	"golang.org/x/time/rate"

	"stampede/app/limits"
	"stampede/app/payment"
)

const (
	// forgeriesPerMinute is the number of forged notifications after which an address is suspect.
	forgeriesPerMinute = 60
	// suspectsPerSecond limits the verified notifications of all suspect addresses together. Their verification takes
	// about 1 % of one CPU core. Not all of these notifications are rejected: behind an untrusted proxy the gateway has
	// the same address as the forgers.
	suspectsPerSecond = 100
	// maxNotifications limits concurrent notifications, so that the database is free for buys. The gateway repeats
	// rejected notifications.
	maxNotifications = 16
)

// replySuccess and replyFailure are the replies to the gateway. The gateway repeats a notification unless the reply is
// exactly success.
const (
	replySuccess = "success"
	replyFailure = "failure"
)

// notificationHandler serves payment notifications of the gateway.
type notificationHandler struct {
	handleForm     func(ctx context.Context, form url.Values) error // nil: there is no gateway
	metrics        *Metrics
	forgeryLimiter *limiter
	suspectLimiter *rate.Limiter // limits notifications of addresses that have sent too many forgeries
	running        chan struct{} // has an element per running notification
}

func newNotificationHandler(
	handleForm func(ctx context.Context, form url.Values) error, metrics *Metrics,
) *notificationHandler {
	return &notificationHandler{
		handleForm: handleForm, metrics: metrics, running: make(chan struct{}, maxNotifications),
		forgeryLimiter: newLimiter(limits.Pace{
			Rate: forgeriesPerMinute, Period: time.Minute, Burst: forgeriesPerMinute,
		}),
		suspectLimiter: rate.NewLimiter(suspectsPerSecond, suspectsPerSecond),
	}
}

// handle processes a payment notification. It parses the raw body, because the fields are signed. The
// metrics contain the outcome; the HTTP status is always 200.
func (h *notificationHandler) handle(c *fiber.Ctx) error {
	if h.handleForm == nil {
		return fiber.ErrNotFound
	}
	outcome := h.process(c.IP(), string(raw(c)))
	h.metrics.countNotification(outcome)
	c.Type("txt", "utf-8")
	if outcome == outcomeSuccess {
		return c.SendString(replySuccess)
	}
	return c.SendString(replyFailure)
}

// process processes a notification and returns its outcome.
func (h *notificationHandler) process(ip, body string) string {
	if h.forgeryLimiter.exhausted(ip) && !h.suspectLimiter.Allow() {
		return outcomeRejected
	}
	select {
	case h.running <- struct{}{}:
		defer func() { <-h.running }()
	default:
		return outcomeRejected
	}
	form, err := url.ParseQuery(body)
	if err != nil {
		_ = h.forgeryLimiter.take(ip)
		return outcomeUnreadable
	}
	ctx, cancel := context.WithTimeout(context.Background(), callTimeout)
	defer cancel()
	switch err := h.handleForm(ctx, form); {
	case err == nil:
		return outcomeSuccess
	case errors.Is(err, payment.ErrForged):
		_ = h.forgeryLimiter.take(ip)
		slog.Debug("forged payment notification", "from", ip, "err", err)
		return outcomeForged
	default:
		slog.Warn("payment notification failed; the gateway sends it again", "err", err)
		return outcomeFailed
	}
}
