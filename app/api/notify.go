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

// handleNotification processes a payment notification. It parses the raw body, because the fields are signed. The
// metrics contain the outcome; the HTTP status is always 200.
func (a *api) handleNotification(c *fiber.Ctx) error {
	if a.HandleNotification == nil {
		return fiber.ErrNotFound
	}
	outcome := a.processNotification(c.IP(), string(raw(c)))
	a.Metrics.notifications.WithLabelValues(outcome).Inc()
	c.Type("txt", "utf-8")
	if outcome == replySuccess {
		return c.SendString(replySuccess)
	}
	return c.SendString(replyFailure)
}

// processNotification processes a notification and returns its outcome: success, turned_away, unreadable, forged or
// failed.
func (a *api) processNotification(ip, body string) string {
	if a.forgeryLimiter.exhausted(ip) && !a.suspectLimiter.Allow() {
		return "turned_away"
	}
	select {
	case a.notifications <- struct{}{}:
		defer func() { <-a.notifications }()
	default:
		return "turned_away"
	}
	form, err := url.ParseQuery(body)
	if err != nil {
		_ = a.forgeryLimiter.take(ip)
		return "unreadable"
	}
	ctx, cancel := context.WithTimeout(context.Background(), callTimeout)
	defer cancel()
	switch err := a.HandleNotification(ctx, form); {
	case err == nil:
		return replySuccess
	case errors.Is(err, payment.ErrForged):
		_ = a.forgeryLimiter.take(ip)
		slog.Debug("forged payment notification", "from", ip, "err", err)
		return "forged"
	default:
		slog.Warn("payment notification failed; the gateway sends it again", "err", err)
		return "failed"
	}
}

func newForgeryLimiter() *limiter {
	return newLimiter(limits.Pace{Rate: forgeriesPerMinute, Period: time.Minute, Burst: forgeriesPerMinute})
}

func newSuspectLimiter() *rate.Limiter { return rate.NewLimiter(suspectsPerSecond, suspectsPerSecond) }
