package server

import (
	"time"

	"stampede/app/limits"
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

// buyPaces are how often Buy may be pressed.
func (c *Config) buyPaces() limits.BuyPaces {
	return limits.BuyPaces{
		User: limits.Pace{Rate: c.BuyUserRate, Period: time.Second, Burst: c.BuyUserBurst},
		Addr: limits.Pace{Rate: c.BuyRate, Period: time.Second, Burst: c.BuyBurst},
		All:  limits.Pace{Rate: c.BuyAllRate, Period: time.Second, Burst: c.BuyAllBurst},
	}
}
