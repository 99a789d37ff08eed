package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"math"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/gofiber/fiber/v2"

	"stampede/app/admission"
	"stampede/app/backoffice"
	"stampede/app/limits"
	"stampede/app/order"
	"stampede/app/payment"
	"stampede/app/shop"
	"stampede/app/trace"
)

const (
	// pollEvery is the interval at which a long poll reads the order.
	pollEvery = 500 * time.Millisecond
	// Limits of concurrent long polls per node, user and address; further polls return immediately.
	maxPollers     = 512
	pollersPerUser = 3
	pollersPerAddr = 64
)

type (
	stateResponse struct {
		State shop.OrderState `json:"state"`
	}
	buyBody struct {
		Qty     json.RawMessage `json:"qty"`
		Key     string          `json:"key"`
		Address *shop.Address   `json:"address"`
		Pass    string          `json:"pass"`
	}
	payBody struct {
		Via string `json:"via"`
	}
	addressBody struct {
		Address *shop.Address `json:"address"`
	}
	refundBody struct {
		Reason string `json:"reason"`
	}
)

// errHTTPBuyOff is shared and must not be changed.
var errHTTPBuyOff = shop.Fail(shop.Forbidden, "buying over HTTP is switched off; buy on the page, which uses a socket")

// buyHandlers serve buys and the passes that a sale may require.
type buyHandlers struct {
	*front
	Buy      func(ctx context.Context, user shop.ID, req order.BuyRequest) (order.Receipt, error)
	Admit    func(user shop.ID, addr netip.Addr, sale shop.ID) error
	Rejected func(sale shop.ID, err error)
	Passes   *admission.PassService
	Tracer   *trace.Tracer
}

func (h *buyHandlers) routes(v1 fiber.Router) {
	v1.Post("/sales/:id/buy", h.asIdentity(h.buy))
	v1.Post("/sales/:id/pass", h.limit(limits.Pass), h.asIdentity(h.requestPass))
	v1.Post("/sales/:id/solve", h.limit(limits.Pass), h.asIdentity(h.solvePass))
}

func (h *buyHandlers) buy(c *fiber.Ctx, who shop.Identity) error {
	sale, err := pathID(c)
	if err != nil {
		return err
	}
	if !h.Switches().HTTPBuy {
		h.Rejected(sale, errHTTPBuyOff)
		return errHTTPBuyOff
	}
	if err := h.Admit(who.User, hostAddr(c.IP()), sale); err != nil {
		return err
	}
	var b buyBody
	if err := decode(raw(c), &b); err != nil {
		return err
	}
	qty, err := parseQuantity(b.Qty)
	if err != nil {
		return err
	}
	req := order.BuyRequest{
		Sale: sale, Qty: qty, Key: b.Key, Address: b.Address, Pass: b.Pass,
		Span: h.Tracer.Sample("http", c.Context().Time()),
	}
	return respond(c, func(ctx context.Context) (order.Receipt, error) {
		return h.Buy(shop.BoundTo(ctx, &who), who.User, req)
	})
}

// stateHandler returns the handler of an operation without a body on an order of the caller, whose ID is in the path.
func stateHandler(
	call func(ctx context.Context, user, order shop.ID) (shop.OrderState, error),
) func(c *fiber.Ctx, user shop.ID) error {
	return func(c *fiber.Ctx, user shop.ID) error {
		return byID(func(ctx context.Context, order shop.ID) (stateResponse, error) {
			state, err := call(ctx, user, order)
			return stateResponse{state}, err
		})(c)
	}
}

// orderHandlers serve the caller's orders.
type orderHandlers struct {
	*front
	Orders    *order.Reader
	Expirer   *order.Expirer
	Payments  *payment.PaymentService
	Addresses *order.Addresses
	Refunds   *payment.RefundRequests
	Shipping  *backoffice.ShippingService
	pollers   *pollers
}

func (h *orderHandlers) routes(v1 fiber.Router) {
	v1.Get("/orders", h.limit(limits.Orders), h.asUser(h.orders))
	v1.Get("/orders/:id", h.limit(limits.Orders), h.asUser(h.order))
	v1.Post("/orders/:id/cancel", h.limit(limits.Cancel), h.asUser(stateHandler(h.Expirer.Cancel)))
	v1.Post("/orders/:id/pay", h.limit(limits.Pay), h.asUser(onMyObject(h.pay)))
	v1.Post("/orders/:id/address", h.limit(limits.Orders), h.asUser(onMyObject(h.setAddress)))
	v1.Post("/orders/:id/refund", h.limit(limits.Refund), h.asUser(onMyObject(h.refund)))
	v1.Post("/orders/:id/receipt", h.limit(limits.Orders), h.asUser(stateHandler(h.Shipping.ConfirmReceipt)))
}

func (h *orderHandlers) orders(c *fiber.Ctx, user shop.ID) error {
	q := shop.OrdersQuery{User: user}
	var err error
	if q.Sale, err = queryID(c, "sale"); err != nil {
		return err
	}
	if q.Before, q.Limit, err = parseBefore(c); err != nil {
		return err
	}
	return h.cached(c, "orders", q, user, func() error {
		return respondPage(c, "orders", func(ctx context.Context) ([]shop.Order, bool, error) {
			return h.Orders.OrdersOf(ctx, q)
		})
	})
}

func (h *orderHandlers) pay(ctx context.Context, user, order shop.ID, b payBody) (payment.Payable, error) {
	return h.Payments.Pay(ctx, user, order, payment.PayVia(b.Via))
}

func (h *orderHandlers) setAddress(ctx context.Context, user, order shop.ID, b addressBody) (stateResponse, error) {
	state, err := h.Addresses.SetAddress(ctx, user, order, b.Address)
	return stateResponse{state}, err
}

func (h *orderHandlers) refund(ctx context.Context, user, order shop.ID, b refundBody) (stateResponse, error) {
	state, err := h.Refunds.RequestRefund(ctx, user, order, b.Reason)
	return stateResponse{state}, err
}

// order sends an order of the user and its timeline. With the parameter wait it responds when the order changes, or
// after wait seconds.
func (h *orderHandlers) order(c *fiber.Ctx, user shop.ID) error {
	id, err := pathID(c)
	if err != nil {
		return err
	}
	wait, err := queryInt(c, "wait", 0, 0, maxWait)
	if err != nil {
		return err
	}
	addr := hostAddr(c.IP())
	timeout := time.Duration(wait) * time.Second
	return respondWithTimeout(c, timeout+callTimeout, func(ctx context.Context) (order.Detail, error) {
		found, err := h.Orders.Order(ctx, user, id)
		if err != nil {
			return order.Detail{}, err
		}
		if wait > 0 && h.pollers.enter(user, addr) {
			defer h.pollers.leave(user, addr)
			found = h.waitForChange(user, found, timeout)
		}
		return h.Orders.Detail(ctx, found)
	})
}

// waitForChange reads the order every pollEvery until it has changed or the timeout has passed. It retries after
// errors.
func (h *orderHandlers) waitForChange(user shop.ID, order shop.Order, timeout time.Duration) shop.Order {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	ticker := time.NewTicker(pollEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return order
		case <-h.Closing:
			return order
		case <-ticker.C:
			current, err := h.Orders.Order(ctx, user, order.ID)
			if err == nil && (current.State != order.State || current.Rev != order.Rev) {
				return current
			}
		}
	}
}

// pollers counts the running long polls.
type pollers struct {
	mu     sync.Mutex
	places limits.Places
}

func newPollers() *pollers {
	return &pollers{places: limits.Places{Max: maxPollers, User: pollersPerUser, Addr: pollersPerAddr}}
}

// enter reserves a place and reports whether one was free. leave releases the place.
func (p *pollers) enter(user shop.ID, addr netip.Addr) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	free := p.places.HasRoom(user, addr)
	if free {
		p.places.Add(user, addr, 1)
	}
	return free
}

func (p *pollers) leave(user shop.ID, addr netip.Addr) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.places.Add(user, addr, -1)
}

// decode parses exactly one JSON object, also after a byte order mark. Unknown fields are ignored.
func decode(text []byte, target any) error {
	d := json.NewDecoder(bytes.NewReader(bytes.TrimPrefix(text, []byte(shop.ByteOrderMark))))
	if err := d.Decode(target); err != nil {
		var kind *json.UnmarshalTypeError
		if errors.As(err, &kind) && kind.Field != "" {
			return shop.Fail(shop.BadRequest, kind.Field+" must be a "+kind.Type.String())
		}
		return shop.Fail(shop.BadRequest, "the body must be a JSON object")
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return shop.Fail(shop.BadRequest, "the body must contain one JSON object and nothing else")
	}
	return nil
}

// parseQuantity parses an integer. For values above the range of int it returns the maximum, which the service rejects.
func parseQuantity(raw json.RawMessage) (int, error) {
	text := string(raw)
	n, err := strconv.Atoi(text)
	switch {
	case err == nil:
		return n, nil
	case errors.Is(err, strconv.ErrRange) && !strings.HasPrefix(text, "-"):
		return math.MaxInt, nil
	}
	return 0, shop.Fail(shop.BadRequest, "qty must be a whole number of at least 1")
}

// solveBody is the solution of a challenge.
type solveBody struct {
	Task   string `json:"task"`
	Answer string `json:"answer"`
}

// requestPass returns a pass for the sale in the path, or the challenge that must be solved first. The body is ignored.
func (h *buyHandlers) requestPass(c *fiber.Ctx, who shop.Identity) error {
	return handlePass(c, who, admission.PassRequest{}, h.Passes.RequestPass)
}

// solvePass returns the pass for a solved challenge.
func (h *buyHandlers) solvePass(c *fiber.Ctx, who shop.Identity) error {
	var b solveBody
	if err := decode(raw(c), &b); err != nil {
		return err
	}
	return handlePass(c, who, admission.PassRequest{Task: b.Task, Answer: b.Answer}, h.Passes.SolvePass)
}

// handlePass serves a call of the pass service for the sale in the path.
func handlePass(
	c *fiber.Ctx, who shop.Identity, q admission.PassRequest,
	requestPass func(ctx context.Context, q admission.PassRequest) (admission.PassResult, error),
) (err error) {
	if q.Sale, err = pathID(c); err != nil {
		return err
	}
	q.User, q.From = who.User, hostAddr(c.IP())
	return respond(c, func(ctx context.Context) (admission.PassResult, error) {
		return requestPass(shop.BoundTo(ctx, &who), q)
	})
}
