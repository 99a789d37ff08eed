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

// pageNotBuilt is sent if the binary contains no page.
const pageNotBuilt = `<!doctype html><html lang="en"><meta charset="utf-8"><title>Stampede</title>
<h1>The page was not built</h1>
<p>The program runs, and its API is available under <a href="/api/v1/slots">/api/v1</a>,
but this binary was built without the page. Build both with <code>npx --yes rust-just build</code>.</p></html>`

const (
	docsPath       = "docs"
	socketDocsPath = "docs/socket"
)

// page contains the built page, the console and the API documentation. A file is compressed at its first request, so
// that a node starts quickly.
type page struct{ files map[string]*file }

type file struct {
	kind       string // media type
	plain      []byte
	compressed func() []byte // returns the gzip form; nil: compression saves too little
	tag        string        // ETag
	cache      string        // Cache-Control
}

func newPage(dist fs.FS, asyncAPI []byte) *page {
	p := &page{files: map[string]*file{
		"docs/openapi.yaml": newYAML(spec.OpenAPI), "docs/asyncapi.yaml": newYAML(asyncAPI),
	}}
	if dist == nil {
		for _, name := range []string{"index.html", docsPath, socketDocsPath} {
			p.files[name] = newFile("index.html", []byte(pageNotBuilt))
		}
		return p
	}
	err := fs.WalkDir(dist, ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && name != "." && strings.HasPrefix(d.Name(), ".") {
			return fs.SkipDir // build metadata
		}
		if err != nil || d.IsDir() || strings.HasPrefix(d.Name(), ".") {
			return err
		}
		content, err := fs.ReadFile(dist, name)
		p.files[pagePath(name)] = newFile(name, content)
		return err
	})
	if err != nil { // cannot happen with embedded files
		slog.Error("read the embedded page", "err", err)
	}
	return p
}

// pagePath returns the path of a build file; documentation pages and the console have no .html suffix.
func pagePath(name string) string {
	switch name {
	case "docs/index.html":
		return docsPath
	case "docs/socket.html":
		return socketDocsPath
	case "console.html":
		return consolePath // the only path with the console's policy
	}
	return name
}

// newYAML returns a file with a text type, so that browsers display it.
func newYAML(content []byte) *file {
	f := newFile("", content)
	f.kind = "text/yaml; charset=utf-8"
	return f
}

func newFile(name string, content []byte) *file {
	sum := sha256.Sum256(content)
	f := &file{
		kind: mime.TypeByExtension(path.Ext(name)), plain: content, compressed: func() []byte { return nil },
		tag: `"` + hex.EncodeToString(sum[:8]) + `"`, cache: "no-cache", // revalidated each time, usually with 304
	}
	if f.kind == "" {
		f.kind = fiber.MIMEOctetStream
	}
	// The names of these files contain a hash.
	if strings.HasPrefix(name, "assets/") || strings.HasPrefix(name, consoleAssets) {
		f.cache = "public, max-age=31536000, immutable"
	}
	if !strings.HasPrefix(f.kind, "image/") || strings.HasPrefix(f.kind, "image/svg") {
		f.compressed = sync.OnceValue(func() []byte { return compress(content) })
	}
	return f
}

// compress returns the content in gzip, or nil if that saves less than a tenth.
func compress(content []byte) []byte {
	var b bytes.Buffer
	w, _ := gzip.NewWriterLevel(&b, gzip.BestCompression) // a valid level
	_, _ = w.Write(content)                               // a bytes.Buffer never fails
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
		if packed := f.compressed(); packed != nil {
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

// inConsole reports whether the path is a page of the operators' console, where the browser selects the view by the
// path. Build files are not pages.
func inConsole(name string) bool {
	return name == consolePath || strings.HasPrefix(name, consolePath+"/") && !strings.HasPrefix(name, consoleAssets)
}

// console returns the console and sets its security policy; nil: the console is not built.
func (p *page) console(c *fiber.Ctx) *file {
	f := p.files[consolePath]
	if f != nil {
		c.Set(fiber.HeaderContentSecurityPolicy, consolePolicy(c.Get(fiber.HeaderHost)))
		c.Set("X-Robots-Tag", "noindex")
	}
	return f
}

// consolePolicy returns the policy of the page and adds trusted types, so that only templates of the framework create
// HTML. Operators have many rights and see texts of other users, so injected HTML would be
// dangerous.
func consolePolicy(host string) string {
	return policy(host) + "; require-trusted-types-for 'script'; trusted-types vue"
}
