package server

import (
	"time"

	"stampede/app/payment"
)

// How long parcels may be under way.
const (
	shortestShipping = time.Hour
	longestShipping  = 365 * 24 * time.Hour
)

// checkMoney looks at what follows a payment.
func (c *Config) checkMoney(p *problems) {
	switch payment.RefundPolicy(c.RefundPolicy) {
	case payment.RefundAuto, payment.RefundByOperator:
	default:
		p.add("REFUND_POLICY", "is "+quote(c.RefundPolicy)+": want auto or operator")
	}
	if c.FinishAfter < shortestShipping || c.FinishAfter > longestShipping {
		p.add("FINISH_AFTER", "is "+c.FinishAfter.String()+": want 1h to 8760h (a year)")
	}
	p.check("WEBHOOK_URL", checkURL(c.WebhookURL, "https://office.example/stampede"))
	switch {
	case c.WebhookURL == "" && c.WebhookSecret != "":
		p.add("WEBHOOK_URL", "is not set, but STAMPEDE_WEBHOOK_SECRET is")
	case c.WebhookURL != "" && len(c.WebhookSecret) < minSecret:
		p.add("WEBHOOK_SECRET",
			"is missing or too short: it signs deliveries to STAMPEDE_WEBHOOK_URL and needs at least 32 random bytes")
	}
}
