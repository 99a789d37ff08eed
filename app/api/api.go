package api

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"net/netip"
	"net/url"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"
	"golang.org/x/time/rate"

	"stampede/app/account"
	"stampede/app/admission"
	"stampede/app/backoffice"
	"stampede/app/board"
	"stampede/app/catalog"
	"stampede/app/journal"
	"stampede/app/limits"
	"stampede/app/order"
	"stampede/app/payment"
	"stampede/app/privacy"
	"stampede/app/shop"
	"stampede/app/store"
	"stampede/app/trace"
)

const (
	// callTimeout is the timeout of one service call.
	callTimeout = 10 * time.Second
	// maxWait is the maximum duration of a long poll, in seconds.
	maxWait = 30
)

// Options contains the dependencies and settings of the routes. A *shop.Error of a service is sent to the client; any
// other error is logged and sent as internal.
type Options struct {
	// Verify checks a token. Unauthorized: the token is invalid, expired or revoked.
	Verify    func(token string) (shop.Identity, error)
	Guest     func(bearer string) (session any, err error) // nil: guest login is off
	Accounts  *account.Accounts
	Addresses *account.AddressBook
	Data      *privacy.PersonalData

	Now           func() shop.Millis
	Storefront    *catalog.Storefront
	Picture       func(ctx context.Context, name string) ([]byte, store.ImageKind, error)
	Passes        *admission.PassService
	Buy           func(ctx context.Context, user shop.ID, req order.BuyRequest) (order.Receipt, error)
	Orders        *order.Reader
	Cancel        func(ctx context.Context, user, order shop.ID) (shop.OrderState, error)
	RequestRefund func(ctx context.Context, user, order shop.ID, reason string) (shop.OrderState, error)
	SetAddress    func(ctx context.Context, user, order shop.ID, address *shop.Address) (shop.OrderState, error)
	Pay           func(ctx context.Context, user, order shop.ID, via payment.PayVia) (payment.Payable, error)
	// HandleNotification processes a payment notification of the gateway. payment.ErrForged: the notification is
	// not authentic. HandleNotification is nil if there is no gateway.
	HandleNotification func(ctx context.Context, form url.Values) error

	// For operators; buyers use Shipping as well.
	Refunds    *backoffice.RefundService
	Shipping   *backoffice.ShippingService
	Catalogue  *backoffice.CatalogueService
	Sales      *backoffice.SaleService
	Search     *backoffice.SearchService
	SaleReport func(ctx context.Context, sale shop.ID) (backoffice.SaleReport, error)
	FailedJobs *backoffice.FailedJobs
	Users      *backoffice.UserService
	Blocks     *backoffice.BlockService
	Settings   *backoffice.SettingsService
	Journal    *journal.Journal
	// ReconcileDay compares a part of a day's payments with the gateway, starting after the given order.
	ReconcileDay func(ctx context.Context, day time.Time, after shop.ID) (payment.ReconciliationReport, error)
	// Readiness runs the checklist of a sale.
	Readiness func(ctx context.Context, sale shop.ID) (backoffice.Readiness, error)
	// Mount serves sockets at the path. The handlers in front run before the upgrade.
	Mount    func(web *fiber.App, path string, front ...fiber.Handler)
	Page     fs.FS          // the built page; nil: not built
	Zone     *time.Location // zone of times in exported files
	AsyncAPI []byte         // content of /docs/asyncapi.yaml

	Switches func() backoffice.Switches
	Texts    func() *backoffice.PublishedTexts
	// Blocked reports whether requests from the address are rejected.
	Blocked func(addr netip.Addr) bool

	Public     url.URL        // origin of the page: scheme and host
	Origins    []string       // additional origins that may open sockets
	Proxies    []netip.Prefix // trusted proxies, whose X-Real-IP or X-Forwarded-For is used
	Handshakes limits.Pace    // limit of handshakes per address; rejected handshakes also count
	// Admit admits a request of a class or fails with RateLimited. User 0 means unknown.
	Admit func(class limits.Class, user shop.ID, addr netip.Addr) error
	// AdmitBuy admits a buy or fails with RateLimited. It shares its limits with the sockets.
	AdmitBuy func(user shop.ID, addr netip.Addr, sale shop.ID) error
	// BuyRejected is called for each buy over HTTP that is rejected because the switch is off.
	BuyRejected func(sale shop.ID, err error)
	Tracer      *trace.Tracer // samples buys; may be nil

	// Board returns the live board for operators and its history.
	Board func(ctx context.Context) board.History

	Closing <-chan struct{} // closed when the shop drains: new sockets are rejected, long polls return immediately
	Metrics *Metrics
}

type api struct {
	Options
	origins        []url.URL // origins that may open sockets and log in
	handshakes     *limiter
	pollers        *pollers
	forgeryLimiter *limiter
	suspectLimiter *rate.Limiter // limits notifications of addresses that have sent too many forgeries
	notifications  chan struct{}
	untrustedProxy *untrustedProxy
	lists          *listCache
}

const (
	apiPath = "/api/v1"
	realIP  = "X-Real-IP" // the header in which a trusted proxy passes the client's address
)

// New returns the handler of all routes except health. Several servers may share it.
func New(o Options) fasthttp.RequestHandler { return newApp(o).Handler() }

func newApp(o Options) *fiber.App {
	a := &api{
		Options: o, handshakes: newLimiter(o.Handshakes), pollers: newPollers(), untrustedProxy: newUntrustedProxy(),
		lists: newListCache(), origins: originsOf(&o),
		forgeryLimiter: newForgeryLimiter(), suspectLimiter: newSuspectLimiter(),
		notifications: make(chan struct{}, maxNotifications),
	}
	proxies := make([]string, len(o.Proxies))
	for i, p := range o.Proxies {
		proxies[i] = p.String()
	}
	f := fiber.New(fiber.Config{
		Immutable: true, DisableStartupMessage: true, ErrorHandler: handleError,
		// Each route has exactly one spelling, so that proxies and checks in front of the routes can match paths.
		CaseSensitive: true, StrictRouting: true,
		EnableTrustedProxyCheck: true, TrustedProxies: proxies, ProxyHeader: realIP, EnableIPValidation: true,
	})
	f.Use(a.Metrics.count, recoverPanic, rejectEncoded, a.checkForwarding, a.rejectBlocked)
	a.routes(f)
	return f
}

func (a *api) routes(f *fiber.App) {
	a.Mount(f, socketPath, a.admitSocket)

	v1 := f.Group(apiPath, func(c *fiber.Ctx) error {
		c.Set(fiber.HeaderCacheControl, "no-store")
		return c.Next()
	})
	v1.Post("/auth/guest", a.limit(limits.Auth), a.guest)
	a.accountRoutes(v1)
	v1.Get("/time", a.time)
	v1.Get("/shop", a.limit(limits.List), a.shop)
	v1.Get("/shop/texts/:name", a.limit(limits.List), a.pageText)
	v1.Get("/slots", a.limit(limits.List), a.slots)
	v1.Get("/slots/:id/sales", a.limit(limits.List), a.salesOfSlot)
	v1.Get("/sales", a.limit(limits.List), a.sales)
	v1.Get("/sales/:id", a.limit(limits.List), byID(a.Storefront.Sale))
	v1.Get("/sales/:id/calendar", a.limit(limits.List), a.calendar)
	v1.Post("/sales/:id/buy", a.asIdentity(a.buy))
	v1.Post("/sales/:id/pass", a.limit(limits.Pass), a.asIdentity(a.requestPass))
	v1.Post("/sales/:id/solve", a.limit(limits.Pass), a.asIdentity(a.solvePass))
	v1.Get("/products", a.limit(limits.List), a.products)
	v1.Get("/products/:id", a.limit(limits.List), byID(a.Storefront.Product))
	v1.Get("/categories", a.limit(limits.List), a.categories)
	v1.Get("/orders", a.limit(limits.Orders), a.asUser(a.orders))
	v1.Get("/orders/:id", a.limit(limits.Orders), a.asUser(a.order))
	v1.Post("/orders/:id/cancel", a.limit(limits.Cancel), a.asUser(stateHandler(a.Cancel)))
	v1.Post("/orders/:id/pay", a.limit(limits.Pay), a.asUser(onMyObject(a.pay)))
	v1.Post("/orders/:id/address", a.limit(limits.Orders), a.asUser(onMyObject(a.setAddress)))
	v1.Post("/orders/:id/refund", a.limit(limits.Refund), a.asUser(onMyObject(a.refund)))
	v1.Post("/orders/:id/receipt", a.limit(limits.Orders), a.asUser(stateHandler(a.Shipping.ConfirmReceipt)))
	a.addressRoutes(v1)
	a.dataRoutes(v1)
	a.operatorRoutes(v1.Group("/operator"))
	v1.Post("/payments/alipay/notify", a.handleNotification)
	v1.Use(func(*fiber.Ctx) error { return fiber.ErrNotFound })

	f.Get("/images/:file", a.limit(limits.Pictures), a.image)
	p := newPage(a.Page, a.AsyncAPI)
	f.Get("/sale/:id", a.limit(limits.Pictures), a.salePage(p))
	f.Get("/*", p.serve)
}

// byID returns the handler of a service call on the object in the path.
func byID[T any](call func(ctx context.Context, id shop.ID) (T, error)) fiber.Handler {
	return func(c *fiber.Ctx) error {
		id, err := pathID(c)
		if err != nil {
			return err
		}
		return respond(c, func(ctx context.Context) (T, error) { return call(ctx, id) })
	}
}

// onMyObject returns the handler of an operation on an object of the caller, whose ID is in the path. B is the type of
// the body.
func onMyObject[B, T any](
	call func(ctx context.Context, who, id shop.ID, body B) (T, error),
) func(c *fiber.Ctx, who shop.ID) error {
	return func(c *fiber.Ctx, who shop.ID) error {
		id, err := pathID(c)
		if err != nil {
			return err
		}
		return withBody(func(ctx context.Context, body B) (T, error) { return call(ctx, who, id, body) })(c)
	}
}

// respond calls a service with a timeout and sends the result. It returns the error of the service.
func respond[T any](c *fiber.Ctx, call func(ctx context.Context) (T, error)) error {
	return respondWithTimeout(c, callTimeout, call)
}

func respondWithTimeout[T any](c *fiber.Ctx, timeout time.Duration, call func(ctx context.Context) (T, error)) error {
	ctx, cancel := context.WithTimeout(logContext(c), timeout)
	defer cancel()
	result, err := call(ctx)
	if err != nil {
		return err
	}
	return c.JSON(result)
}

// respondList sends a list as a named field of an object, so that responses can get further fields.
func respondList[T any](c *fiber.Ctx, name string, call func(ctx context.Context) ([]T, error)) error {
	return respond(c, func(ctx context.Context) (map[string][]T, error) {
		items, err := call(ctx)
		return map[string][]T{name: nonNilList(items)}, err
	})
}

// respondPage is respondList with the additional field `more`, which reports whether further items exist.
func respondPage[T any](c *fiber.Ctx, name string, call func(ctx context.Context) ([]T, bool, error)) error {
	return respond(c, func(ctx context.Context) (pageOf[T], error) {
		items, more, err := call(ctx)
		return pageOf[T]{name, items, more}, err
	})
}

type pageOf[T any] struct {
	name  string
	items []T
	more  bool
}

// MarshalJSON writes the list before `more`.
func (p pageOf[T]) MarshalJSON() ([]byte, error) {
	items, err := json.Marshal(nonNilList(p.items))
	return fmt.Appendf(nil, `{%q:%s,"more":%t}`, p.name, items, p.more), err
}
