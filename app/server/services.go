package server

import (
	"errors"
	"io/fs"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/valyala/fasthttp"

	"stampede/app/account"
	"stampede/app/api"
	"stampede/app/backoffice"
	"stampede/app/board"
	"stampede/app/catalog"
	"stampede/app/limits"
	"stampede/app/order"
	"stampede/app/payment"
	"stampede/app/shop"
	"stampede/frontend"
	"stampede/realtime"
)

// services holds the services that routes and sockets call, except services that other parts also use.
type services struct {
	storefront     *catalog.Storefront
	orders         *order.Reader
	checkout       *order.Checkout
	payments       *payment.PaymentService
	reconciliation *payment.DailyReconciliation
	listing        *payment.Listing
	refundRequests *payment.RefundRequests
	refunds        *backoffice.RefundService
	shipping       *backoffice.ShippingService
	addresses      *account.AddressBook
	orderAddresses *order.Addresses
	search         *backoffice.SearchService
	reports        *backoffice.ReportService
	failedJobs     *backoffice.FailedJobs
	sales          *backoffice.SaleService
	blocks         *backoffice.BlockService
	switches       *backoffice.SettingsService
	users          *backoffice.UserService
}

// handler returns the HTTP routes. closing ends long polls and rejects new sockets.
func (p *parts) handler(c *Config, closing <-chan struct{}, registry *prometheus.Registry) fasthttp.RequestHandler {
	registry.MustRegister(p.httpMetrics)
	service := p.catalogueService(c)
	s := &p.services
	o := api.Options{
		Verify: p.auth.verify, Accounts: p.accounts, Addresses: s.addresses, Data: p.personalData(),
		Now: p.clock.Now, Storefront: s.storefront, Pictures: backoffice.NewPictures(p.stores.db),
		Passes: p.passService, Buy: s.checkout.Buy, Orders: s.orders, Expirer: p.expirer, Payments: s.payments,
		RefundRequests: s.refundRequests, OrderAddresses: s.orderAddresses,

		Refunds: s.refunds, Shipping: s.shipping, Catalogue: service, Sales: s.sales, Search: s.search,
		Reports:    s.reports,
		FailedJobs: s.failedJobs, Users: s.users, Blocks: s.blocks, Settings: s.switches,
		Journal:        p.stores.db.Journal(),
		Reconciliation: s.reconciliation, Listing: s.listing, Differences: p.stores.db.Differences(),
		Readiness: checklist(service, p.stores, p.inventory, p.gateway, c).Readiness,

		Mount: p.hub.Mount, Page: embeddedPage(), AsyncAPI: realtime.AsyncAPI, Zone: c.TimeZone.Location,
		Public: c.publicOrigin(), Origins: c.Origins, Proxies: c.Proxies,
		Closing: closing, Metrics: p.httpMetrics, Blocked: p.auth.blocks.Address, Switches: p.switches.Now,
		Texts:      p.texts.Now,
		Handshakes: limits.Pace{Rate: c.HandshakeRate, Period: time.Second, Burst: c.HandshakeBurst},
		Admit:      p.limits.TakeHTTP, AdmitBuy: p.buyLimiter().Admit, Tracer: p.tracer,
		Board: p.board.feed.History,
		BuyRejected: func(sale shop.ID, err error) {
			p.board.counts.Count(board.BuyResult{Sale: sale, Layer: shop.LayerNode, Err: err})
		},
	}
	if s.payments.TakesPayments() {
		o.HandleNotification = s.payments.HandleNotification
	}
	if c.GuestLogin {
		guests := &account.Guests{Issuer: p.auth.issuer, Mint: p.lease.Mint}
		o.Guest = func(bearer string) (any, error) {
			if _, err := p.auth.verify(bearer); errors.Is(err, &shop.Error{Code: shop.Forbidden}) {
				return nil, err // a new token would be rejected, too
			}
			return guests.LogIn(bearer)
		}
	}
	return api.New(o)
}

func embeddedPage() fs.FS {
	if dist, ok := frontend.Dist(); ok {
		return dist
	}
	slog.Warn("this binary was built without the page; only the API works")
	return nil
}
