package api

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"log/slog"
	"mime"
	"path"
	"strings"
	"sync"

	"github.com/gofiber/fiber/v2"

	"stampede/app/api/spec"
)

// notBuilt is shown when the binary carries no page.
const notBuilt = `<!doctype html><html lang="en"><meta charset="utf-8"><title>Stampede</title>
<h1>The page was not built</h1>
<p>The program runs and its API answers under <a href="/api/v1/slots">/api/v1</a>,
but this binary was made without the page. Build both with <code>npx --yes rust-just build</code>.</p></html>`

const (
	docsPath       = "docs"
	socketDocsPath = "docs/socket"
)

// page is the built page, the console and the documentation of the API, in memory. Each file is compressed once, on its
// first request, so that compression does not delay the start of a node.
type page struct{ files map[string]*file }

type file struct {
	kind   string // media type
	plain  []byte
	packed func() []byte // gzip; nil when it does not pay
	tag    string
	cache  string
}

func newPage(dist fs.FS, asyncAPI []byte) *page {
	p := &page{files: map[string]*file{
		"docs/openapi.yaml": newYAML(spec.OpenAPI), "docs/asyncapi.yaml": newYAML(asyncAPI),
	}}
	if dist == nil {
		for _, name := range []string{"index.html", docsPath, socketDocsPath} {
			p.files[name] = newFile("index.html", []byte(notBuilt))
		}
		return p
	}
	err := fs.WalkDir(dist, ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && name != "." && strings.HasPrefix(d.Name(), ".") {
			return fs.SkipDir // what the build says about itself
		}
		if err != nil || d.IsDir() || strings.HasPrefix(d.Name(), ".") {
			return err
		}
		content, err := fs.ReadFile(dist, name)
		p.files[address(name)] = newFile(name, content)
		return err
	})
	if err != nil { // the files are in the binary, so this is a build that went wrong
		slog.Error("read the embedded page", "err", err)
	}
	return p
}

// address returns the path at which a file of the build is served. Documentation pages have addresses without .html.
func address(name string) string {
	switch name {
	case "docs/index.html":
		return docsPath
	case "docs/socket.html":
		return socketDocsPath
	}
	return name
}

// newYAML says text, which browsers show instead of saving it.
func newYAML(content []byte) *file {
	f := newFile("", content)
	f.kind = "text/yaml; charset=utf-8"
	return f
}

func newFile(name string, content []byte) *file {
	sum := sha256.Sum256(content)
	f := &file{
		kind: mime.TypeByExtension(path.Ext(name)), plain: content, packed: func() []byte { return nil },
		tag: `"` + hex.EncodeToString(sum[:8]) + `"`, cache: "no-cache", // asks each time, is mostly told 304
	}
	if f.kind == "" {
		f.kind = fiber.MIMEOctetStream
	}
	// The build puts a hash into these names.
	if strings.HasPrefix(name, "assets/") || strings.HasPrefix(name, consoleAssets) {
		f.cache = "public, max-age=31536000, immutable"
	}
	if !strings.HasPrefix(f.kind, "image/") || strings.HasPrefix(f.kind, "image/svg") {
		f.packed = sync.OnceValue(func() []byte { return pack(content) })
	}
	return f
}

// pack answers nil when compression saves nothing worth having.
func pack(content []byte) []byte {
	var b bytes.Buffer
	w, _ := gzip.NewWriterLevel(&b, gzip.BestCompression) // the level is a valid one
	_, _ = w.Write(content)                               // a buffer takes everything
	_ = w.Close()
	if b.Len() > len(content)*9/10 {
		return nil
	}
	return b.Bytes()
}

func (p *page) serve(c *fiber.Ctx) error {
	name := strings.TrimPrefix(path.Clean("/"+c.Path()), "/")
	if name == "" {
		name = "index.html"
	}
	f := p.files[name]
	if f == nil && inConsole(name) {
		f = p.console(c)
	}
	if f == nil {
		return fiber.ErrNotFound
	}
	c.Set(fiber.HeaderETag, f.tag)
	c.Set(fiber.HeaderCacheControl, f.cache)
	c.Set(fiber.HeaderVary, fiber.HeaderAcceptEncoding)
	if c.Get(fiber.HeaderIfNoneMatch) == f.tag {
		return c.SendStatus(fiber.StatusNotModified)
	}
	c.Set(fiber.HeaderContentType, f.kind)
	if strings.Contains(c.Get(fiber.HeaderAcceptEncoding), "gzip") {
		if packed := f.packed(); packed != nil {
			c.Set(fiber.HeaderContentEncoding, "gzip")
			return c.Send(packed)
		}
	}
	return c.Send(f.plain)
}
