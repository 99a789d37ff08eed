package api

import (
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"log/slog"
	"mime"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/gofiber/fiber/v2"
	"golang.org/x/text/language"

	"stampede/app/api/spec"
	"stampede/app/shop"
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

// shopperPaths matches the paths of the shopper's page, where the browser selects the view by the path. The path of a
// sale has a route of its own, see sale_page.go.
var shopperPaths = regexp.MustCompile(`^/(|orders|order/\d{1,19}(/(pay|address|refund|cancel|receipt))?|account(/[a-z]+)?|` +
	`settings|address|challenge|shop/[a-z]+)$`)

// The texts of index.html that depend on the language. index.html has the English ones.
const (
	indexTitle       = "<title>Stampede</title>"
	indexDescription = "Live flash sales: watch the stock, buy, and see your place in the queue."
)

var chineseIndex = strings.NewReplacer(
	`<html lang="en">`, `<html lang="zh-CN">`,
	indexDescription, "限时秒杀：实时查看库存，下单抢购，随时了解排队位置。",
	"Opening the shop…", "正在打开商城…",
)

// page contains the built page, the console and the API documentation.
type page struct {
	files map[string]*file // by path
	index map[string]*file // index.html by language
}

type file struct {
	kind      string // media type
	plain     []byte
	encoded   map[string][]byte // the compressed forms that the build has written, by content encoding
	encodings []string          // the keys of encoded, the preferred one first
	tag       string            // ETag
	cache     string            // Cache-Control
	vary      string
}

func newPage(dist fs.FS, asyncAPI []byte) *page {
	p := &page{files: map[string]*file{
		"docs/openapi.yaml": newYAML(spec.OpenAPI), "docs/asyncapi.yaml": newYAML(asyncAPI),
	}}
	if dist == nil {
		p.setIndex(pageNotBuilt)
		p.files[docsPath], p.files[socketDocsPath] = p.index["en"], p.index["en"]
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
		p.add(name, content)
		return err
	})
	if err != nil { // cannot happen with embedded files
		slog.Error("read the embedded page", "err", err)
	}
	return p
}

// encodings maps the endings of compressed files to their content encodings.
var encodings = map[string]string{".br": "br", ".gz": "gzip"}

// add adds a build file, or the compressed form of a file. Names are added in lexical order: first the file, then .br,
// then .gz.
func (p *page) add(name string, content []byte) {
	ending := path.Ext(name)
	encoding := encodings[ending]
	original := p.files[pagePath(strings.TrimSuffix(name, ending))]
	switch {
	case encoding != "" && original != nil:
		original.encoded[encoding] = content
		original.encodings = append(original.encodings, encoding)
	case encoding != "": // compressed form without its file
	case name == "index.html":
		p.setIndex(string(content))
	default:
		p.files[pagePath(name)] = newFile(name, content)
	}
}

func (p *page) setIndex(html string) {
	p.index = map[string]*file{"en": newIndex(html), "zh": newIndex(chineseIndex.Replace(html))}
}

// newIndex returns a form of index.html. The build does not compress it, because the program changes it.
func newIndex(html string) *file {
	f := newFile("index.html", []byte(html))
	f.vary = fiber.HeaderAcceptLanguage
	return f
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
		kind: mime.TypeByExtension(path.Ext(name)), plain: content, encoded: map[string][]byte{},
		tag:   `"` + hex.EncodeToString(sum[:8]) + `"`,
		cache: "no-cache", // revalidated each time, usually with 304
		vary:  fiber.HeaderAcceptEncoding,
	}
	if path.Ext(name) == ".webmanifest" { // Go has no type for it
		f.kind = "application/manifest+json"
	}
	if f.kind == "" {
		f.kind = fiber.MIMEOctetStream
	}
	// The names of these files contain a hash.
	if strings.HasPrefix(name, "assets/") || strings.HasPrefix(name, consoleAssets) {
		f.cache = "public, max-age=31536000, immutable"
	}
	return f
}

// serve sends a file or the page of a path.
func (p *page) serve(c *fiber.Ctx) error {
	name := strings.TrimPrefix(path.Clean("/"+c.Path()), "/")
	f := p.files[name]
	switch {
	case shopperPaths.MatchString(c.Path()):
		f = p.index[acceptedLang(c)]
	case inConsole(name):
		f = p.console(c)
	}
	if f != nil {
		return f.send(c, fiber.StatusOK)
	}
	if strings.HasPrefix(name, "api/") {
		return fiber.ErrNotFound
	}
	return p.notFound(c)
}

// notFound sends the page with status 404 to a browser, and the page shows a link to the shop. Other clients get a JSON
// error.
func (p *page) notFound(c *fiber.Ctx) error {
	c.Vary(fiber.HeaderAccept, fiber.HeaderAcceptLanguage)
	if !strings.Contains(c.Get(fiber.HeaderAccept), fiber.MIMETextHTML) {
		return fiber.ErrNotFound
	}
	return p.index[acceptedLang(c)].send(c, fiber.StatusNotFound)
}

// acceptedLang returns the language of the shop that the client prefers.
func acceptedLang(c *fiber.Ctx) string {
	tags, _, _ := language.ParseAcceptLanguage(c.Get(fiber.HeaderAcceptLanguage)) // none if the header is malformed
	for _, tag := range tags {
		if lang, _ := tag.Base(); slices.Contains(shop.Langs, lang.String()) {
			return lang.String()
		}
	}
	return shop.Langs[0]
}

func (f *file) send(c *fiber.Ctx, status int) error {
	c.Set(fiber.HeaderETag, f.tag)
	c.Set(fiber.HeaderCacheControl, f.cache)
	c.Vary(f.vary)
	if status == fiber.StatusOK && c.Get(fiber.HeaderIfNoneMatch) == f.tag {
		return c.SendStatus(fiber.StatusNotModified)
	}
	c.Status(status).Set(fiber.HeaderContentType, f.kind)
	if encoding := f.acceptedEncoding(c); encoding != "" {
		c.Set(fiber.HeaderContentEncoding, encoding)
		return c.Send(f.encoded[encoding])
	}
	return c.Send(f.plain)
}

// acceptedEncoding returns the first encoding of the file that the client accepts; "": none.
func (f *file) acceptedEncoding(c *fiber.Ctx) string {
	if c.Get(fiber.HeaderAcceptEncoding) == "" { // Fiber would accept every offer
		return ""
	}
	for _, encoding := range f.encodings {
		if c.AcceptsEncodings(encoding) != "" {
			return encoding
		}
	}
	return ""
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

// consolePolicy returns the policy of the page and adds trusted types, so that only templates of the framework and the
// parser of descriptions (policy "markup") create HTML. Operators have many rights and see texts of other users, so
// injected HTML would be dangerous.
func consolePolicy(host string) string {
	return policy(host) + "; require-trusted-types-for 'script'; trusted-types vue markup"
}
