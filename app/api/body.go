package api

import (
	"strings"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"
)

// A few bytes of a compressed body can stand for gigabytes: 809 bytes of brotli did for three. No client of this shop
// compresses what it sends, and nothing here is longer than bodyLimit, so nothing is ever decoded: plain refuses what
// says that it is encoded, before anybody looks at it, and handlers read raw bodies. deploy/tools/bodies keeps it so.

// raw is the body as it was sent, at most bodyLimit bytes; it is valid while the request is. Fiber's own ways to it
// decode what Content-Encoding names, nested and without a limit.
func raw(c *fiber.Ctx) []byte { return c.Request().Body() }

// plain goes in front of all routes and answers 415 to a request whose body is encoded in any way.
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
