// Package fiber declares the names of the real package that the test needs.
package fiber

import "github.com/valyala/fasthttp"

type Ctx struct{}

func (c *Ctx) Body() []byte                  { return nil }
func (c *Ctx) BodyRaw() []byte               { return nil }
func (c *Ctx) BodyParser(out any) error      { return nil }
func (c *Ctx) FormValue(key string) string   { return "" }
func (c *Ctx) MultipartForm() (any, error)   { return nil, nil }
func (c *Ctx) Request() *fasthttp.Request    { return nil }
func (c *Ctx) Context() *fasthttp.RequestCtx { return nil }
