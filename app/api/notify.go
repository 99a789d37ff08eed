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
	// forgeriesPerMinute is how many forged notifications an address may send before it is suspect.
	forgeriesPerMinute = 60
	// suspectsPerSecond is how many notifications of all suspect addresses are verified; that takes about a hundredth
	// of a processor. They are not all rejected: behind an unnamed proxy the gateway has the forgers' address.
	suspectsPerSecond = 100
	// noticesAtOnce bounds concurrent notifications, so that buys keep the database. The gateway repeats rejected ones.
	noticesAtOnce = 16
)

// The replies that the gateway understands. It repeats a notification unless the reply is exactly success.
const (
	understood = "success"
	sendAgain  = "failure"
)

// notified takes a payment notification. The raw body is parsed, because its fields are signed. The outcome goes to log
// and metrics; the status is always 200.
func (a *api) notified(c *fiber.Ctx) error {
	if a.Notified == nil {
		return fiber.ErrNotFound
	}
	outcome := a.takeNotice(c.IP(), string(raw(c)))
	a.Metrics.notices.WithLabelValues(outcome).Inc()
	c.Type("txt", "utf-8")
	if outcome == understood {
		return c.SendString(understood)
	}
	return c.SendString(sendAgain)
}

// takeNotice returns success, turned_away, unreadable, forged or failed.
func (a *api) takeNotice(ip, body string) string {
	if a.forgeries.spent(ip) && !a.suspects.Allow() {
		return "turned_away"
	}
	select {
	case a.notices <- struct{}{}:
		defer func() { <-a.notices }()
	default:
		return "turned_away"
	}
	form, err := url.ParseQuery(body)
	if err != nil {
		_ = a.forgeries.take(ip)
		return "unreadable"
	}
	ctx, cancel := context.WithTimeout(context.Background(), flowTimeout)
	defer cancel()
	switch err := a.Notified(ctx, form); {
	case err == nil:
		return understood
	case errors.Is(err, payment.ErrForged):
		_ = a.forgeries.take(ip)
		slog.Debug("forged payment notification", "from", ip, "err", err)
		return "forged"
	default:
		slog.Warn("payment notification was not taken; the gateway will send it again", "err", err)
		return "failed"
	}
}

func newForgeries() *limiter {
	return newLimiter(limits.Pace{Rate: forgeriesPerMinute, Period: time.Minute, Burst: forgeriesPerMinute})
}

func newSuspects() *rate.Limiter { return rate.NewLimiter(suspectsPerSecond, suspectsPerSecond) }
