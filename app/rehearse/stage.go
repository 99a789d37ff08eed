package rehearse

import (
	"context"
	"crypto/tls"
	"time"

	"stampede/app"
)

// Stage is the side of the deployment that a rehearsal needs, from whoever has its configuration.
type Stage struct {
	Desk  *app.RehearsalDesk
	Actor app.Actor
	Mint  func() (app.ID, error)
	// Token signs a token for a shopper of the rehearsal whose sale is named.
	Token func(user, sale app.ID, ttl time.Duration) (string, error)
	Board func(ctx context.Context) (app.Board, error)
	Audit func(ctx context.Context, sales ...app.ID) ([]app.AuditReport, error)
	// Asks is what the sale asks of its buyers before a buy.
	Asks func(ctx context.Context, sale app.ID) (app.Challenge, error)
}

// Options say what is rehearsed, and what is good enough.
type Options struct {
	Sale     app.ID
	Shoppers int
	Units    int64         // 0: as many as the sale has
	For      time.Duration // how long the copy is open
	Rush     time.Duration // over what time the crowd presses after the opening
	Force    bool

	Target string      // http://host:port or https://host:port
	TLS    *tls.Config // nil: the system's

	Limits   Limits
	Progress func(stage string, now, of int) // hears how far it is, about once a second; nil: nobody does
}

// Limits are what a deployment must keep to be ready. One that is 0 is not looked at.
type Limits struct {
	Connect    time.Duration // p99 of handshake and hello
	FirstStock time.Duration // p99 from watch to the first stock
	Answer     time.Duration // p99 from press to answer
	Order      time.Duration // p99 from press to the order
	Oldest     time.Duration // age of the oldest entry of the partition that waits for the database
	Expiry     time.Duration // of a unit that comes back late
	Ticks      float64       // a second, for the middle shopper in the busiest second
	Rate       float64       // answered buys a second, in the busiest second
	Retried    float64       // share of the answers that were busy or rate_limited
}

// connectFor is how long the crowd may take to come in, and settleFor what comes after the sale has closed: orders
// expire, and their shoppers hear of it.
const (
	connectFor = 2 * time.Minute
	settleFor  = app.RehearsalPayWindow + 10*time.Second
)

// lasts is how long a rehearsal is there at most.
func (o *Options) lasts() time.Duration { return connectFor + o.For + settleFor + time.Minute }
