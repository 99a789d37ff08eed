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

// page is the built page, the console and the API documentation, in memory. Files are compressed on their first
// request, so that a node starts quickly.
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
			return fs.SkipDir // metadata of the build
		}
		if err != nil || d.IsDir() || strings.HasPrefix(d.Name(), ".") {
			return err
		}
		content, err := fs.ReadFile(dist, name)
		p.files[address(name)] = newFile(name, content)
		return err
	})
	if err != nil { // the files are in the binary: the build is broken
		slog.Error("read the embedded page", "err", err)
	}
	return p
}

// address returns the path of a file of the build; documentation pages and the console go without .html.
func address(name string) string {
	switch name {
	case "docs/index.html":
		return docsPath
	case "docs/socket.html":
		return socketDocsPath
	case "console.html":
		return consolePath // the only path that gets its policy
	}
	return name
}

// newYAML has the type text, which browsers show instead of saving it.
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

// pack returns nil when compression saves less than a tenth.
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
	if inConsole(name) {
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

const (
	consolePath   = "console"
	consoleAssets = consolePath + "/assets/"
)

// inConsole reports whether the path is a page of the operators' console, which routes by itself. Files of the build
// are no pages.
func inConsole(name string) bool {
	return name == consolePath || strings.HasPrefix(name, consolePath+"/") && !strings.HasPrefix(name, consoleAssets)
}

// console returns the console under its own policy; nil: it was not built.
func (p *page) console(c *fiber.Ctx) *file {
	f := p.files[consolePath]
	if f != nil {
		c.Set(fiber.HeaderContentSecurityPolicy, consolePolicy(c.Get(fiber.HeaderHost)))
		c.Set("X-Robots-Tag", "noindex")
	}
	return f
}

// consolePolicy is the page's policy plus trusted types: only the framework's templates create HTML, because operators
// may do anything and see texts of strangers.
func consolePolicy(host string) string {
	return policy(host) + "; require-trusted-types-for 'script'; trusted-types vue"
}
