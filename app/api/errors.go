package api

import (
	"errors"
	"log/slog"
	"runtime/debug"
	"strconv"

	"github.com/gofiber/fiber/v2"

	"stampede/app"
)

// status is the only table from code to HTTP status.
var status = map[app.Code]int{
	app.BadRequest: fiber.StatusBadRequest, app.Unauthorized: fiber.StatusUnauthorized,
	app.Forbidden: fiber.StatusForbidden, app.PassRequired: fiber.StatusForbidden,
	app.CaptchaRequired: fiber.StatusForbidden,
	app.NotFound:        fiber.StatusNotFound, app.UnknownOp: fiber.StatusNotFound,
	app.NotOpen: fiber.StatusConflict, app.Closed: fiber.StatusConflict, app.Paused: fiber.StatusConflict,
	app.SoldOut: fiber.StatusConflict, app.LimitReached: fiber.StatusConflict, app.DuplicateKey: fiber.StatusConflict,
	app.WrongState: fiber.StatusConflict, app.Conflict: fiber.StatusConflict, app.OrderExpired: fiber.StatusConflict,
	app.RateLimited: fiber.StatusTooManyRequests, app.Busy: fiber.StatusServiceUnavailable,
	app.Internal: fiber.StatusInternalServerError,
}

// body is the body of every failure.
type body struct {
	Error failure `json:"error"`
}

// failure is an error with the id of its request.
type failure struct {
	*app.Error
	Request string `json:"request"`
}

// fail sends an error. Fiber's own (no such route, wrong method, no upgrade) keep their status.
func fail(c *fiber.Ctx, err error) error {
	var framework *fiber.Error
	if errors.As(err, &framework) {
		return send(c, framework.Code, wordFramework(framework))
	}
	e := app.AsError(err)
	about := logged(c)
	switch {
	case e.Code == app.Internal:
		slog.ErrorContext(about, "request failed", "method", c.Method(), "path", c.Path(), "err", err)
	case e.Code == app.Busy:
		slog.DebugContext(about, "request was told to come back", "method", c.Method(), "path", c.Path(), "err", err)
	}
	return send(c, status[e.Code], e)
}

func send(c *fiber.Ctx, code int, e *app.Error) error {
	if e.RetryMS > 0 {
		c.Set(fiber.HeaderRetryAfter, strconv.FormatInt((e.RetryMS+999)/1000, 10))
	}
	if code == fiber.StatusUnauthorized {
		c.Set(fiber.HeaderWWWAuthenticate, "Bearer")
	}
	c.Set(fiber.HeaderCacheControl, "no-store")
	return c.Status(code).JSON(body{failure{e, requestID(c)}})
}

func wordFramework(e *fiber.Error) *app.Error {
	switch e.Code {
	case fiber.StatusNotFound:
		return app.Fail(app.NotFound, "no such address")
	case fiber.StatusMethodNotAllowed:
		return app.Fail(app.BadRequest, "this address does not know that method")
	case fiber.StatusUpgradeRequired:
		return app.Fail(app.BadRequest, "this address speaks WebSocket only")
	case fiber.StatusInternalServerError:
		return app.AsError(nil)
	case fiber.StatusServiceUnavailable:
		return app.FailBusy(e.Message, drainRetry)
	default:
		return app.Fail(app.BadRequest, e.Message)
	}
}

// guard turns a panic of a handler into an internal error: the text goes to the log, never to the client.
func guard(c *fiber.Ctx) (err error) {
	defer func() {
		if r := recover(); r != nil {
			slog.ErrorContext(logged(c), "handler panicked", "method", c.Method(), "path", c.Path(), "panic", r,
				"stack", string(debug.Stack()))
			err = send(c, fiber.StatusInternalServerError, app.AsError(nil))
		}
	}()
	return c.Next()
}
