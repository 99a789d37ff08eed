package server

import (
	"errors"
	"io/fs"
	"log/slog"
	"net/netip"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/valyala/fasthttp"

	"stampede/app/account"
	"stampede/app/admission"
	"stampede/app/api"
	"stampede/app/archive"
	"stampede/app/backoffice"
	"stampede/app/catalog"
	"stampede/app/journal"
	"stampede/app/limits"
	"stampede/app/order"
	"stampede/app/outbox"
	"stampede/app/payment"
	"stampede/app/shop"
	"stampede/frontend"
	"stampede/realtime"
)

// shop is what routes and sockets ask for: the flows themselves, side by side.
type services struct {
	*account.Issuer
	blocks *backoffice.BlockList
	*catalog.Storefront
	*order.OrderReader
	*order.Checkout
	*admission.PassDesk
	*order.Expirer
	*payment.Cashier
	*payment.RefundDesk
	*backoffice.ShippingDesk
	*backoffice.SearchDesk
	*backoffice.Leftovers
	*backoffice.ReportDesk
	*account.AddressBook
	*journal.Journal
	*backoffice.SaleDesk
	*backoffice.BlockDesk
	*backoffice.SwitchDesk
	*backoffice.UserService
	*archive.ArchiveDesk
	*outbox.Reposter
	*payment.DailyReconciliation
}

// Verify is that of the issuer, except that who is blocked is forbidden everything.
func (s *services) Verify(token string) (shop.Identity, error) {
	who, err := s.Issuer.Verify(token)
	switch {
	case err != nil:
		return who, err
	case s.blocks.User(who.User):
		return shop.Identity{}, shop.Fail(shop.Forbidden, "this account is blocked")
	}
	return who, nil
}

// isOperator reports whether a token is one of an operator's.
func (s *services) isOperator(token string) bool {
	who, err := s.Verify(token)
	return err == nil && who.Role.Operates()
}

// blocked reports whether the user, or who is at the address, is kept out.
func (s *services) blocked(user shop.ID, addr netip.Addr) bool {
	return s.blocks.User(user) || s.blocks.Address(addr)
}

// handler makes the routes over the flows. closing ends long polls and refuses sockets.
func (p *parts) handler(c *Config, closing <-chan struct{}, registry *prometheus.Registry) fasthttp.RequestHandler {
	metrics := api.NewMetrics()
	registry.MustRegister(metrics)
	desk := p.catalogueDesk(c)
	o := api.Options{
		Catalogue: desk, Pictures: backoffice.NewPictures(p.stores.db),
		Readiness: checklist(desk, p.stores, p.inventory, p.gateway, c).Readiness,
		Shop:      p.shop, Accounts: p.accounts, Data: p.personalData(), Mount: p.hub.Mount, Page: builtPage(),
		AsyncAPI: realtime.AsyncAPI, Zone: c.TimeZone.Location,
		Public: c.publicOrigin(), Origins: c.Origins, Proxies: c.Proxies,
		Closing: closing, Metrics: metrics, Blocked: p.shop.blocks.Address, Switches: p.switches.Now,
		Handshakes: limits.Pace{Rate: c.HandshakeRate, Period: time.Second, Burst: c.HandshakeBurst},
		Admit:      p.limits.TakeHTTP, MayBuy: p.mayBuy, Tracer: p.tracer,
		Board: p.board.feed.History,
		NoBuy: func(sale shop.ID, err error) { p.turnAway(sale, shop.LayerNode, err) },
	}
	if c.GuestLogin {
		guests := &account.Guests{Issuer: p.shop.Issuer, Mint: p.lease.Mint}
		o.Guest = func(bearer string) (any, error) {
			if _, err := p.shop.Verify(bearer); errors.Is(err, &shop.Error{Code: shop.Forbidden}) {
				return nil, err // a new token would be of no use either
			}
			return guests.Enter(bearer)
		}
	}
	return api.New(o)
}

func builtPage() fs.FS {
	if dist, ok := frontend.Dist(); ok {
		return dist
	}
	slog.Warn("this binary was made without the page; the API works")
	return nil
}
