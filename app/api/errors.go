package api

import (
	"errors"
	"log/slog"
	"runtime/debug"
	"strconv"

	"github.com/gofiber/fiber/v2"

	"stampede/app/shop"
)

// status maps each error code to its HTTP status. No other table maps error codes.
var status = map[shop.Code]int{
	shop.BadRequest: fiber.StatusBadRequest, shop.Unauthorized: fiber.StatusUnauthorized,
	shop.Forbidden: fiber.StatusForbidden, shop.PassRequired: fiber.StatusForbidden,
	shop.CaptchaRequired: fiber.StatusForbidden,
	shop.AddressRequired: fiber.StatusConflict,
	shop.NotFound:        fiber.StatusNotFound, shop.UnknownOp: fiber.StatusNotFound,
	shop.NotOpen: fiber.StatusConflict, shop.Closed: fiber.StatusConflict, shop.Paused: fiber.StatusConflict,
	shop.SoldOut: fiber.StatusConflict, shop.LimitReached: fiber.StatusConflict,
	shop.DuplicateKey: fiber.StatusConflict,
	shop.WrongState:   fiber.StatusConflict, shop.Conflict: fiber.StatusConflict,
	shop.OrderExpired: fiber.StatusConflict,
	shop.RateLimited:  fiber.StatusTooManyRequests, shop.Busy: fiber.StatusServiceUnavailable,
	shop.Internal: fiber.StatusInternalServerError,
}

// body is the body of every error response.
type body struct {
	Error failure `json:"error"`
}

// failure is an error with the id of the request that caused it.
type failure struct {
	*shop.Error
	Request string `json:"request"`
}

// handleError sends an error. Fiber's own errors (no such route, wrong method, no upgrade) keep their status.
func handleError(c *fiber.Ctx, err error) error {
	var framework *fiber.Error
	if errors.As(err, &framework) {
		return send(c, framework.Code, frameworkError(framework))
	}
	e := shop.AsError(err)
	logCtx := logContext(c)
	switch {
	case e.Code == shop.Internal:
		slog.ErrorContext(logCtx, "request failed", "method", c.Method(), "path", c.Path(), "err", err)
	case e.Code == shop.Busy:
		slog.DebugContext(logCtx, "request rejected as busy; the client may retry", "method", c.Method(), "path", c.Path(), "err", err)
	}
	return send(c, status[e.Code], e)
}

func send(c *fiber.Ctx, code int, e *shop.Error) error {
	if e.RetryMS > 0 {
		c.Set(fiber.HeaderRetryAfter, strconv.FormatInt((e.RetryMS+999)/1000, 10))
	}
	if code == fiber.StatusUnauthorized {
		c.Set(fiber.HeaderWWWAuthenticate, "Bearer")
	}
	c.Set(fiber.HeaderCacheControl, "no-store")
	return c.Status(code).JSON(body{failure{e, requestID(c)}})
}

func frameworkError(e *fiber.Error) *shop.Error {
	switch e.Code {
	case fiber.StatusNotFound:
		return shop.Fail(shop.NotFound, "no such path")
	case fiber.StatusMethodNotAllowed:
		return shop.Fail(shop.BadRequest, "this path does not support the method")
	case fiber.StatusUpgradeRequired:
		return shop.Fail(shop.BadRequest, "this path accepts only WebSocket handshakes")
	case fiber.StatusInternalServerError:
		return shop.AsError(nil)
	case fiber.StatusServiceUnavailable:
		return shop.FailBusy(e.Message, drainRetry)
	default:
		return shop.Fail(shop.BadRequest, e.Message)
	}
}

// recoverPanic turns a panic of a handler into an internal error. The panic text is logged and never sent to the
// client.
func recoverPanic(c *fiber.Ctx) (err error) {
	defer func() {
		if r := recover(); r != nil {
			slog.ErrorContext(logContext(c), "handler panicked", "method", c.Method(), "path", c.Path(), "panic", r,
				"stack", string(debug.Stack()))
			err = send(c, fiber.StatusInternalServerError, shop.AsError(nil))
		}
	}()
	return c.Next()
}
