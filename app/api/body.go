package api

import (
	"strings"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"
)

// A few bytes of a compressed body can expand to gigabytes (809 bytes of brotli to three). No client of this shop
// compresses bodies, so none is ever decoded: plain rejects encoded ones, and handlers read raw bodies.
// deploy/tools/bodies enforces it.

// raw returns the body as it was sent, at most bodyLimit bytes; it is valid during the request. Fiber's own methods
// decode it without a limit.
func raw(c *fiber.Ctx) []byte { return c.Request().Body() }

// plain precedes all routes and answers 415 to an encoded body.
func plain(c *fiber.Ctx) error {
	if encoded(&c.Request().Header) {
		c.Set(fiber.HeaderAcceptEncoding, "identity")
		return fiber.NewError(fiber.StatusUnsupportedMediaType,
			"send the body as it is: Content-Encoding is not supported")
	}
	return c.Next()
}

// encoded reports whether any of the Content-Encoding headers names anything but identity.
func encoded(h *fasthttp.RequestHeader) bool {
	for _, header := range h.PeekAll(fiber.HeaderContentEncoding) {
		for name := range strings.SplitSeq(string(header), ",") {
			if name = strings.TrimSpace(name); name != "" && !strings.EqualFold(name, "identity") {
				return true
			}
		}
	}
	return false
}
