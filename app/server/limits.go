package server

import (
	"context"
	"time"

	"stampede/app/limits"
	"stampede/app/shop"
)

// presetStrict is the value of STAMPEDE_LIMITS that selects limits that are usual against bots. They reject most users
// of an office behind one address. The other value is `default`.
const presetStrict = "strict"

// applyPreset applies the values of the preset to variables that are not set.
func applyPreset(vars map[string]string) {
	if vars["LIMITS"] != presetStrict {
		return
	}
	for name, v := range variablesByName() {
		if _, set := vars[name]; !set && v.Strict != "" {
			vars[name] = v.Strict
		}
	}
}

func (c *Config) checkLimits(p *problems) {
	if c.Limits != "default" && c.Limits != presetStrict {
		p.add("LIMITS", "is "+quote(c.Limits)+": want default or strict")
	}
	for name, rate := range map[string]int{
		"AUTH_RATE": c.AuthRate, "HANDSHAKE_RATE": c.HandshakeRate, "BUY_USER_RATE": c.BuyUserRate, "BUY_RATE": c.BuyRate,
		"BUY_ALL_RATE": c.BuyAllRate, "LIST_PER_USER": c.ListPerUser, "LIST_PER_IP": c.ListPerAddr,
		"AUTH_PER_USER": c.AuthPerUser, "AUTH_PER_IP": c.AuthPerAddr, "ORDERS_PER_USER": c.OrdersPerUser,
		"ORDERS_PER_IP": c.OrdersPerAddr,
	} {
		p.checkRange(name, int64(rate), 0, 1_000_000)
	}
	for name, n := range map[string]int{ // 0 does not disable these
		"AUTH_BURST": c.AuthBurst, "HANDSHAKE_BURST": c.HandshakeBurst, "BUY_USER_BURST": c.BuyUserBurst,
		"BUY_BURST": c.BuyBurst, "BUY_ALL_BURST": c.BuyAllBurst, "OPS_RATE": c.OpsRate, "OPS_BURST": c.OpsBurst,
	} {
		p.checkRange(name, int64(n), 1, 1_000_000)
	}
	p.checkDuration("WINDOW", c.Window, 100*time.Millisecond, time.Hour)
	p.checkRange("MAX_CONNS", int64(c.MaxConns), 1, 10_000_000)
	p.checkRange("MAX_CONNS_PER_USER", int64(c.UserConns), 1, int64(max(1, c.MaxConns)))
	p.checkRange("MAX_CONNS_PER_IP", int64(c.AddrConns), 1, 10_000_000)
}

// qrCalls is the number of QR codes that the whole shop requests from the gateway per second. About 200 calls per
// second made the gateway fail and opened the breaker.
const qrCalls = 50

// classes returns the limits by class. Classes without variables use a fraction or a multiple of a related limit, so
// that 0 disables them, too; the limits of QR are fixed.
func (c *Config) classes() limits.Classes {
	perSecond := func(rate, burst int) limits.Pace {
		return limits.Pace{Rate: rate, Period: time.Second, Burst: burst}
	}
	perWindow := func(rate, burst int) limits.Pace {
		return limits.Pace{Rate: rate, Period: c.Window, Burst: burst}
	}
	// A user has a tenth of the rate of reads, because people click these buttons. An address has the rate of reads.
	orderActions := limits.Limits{
		User: limits.Pace{Rate: c.OrdersPerUser, Period: 10 * c.Window, Burst: max(5, c.OrdersPerUser/5)},
		Addr: perWindow(c.OrdersPerAddr, c.OrdersPerAddr),
	}
	return limits.Classes{
		limits.Buy: {
			User: perSecond(c.BuyUserRate, c.BuyUserBurst), Addr: perSecond(c.BuyRate, c.BuyBurst),
			All: perSecond(c.BuyAllRate, c.BuyAllBurst),
		},
		limits.Pass: { // each buy needs two calls: the task and its solution
			User: perSecond(2*c.BuyUserRate, max(10, 2*c.BuyUserBurst)), Addr: perSecond(2*c.BuyRate, 2*c.BuyBurst),
		},
		limits.List: {Window: limits.Window{User: c.ListPerUser, Addr: c.ListPerAddr}},
		limits.Watch: { // all sockets of a user share the rate of one; addresses have two calls per handshake
			User: perSecond(c.OpsRate, c.OpsBurst), Addr: perSecond(2*c.HandshakeRate, 2*c.HandshakeBurst),
		},
		limits.Auth: {
			Addr:   limits.Pace{Rate: c.AuthRate, Period: time.Minute, Burst: c.AuthBurst},
			Window: limits.Window{User: c.AuthPerUser, Addr: c.AuthPerAddr},
		},
		limits.Orders: {
			// The buckets are in this node's memory; the window is counted in Redis for all nodes.
			User:   perWindow(c.OrdersPerUser, c.OrdersPerUser),
			Addr:   perWindow(c.OrdersPerAddr, c.OrdersPerAddr),
			Window: limits.Window{User: c.OrdersPerUser, Addr: c.OrdersPerAddr},
		},
		limits.Pay: orderActions, limits.Cancel: orderActions, limits.Refund: orderActions,
		limits.QR: {User: perSecond(1, 5), All: perSecond(qrCalls, qrCalls)},
		limits.Pictures: { // a list shows about 20 pictures, and browsers cache them
			Addr: perWindow(4*c.ListPerAddr, 20*c.ListPerAddr),
		},
	}
}

const (
	// sharesEvery is the interval at which a node counts the serving nodes. When a node starts, the shares of the other
	// nodes are too large for at most this time.
	sharesEvery = 5 * time.Second
	// sharesTimeout limits one count.
	sharesTimeout = 3 * time.Second
)

// shareLimits divides the shop-wide limits among the serving nodes. While the database is unreachable the last count
// applies.
func (p *parts) shareLimits(ctx context.Context) error {
	return shop.Repeat(ctx, sharesEvery, "count the nodes that share limits", p.updateShares)
}

func (p *parts) updateShares(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, sharesTimeout)
	defer cancel()
	nodes, err := p.stores.db.Nodes().ServingNodes(ctx)
	if err != nil {
		return err
	}
	p.limits.SetNodes(nodes)
	return nil
}

// buyLimiter admits buys of sockets and HTTP.
func (p *parts) buyLimiter() *limits.BuyLimiter {
	return &limits.BuyLimiter{Limiter: p.limits, Counts: &p.board.counts}
}
