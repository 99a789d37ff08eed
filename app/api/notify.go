package api

import (
	"context"
	"errors"
	"log/slog"
	"net/url"
	"time"

	"github.com/gofiber/fiber/v2"
	"golang.org/x/time/rate"

	"stampede/app"
	"stampede/app/limits"
)

const (
	// forgeriesPerMinute is how many forged notifications an address may send before it is suspect.
	forgeriesPerMinute = 60
	// suspectsPerSecond is how many notifications of suspect addresses are looked at, all of them together; beyond it,
	// they cost no signature. They are not turned away for good: where a proxy is not named, the gateway has the
	// forgers' address. So many signatures take about a hundredth of a processor.
	suspectsPerSecond = 100
	// noticesAtOnce bounds the notifications under way: they must not take the database from those who buy. The gateway
	// sends again what is turned away.
	noticesAtOnce = 16
)

// The two words that the gateway understands. Whatever is not exactly success, it sends again.
const (
	understood = "success"
	sendAgain  = "failure"
)

// notified takes a payment notification. The body is parsed as it was sent: the signature is on its very fields. What
// the outcome was is for the log and the metrics; the sender hears one of two words, always with status 200.
func (a *api) notified(c *fiber.Ctx) error {
	if !a.Shop.TakesPayments() {
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

// takeNotice answers success, or why not: turned_away, unreadable, forged or failed.
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
	switch err := a.Shop.Notified(ctx, form); {
	case err == nil:
		return understood
	case errors.Is(err, app.ErrForged):
		_ = a.forgeries.take(ip)
		slog.Debug("forged payment notification", "from", ip, "err", err)
		return "forged"
	default:
		slog.Warn("payment notification was not taken; the gateway will send it again", "err", err)
		return "failed"
	}
}

// newForgeries makes the limiter of forged notifications.
func newForgeries() *limiter {
	return newLimiter(limits.Pace{Rate: forgeriesPerMinute, Period: time.Minute, Burst: forgeriesPerMinute})
}

// newSuspects makes the one for all addresses that are beyond it.
func newSuspects() *rate.Limiter { return rate.NewLimiter(suspectsPerSecond, suspectsPerSecond) }
