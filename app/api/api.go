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

	"stampede/app/account"
	"stampede/app/admission"
	"stampede/app/backoffice"
	"stampede/app/board"
	"stampede/app/catalog"
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

	Now            func() shop.Millis
	Storefront     *catalog.Storefront
	Pictures       *backoffice.Pictures
	Passes         *admission.PassService
	Buy            func(ctx context.Context, user shop.ID, req order.BuyRequest) (order.Receipt, error)
	Orders         *order.Reader
	Expirer        *order.Expirer
	RefundRequests *payment.RefundRequests
	OrderAddresses *order.Addresses
	Payments       *payment.PaymentService
	// HandleNotification processes a payment notification of the gateway. payment.ErrForged: the notification is
	// not authentic. HandleNotification is nil if there is no gateway.
	HandleNotification func(ctx context.Context, form url.Values) error

	// For operators; buyers use Shipping as well.
	Refunds        *backoffice.RefundService
	Shipping       *backoffice.ShippingService
	Catalogue      *backoffice.CatalogueService
	Sales          *backoffice.SaleService
	Search         *backoffice.SearchService
	Reports        *backoffice.ReportService
	FailedJobs     *backoffice.FailedJobs
	Users          *backoffice.UserService
	Blocks         *backoffice.BlockService
	Settings       *backoffice.SettingsService
	Journal        store.Journal
	Reconciliation *payment.DailyReconciliation
	Listing        *payment.Listing
	Differences    store.Differences
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

// front has the checks in front of the handlers: proxy, block, limit, origin, identity and role.
type front struct {
	Verify   func(token string) (shop.Identity, error)
	Admit    func(class limits.Class, user shop.ID, addr netip.Addr) error
	Blocked  func(addr netip.Addr) bool
	Switches func() backoffice.Switches
	Proxies  []netip.Prefix
	Public   url.URL
	Closing  <-chan struct{}
	Metrics  *Metrics

	origins    []url.URL // origins that may open sockets and log in
	handshakes *limiter
	proxies    *proxyWarnings
	lists      *listCache
}

const (
	apiPath = "/api/v1"
	realIP  = "X-Real-IP" // the header in which a trusted proxy passes the client's address
)

// New returns the handler of all routes except health. Several servers may share it.
func New(o Options) fasthttp.RequestHandler { return newApp(o).Handler() }

func newApp(o Options) *fiber.App {
	front := &front{
		Verify: o.Verify, Admit: o.Admit, Blocked: o.Blocked, Switches: o.Switches, Proxies: o.Proxies,
		Public: o.Public, Closing: o.Closing, Metrics: o.Metrics,
		origins: originsOf(&o), handshakes: newLimiter(o.Handshakes), proxies: newProxyWarnings(),
		lists: newListCache(),
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
	f.Use(o.Metrics.count, recoverPanic, rejectEncoded, front.setClient, front.rejectBlocked)
	o.Mount(f, socketPath, front.admitSocket)
	shopRoutes(front, &o, f)
	return f
}

// shopRoutes registers the routes behind the sockets. Each group of handlers has the services of its subject.
func shopRoutes(front *front, o *Options, f *fiber.App) {
	v1 := f.Group(apiPath, func(c *fiber.Ctx) error {
		c.Set(fiber.HeaderCacheControl, "no-store")
		return c.Next()
	})
	shop := &shopHandlers{
		front: front, Storefront: o.Storefront, Pictures: o.Pictures, Texts: o.Texts, Now: o.Now, Zone: o.Zone,
	}
	(&accountHandlers{front, o.Accounts, o.Guest}).routes(v1)
	shop.routes(v1)
	(&buyHandlers{front, o.Buy, o.AdmitBuy, o.BuyRejected, o.Passes, o.Tracer}).routes(v1)
	(&orderHandlers{
		front: front, Orders: o.Orders, Expirer: o.Expirer, Payments: o.Payments, Addresses: o.OrderAddresses,
		Refunds: o.RefundRequests, Shipping: o.Shipping, pollers: newPollers(),
	}).routes(v1)
	(&addressHandlers{front, o.Addresses}).routes(v1)
	(&dataHandlers{front, o.Data}).routes(v1)
	operatorRoutes(front, o, v1.Group("/operator"))
	v1.Post("/payments/alipay/notify", newNotificationHandler(o.HandleNotification, o.Metrics).handle)
	v1.Use(func(*fiber.Ctx) error { return fiber.ErrNotFound })

	f.Get("/images/:file", front.limit(limits.Pictures), shop.image)
	p := newPage(o.Page, o.AsyncAPI)
	f.Get("/sale/:id", front.limit(limits.Pictures), shop.salePage(p))
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
