// Package fasthttp declares the names of the real package that the test needs.
package fasthttp

type (
	Request    struct{}
	RequestCtx struct{ Request Request }
)

func (r *Request) Body() []byte                                 { return nil }
func (r *Request) BodyGunzip() ([]byte, error)                  { return nil, nil }
func (r *Request) BodyGunzipWithLimit(most int) ([]byte, error) { return nil, nil }
func (r *Request) BodyUncompressed() ([]byte, error)            { return nil, nil }
func (c *RequestCtx) PostBody() []byte                          { return nil }
func (c *RequestCtx) FormValue(key string) []byte               { return nil }

func AppendUnbrotliBytes(to, from []byte) ([]byte, error) { return nil, nil }
