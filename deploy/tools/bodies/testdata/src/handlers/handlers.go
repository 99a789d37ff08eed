// Package handlers reads bodies correctly and incorrectly.
package handlers

import (
	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"
)

type wrapped struct{ *fiber.Ctx }

func wrong(c *fiber.Ctx, w wrapped) {
	c.Body()                               // want `fiber/v2.Ctx.Body decodes without a limit`
	w.Body()                               // want `Ctx.Body decodes`
	read := c.Body                         // want `Ctx.Body decodes`
	_ = c.BodyParser(&read)                // want `Ctx.BodyParser decodes`
	c.FormValue("a")                       // want `Ctx.FormValue decodes`
	c.MultipartForm()                      // want `Ctx.MultipartForm decodes`
	c.Request().BodyGunzip()               // want `Request.BodyGunzip decodes`
	c.Request().BodyUncompressed()         // want `Request.BodyUncompressed decodes`
	c.Context().FormValue("a")             // want `RequestCtx.FormValue decodes`
	fasthttp.AppendUnbrotliBytes(nil, nil) // want `fasthttp.AppendUnbrotliBytes decodes`
	_ = (*fiber.Ctx).Body                  // want `Ctx.Body decodes`
}

type other struct{}

func (other) Body() []byte { return nil }

func right(c *fiber.Ctx) {
	c.Request().Body()
	c.BodyRaw()
	c.Context().PostBody()
	c.Request().BodyGunzipWithLimit(1 << 20)
	other{}.Body()
}
