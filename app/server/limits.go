package server

import (
	"context"
	"time"

	"stampede/app/limits"
	"stampede/app/shop"
)

// presetStrict is the other value of STAMPEDE_LIMITS: the figures that the field uses against bots. They lock out most
// of an office behind one address.
const presetStrict = "strict"

// presets fills in the figures of the preset that is asked for, where none is set.
func presets(vars map[string]string) {
	if vars["LIMITS"] != presetStrict {
		return
	}
	for name, v := range names() {
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
		p.within(name, int64(rate), 0, 1_000_000)
	}
	for name, burst := range map[string]int{
		"AUTH_BURST": c.AuthBurst, "HANDSHAKE_BURST": c.HandshakeBurst, "BUY_USER_BURST": c.BuyUserBurst,
		"BUY_BURST": c.BuyBurst, "BUY_ALL_BURST": c.BuyAllBurst, "OPS_RATE": c.OpsRate, "OPS_BURST": c.OpsBurst,
	} {
		p.within(name, int64(burst), 1, 1_000_000)
	}
	p.lasts("WINDOW", c.Window, 100*time.Millisecond, time.Hour)
	p.within("MAX_CONNS", int64(c.MaxConns), 1, 10_000_000)
	p.within("MAX_CONNS_PER_USER", int64(c.UserConns), 1, int64(max(1, c.MaxConns)))
	p.within("MAX_CONNS_PER_IP", int64(c.AddrConns), 1, 10_000_000)
}

// qrCalls is how many codes per second the shop requests from the gateway. About 200 calls per second made the gateway
// fail and opened the breaker.
const qrCalls = 50

// classes are the limits by class. Classes without variables of their own take a part or a multiple of a related one,
// so that 0 disables them, too.
func (c *Config) classes() limits.Classes {
	perSecond := func(rate, burst int) limits.Pace {
		return limits.Pace{Rate: rate, Period: time.Second, Burst: burst}
	}
	perWindow := func(rate, burst int) limits.Pace {
		return limits.Pace{Rate: rate, Period: c.Window, Burst: burst}
	}
	// A tenth of the pace of reads: a person presses these buttons.
	presses := limits.Limits{
		User: limits.Pace{Rate: c.OrdersPerUser, Period: 10 * c.Window, Burst: max(5, c.OrdersPerUser/5)},
		Addr: perWindow(c.OrdersPerAddr, c.OrdersPerAddr),
	}
	return limits.Classes{
		limits.Buy: {
			User: perSecond(c.BuyUserRate, c.BuyUserBurst), Addr: perSecond(c.BuyRate, c.BuyBurst),
			All: perSecond(c.BuyAllRate, c.BuyAllBurst),
		},
		limits.Pass: { // a buy takes two: the task and its solution
			User: perSecond(2*c.BuyUserRate, max(10, 2*c.BuyUserBurst)), Addr: perSecond(2*c.BuyRate, 2*c.BuyBurst),
		},
		limits.List: {Window: limits.Window{User: c.ListPerUser, Addr: c.ListPerAddr}},
		limits.Watch: { // all sockets of a user as much as one; of an address, two per handshake
			User: perSecond(c.OpsRate, c.OpsBurst), Addr: perSecond(2*c.HandshakeRate, 2*c.HandshakeBurst),
		},
		limits.Auth: {
			Addr:   limits.Pace{Rate: c.AuthRate, Period: time.Minute, Burst: c.AuthBurst},
			Window: limits.Window{User: c.AuthPerUser, Addr: c.AuthPerAddr},
		},
		limits.Orders: {
			User:   perWindow(c.OrdersPerUser, c.OrdersPerUser),
			Addr:   perWindow(c.OrdersPerAddr, c.OrdersPerAddr),
			Window: limits.Window{User: c.OrdersPerUser, Addr: c.OrdersPerAddr},
		},
		limits.Pay: presses, limits.Cancel: presses, limits.Refund: presses,
		limits.QR: {User: perSecond(1, 5), All: perSecond(qrCalls, qrCalls)},
		limits.Pictures: { // a list shows about twenty, and browsers keep them
			Addr: perWindow(4*c.ListPerAddr, 20*c.ListPerAddr),
		},
	}
}

const (
	// sharesEvery is how often a node looks how many share the limits of a whole shop. One that starts serves for as
	// long with the share of too few.
	sharesEvery = 5 * time.Second
	// sharesWithin bounds one look.
	sharesWithin = 3 * time.Second
)

// shareLimits divides the limits of the whole shop among the nodes that serve it. While the database is away the last
// count holds.
func (p *parts) shareLimits(ctx context.Context) error {
	return shop.Repeat(ctx, sharesEvery, "count the nodes that share limits", p.shareOnce)
}

func (p *parts) shareOnce(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, sharesWithin)
	defer cancel()
	nodes, err := p.stores.db.ServingNodes(ctx)
	if err != nil {
		return err
	}
	p.limits.SetNodes(nodes)
	return nil
}
