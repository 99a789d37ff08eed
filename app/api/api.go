package api

import (
	"context"
	"io/fs"
	"net/netip"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"
	"golang.org/x/time/rate"

	"stampede/app"
	"stampede/app/limits"
)

const (
	// flowTimeout bounds one flow call.
	flowTimeout = 10 * time.Second
	// longestWait bounds a long poll, seconds.
	longestWait = 30
)

// Options are what the routes stand on.
type Options struct {
	Shop     Shop
	Guest    func(bearer string) (session any, err error) // nil: guest login is off
	Accounts Accounts
	Data     PersonalData
	// Catalogue is what operators say about what is offered, Pictures what is shown of products.
	Catalogue Catalogue
	Pictures  Pictures
	// Readiness runs through the checklist of a sale.
	Readiness func(ctx context.Context, sale app.ID) (app.Readiness, error)
	// Mount serves sockets at the path, behind the handlers in front.
	Mount func(web *fiber.App, path string, front ...fiber.Handler)
	Page  fs.FS // the built page; nil: it was not built
	// Zone is by whose clocks files for people tell times.
	Zone *time.Location
	// AsyncAPI describes the socket, for /docs/asyncapi.yaml.
	AsyncAPI []byte

	// Switches is how operators have turned them.
	Switches func() app.Switches

	// Blocked reports whether requests from the address are rejected.
	Blocked func(addr netip.Addr) bool

	Origins []string       // further origins that may open sockets
	Proxies []netip.Prefix // whose X-Real-IP is believed
	Logins  limits.Pace    // of one address
	// Handshakes are those of one address, whatever comes of them.
	Handshakes limits.Pace
	Passes     limits.Pace // asked for, or solved, by one address
	// MayBuy admits a press of Buy on a sale, or fails with RateLimited; shared with the sockets.
	MayBuy func(user app.ID, addr netip.Addr, sale app.ID) error
	// NoBuy is called for each buy over HTTP that the switch for such buys rejects.
	NoBuy  func(sale app.ID, err error)
	Tracer *app.Tracer // samples buys; nil: nobody does
	Counts Counts

	// Board answers the live board of operators, with what it showed before.
	Board func(ctx context.Context) app.BoardHistory

	Closing <-chan struct{} // closed when the shop drains: no more sockets, long polls answer at once
	Metrics *Metrics
}

type api struct {
	Options
	logins     *limiter
	handshakes *limiter
	passes     *limiter
	pollers    chan struct{}
	forgeries  *limiter
	suspects   *rate.Limiter // notifications of addresses that have sent too many forgeries
	notices    chan struct{}
	stranger   *stranger
	lists      *listCache
}

// apiPath is where the routes of version 1 begin.
const apiPath = "/api/v1"

// realIP is the header in which a trusted proxy says for whom it asks.
const realIP = "X-Real-IP"

// New makes the handler of everything but health. It can be served by several servers.
func New(o Options) fasthttp.RequestHandler { return newApp(o).Handler() }

func newApp(o Options) *fiber.App {
	a := &api{
		Options: o, logins: newLimiter(o.Logins), handshakes: newLimiter(o.Handshakes),
		passes:  newLimiter(o.Passes),
		pollers: make(chan struct{}, pollersAtOnce), stranger: newStranger(), lists: newListCache(),
		forgeries: newForgeries(), suspects: newSuspects(), notices: make(chan struct{}, noticesAtOnce),
	}
	proxies := make([]string, len(o.Proxies))
	for i, p := range o.Proxies {
		proxies[i] = p.String()
	}
	f := fiber.New(fiber.Config{
		Immutable: true, DisableStartupMessage: true, ErrorHandler: fail,
		EnableTrustedProxyCheck: true, TrustedProxies: proxies, ProxyHeader: realIP, EnableIPValidation: true,
	})
	f.Use(a.Metrics.count, guard, plain, a.forwarded, a.keepOut)
	a.routes(f)
	return f
}

// routes are all addresses there are.
func (a *api) routes(f *fiber.App) {
	a.Mount(f, socketPath, a.admitSocket)

	v1 := f.Group(apiPath, func(c *fiber.Ctx) error {
		c.Set(fiber.HeaderCacheControl, "no-store")
		return c.Next()
	}, a.counted, a.cached)
	v1.Post("/auth/guest", a.guest)
	a.accountRoutes(v1)
	v1.Get("/time", a.time)
	v1.Get("/slots", a.slots)
	v1.Get("/slots/:id/sales", byID(a.salesOfSlot))
	v1.Get("/sales", a.sales)
	v1.Get("/sales/:id", byID(a.Shop.Sale))
	v1.Post("/sales/:id/buy", a.asWho(a.buy))
	v1.Post("/sales/:id/pass", a.asWho(a.askPass))
	v1.Post("/sales/:id/solve", a.asWho(a.solvePass))
	v1.Get("/products", a.products)
	v1.Get("/products/:id", byID(a.Shop.Product))
	v1.Get("/categories", a.categories)
	v1.Get("/orders", a.asUser(a.orders))
	v1.Get("/orders/:id", a.asUser(a.order))
	v1.Post("/orders/:id/cancel", a.asUser(newState(a.Shop.Cancel)))
	v1.Post("/orders/:id/pay", a.asUser(onMine(a.pay)))
	v1.Post("/orders/:id/refund", a.asUser(onMine(a.refund)))
	v1.Post("/orders/:id/receipt", a.asUser(newState(a.Shop.ConfirmReceipt)))
	a.addressRoutes(v1)
	a.dataRoutes(v1)
	a.operatorRoutes(v1.Group("/operator"))
	v1.Post("/payments/alipay/notify", a.notified)
	v1.Use(func(*fiber.Ctx) error { return fiber.ErrNotFound })

	f.Get("/images/:file", a.image)
	f.Get("/*", newPage(a.Page, a.AsyncAPI).serve)
}

// byID makes the handler of a flow that needs to know the id in the address, and nothing else.
func byID[T any](call func(ctx context.Context, id app.ID) (T, error)) fiber.Handler {
	return func(c *fiber.Ctx) error {
		id, err := pathID(c)
		if err != nil {
			return err
		}
		return flow(c, func(ctx context.Context) (T, error) { return call(ctx, id) })
	}
}

// onMine returns the handler of an operation on an object of the caller, whose ID is in the path. B is the body.
func onMine[B, T any](
	call func(ctx context.Context, who, id app.ID, body B) (T, error),
) func(c *fiber.Ctx, who app.ID) error {
	return func(c *fiber.Ctx, who app.ID) error {
		id, err := pathID(c)
		if err != nil {
			return err
		}
		return withBody(func(ctx context.Context, body B) (T, error) { return call(ctx, who, id, body) })(c)
	}
}

// flow calls a flow with a bounded context and answers what it gives, or its error.
func flow[T any](c *fiber.Ctx, call func(ctx context.Context) (T, error)) error {
	return flowWithin(c, flowTimeout, call)
}

func flowWithin[T any](c *fiber.Ctx, within time.Duration, call func(ctx context.Context) (T, error)) error {
	ctx, cancel := context.WithTimeout(logged(c), within)
	defer cancel()
	answer, err := call(ctx)
	if err != nil {
		return err
	}
	return c.JSON(answer)
}
