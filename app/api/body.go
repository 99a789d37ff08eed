package api

import (
	"strings"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"
)

// A small compressed body can expand to gigabytes (809 bytes of brotli to 3 GB). No client of this shop compresses
// bodies, so the server never decodes one: rejectEncoded rejects encoded bodies, and handlers read raw bodies.
// deploy/tools/bodies enforces this rule.

// raw returns the body as sent, at most bodyLimit bytes. It is valid during the request. Fiber's own methods decode
// without a limit.
func raw(c *fiber.Ctx) []byte { return c.Request().Body() }

// rejectEncoded precedes all routes and rejects encoded bodies with 415.
func rejectEncoded(c *fiber.Ctx) error {
	if encoded(&c.Request().Header) {
		c.Set(fiber.HeaderAcceptEncoding, "identity")
		return fiber.NewError(fiber.StatusUnsupportedMediaType,
			"Content-Encoding is not supported: send the body without an encoding")
	}
	return c.Next()
}

// encoded reports whether any Content-Encoding header contains a value other than identity.
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
