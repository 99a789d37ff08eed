package api

import (
	"net/url"
	"os"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"
	"time"
)

const browserAccept = "text/html,application/xhtml+xml,*/*;q=0.8"

// sourceIndex returns frontend/index.html, which the build only extends.
func sourceIndex(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../../frontend/index.html")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func withIndex(t *testing.T) func(o *Options) {
	t.Helper()
	index := sourceIndex(t)
	return func(o *Options) {
		o.Page = fstest.MapFS{"index.html": {Data: []byte(index)}}
		o.Public = url.URL{Scheme: "https", Host: "shop.example"}
	}
}

// The paths of the shopper's page return the page. A browser gets the page with status 404 for other paths, and other
// clients get a JSON error.
func TestPageIsServedForItsPaths(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	for _, path := range []string{
		"/", "/orders", "/order/7", "/order/7301444403200000101/pay", "/order/7/address",
		"/order/7/refund", "/order/7/cancel", "/order/7/receipt", "/account", "/account/devices", "/settings", "/address",
		"/shop/terms", "/orders?a=b",
	} {
		got := s.request("GET", path, "")
		s.want(got, 200, "<p>hello</p>")
		if cache := got.header.Get("Cache-Control"); cache != "no-cache" {
			t.Errorf("%s: got Cache-Control %q, want no-cache", path, cache)
		}
		if again := s.request("GET", path, "", "If-None-Match", got.header.Get("ETag")); again.code != 304 {
			t.Errorf("%s: a repeated request with the ETag: got %d, want 304", path, again.code)
		}
	}
	for _, path := range []string{
		"/sale", "/sale/", "/sale/x", "/sale/0", "/sale/7/", "/sale/7/x", "/order", "/order/x", "/order/7/paid", "/orders/7",
		"/orders/", "/index.html", "//", "/x/../orders", "/account/", "/account/a-b",
		"/account/a/b", "/account/A1", "/shop", "/shop/7", "/settings.php", "/nothing", "/assets/gone.js",
	} {
		got := s.request("GET", path, "", "Accept", browserAccept)
		s.want(got, 404, "<p>hello</p>")
		if kind := got.header.Get("Content-Type"); !strings.HasPrefix(kind, "text/html") {
			t.Errorf("%s: got the type %q, want text/html", path, kind)
		}
		if again := s.request("GET", path, "", "Accept", browserAccept, "If-None-Match", got.header.Get("ETag")); again.code != 404 {
			t.Errorf("%s: a repeated request with the ETag: got %d, want 404", path, again.code)
		}
	}
	for _, path := range []string{"/order/x", "/sale/x", "/nothing", "/assets/gone.js"} {
		got := s.request("GET", path, "", "Accept", "*/*")
		s.want(got, 404, `"code":"not_found"`)
		if vary := got.header.Get("Vary"); vary != "Accept, Accept-Language" {
			t.Errorf("%s: got Vary %q, want Accept, Accept-Language", path, vary)
		}
	}
	for _, path := range []string{"/api/v1/nothing", "/api/nothing"} {
		s.want(s.request("GET", path, "", "Accept", browserAccept), 404, `"code":"not_found"`)
	}
	if post := s.request("POST", "/orders", "", "Accept", browserAccept); post.code == 200 {
		t.Error("POST /orders: got 200, want a failure")
	}
}

// The server sends the page for each path of its router.
func TestPathsOfRouterReturnThePage(t *testing.T) {
	t.Parallel()
	s, _ := openShop(t, nil)
	source, err := os.ReadFile("../../frontend/src/router.ts")
	if err != nil {
		t.Fatal(err)
	}
	paths := regexp.MustCompile("path: ['`](/[^'`]*)['`]").FindAllStringSubmatch(string(source), -1)
	if len(paths) < 13 {
		t.Fatalf("got the paths %q, want at least 13", paths)
	}
	example := strings.NewReplacer("${ID}", "7", ":view([a-z]+)?", "devices", ":name([a-z]+)", "terms")
	for _, match := range paths {
		want := 200
		if match[1] == "/:path(.*)*" { // any other path
			want = 404
		}
		s.want(s.request("GET", example.Replace(match[1]), "", "Accept", browserAccept), want, "<p>hello</p>")
	}
}

// The page has the language that the client prefers.
func TestPageFollowsAcceptLanguage(t *testing.T) {
	t.Parallel()
	s := open(t, withIndex(t))
	english := []string{`<html lang="en">`, indexDescription, `aria-label="Opening the shop…"`}
	chinese := []string{`<html lang="zh-CN">`, `content="限时秒杀`, `aria-label="正在打开商城…"`}
	for header, want := range map[string][]string{
		"": english, "en": english, "fr": english, "*": english, "de-DE,de;q=0.9": english, "zh;q=0": english,
		"en-GB,en;q=0.9,zh;q=0.8": english, ";;q=,": english, "fr,en;q=0.1": english, "zh;q=0.5,en;q=0.8": english,
		"zh": chinese, "zh-CN,zh;q=0.9,en;q=0.8": chinese, "zh-TW": chinese, "en;q=0.5,zh;q=0.8": chinese,
		"fr,zh;q=0.2": chinese, "en;q=0,zh-HK": chinese, "ZH-cn": chinese, "Zh": chinese,
		"zha": english, "zha,zh;q=0.5": chinese, "EN,zh": english, "enm,zh": chinese,
	} {
		for _, path := range []string{"/", "/orders", "/nothing"} {
			got := s.request("GET", path, "", "Accept", browserAccept, "Accept-Language", header)
			for _, part := range want {
				if strings.Count(got.body, part) != 1 {
					t.Errorf("%s in %q: got %s, want %s once", path, header, got.body, part)
				}
			}
			wantVary := "Accept-Language"
			if got.code == 404 {
				wantVary = "Accept, Accept-Language"
			}
			if vary := got.header.Get("Vary"); vary != wantVary {
				t.Errorf("%s: got Vary %q, want %s", path, vary, wantVary)
			}
		}
	}
	tag := func(lang string) string { return s.request("GET", "/", "", "Accept-Language", lang).header.Get("ETag") }
	if tag("en") == tag("zh") {
		t.Error("the languages have the same ETag, want different ones")
	}
}

// The page of a sale has its name, price, opening time and picture, in the language of the client.
func TestSalePageHasPreview(t *testing.T) {
	t.Parallel()
	zone := time.FixedZone("", 8*60*60)
	s, w := openShop(t, func(o *Options) {
		withIndex(t)(o)
		o.Zone = zone
	})
	sale, err := w.db.Sales().Sale(w.ctx, 7)
	w.must(err)
	opens := sale.OpensAt.Time().In(zone)
	for lang, want := range map[string][]string{
		"en": {
			`<html lang="en">`, "<title>=Lamp — Stampede</title>", `property="og:title" content="=Lamp"`,
			`"Flash sale: ¥49.00 (list price ¥99.00). Starts on ` + opens.Format("2 January 2006 at 15:04") + ` (UTC+08:00)."`,
		},
		"zh": {
			`<html lang="zh-CN">`, "<title>灯 — Stampede</title>", `property="og:title" content="灯"`,
			`"秒杀价 ¥49.00（原价 ¥99.00），` + opens.Format("2006年1月2日 15:04") + ` 开抢（UTC+08:00）。"`,
		},
	} {
		got := s.request("GET", "/sale/7", "", "Accept-Language", lang)
		for _, part := range append(want,
			`property="og:image" content="https://shop.example/products/lamp.svg"`,
			`property="og:url" content="https://shop.example/sale/7"`,
			`property="og:type" content="product"`, `property="og:site_name" content="Stampede"`,
		) {
			s.want(got, 200, part)
		}
		if description := want[3]; strings.Count(got.body, description) != 2 {
			t.Errorf("got %s, want %s as description and og:description", got.body, description)
		}
		if got.header.Get("Vary") != "Accept-Language" || got.header.Get("Cache-Control") != "no-cache" {
			t.Errorf("got %v, want Vary: Accept-Language and Cache-Control: no-cache", got.header)
		}
		again := s.request("GET", "/sale/7", "", "Accept-Language", lang, "If-None-Match", got.header.Get("ETag"))
		if again.code != 304 {
			t.Errorf("a repeated request with the ETag: got %d, want 304", again.code)
		}
	}
	if got := s.request("GET", "/sale/8", ""); strings.Contains(got.body, "og:image") {
		t.Errorf("a product without a picture: got %s, want no og:image", got.body)
	}
	for _, path := range []string{"/sale/9", "/sale/x", "/sale/0", "/sale/99999999999999999999"} {
		got := s.request("GET", path, "", "Accept", browserAccept)
		s.want(got, 404, "<title>Stampede</title>")
		if strings.Contains(got.body, "og:") {
			t.Errorf("%s: got %s, want no og: tags", path, got.body)
		}
	}
	w.must(w.db.Close())
	s.want(s.request("GET", "/sale/7", ""), 200, "og:title") // from the snapshot
}

// hostileName has the special characters of HTML and of calendar files.
const hostileName = "\"><script>alert('1')</script>&amp; a,b;c\\d\r\nEND:VCALENDAR\r\nx\x01 " +
	"灯灯灯灯灯灯灯灯灯灯灯灯灯灯灯灯灯灯灯灯灯灯灯灯灯灯灯灯灯灯灯灯"

// A product name cannot add elements to the page.
func TestSalePageEscapesNames(t *testing.T) {
	t.Parallel()
	s, w := openShop(t, withIndex(t))
	renameProduct(w, hostileName)
	got := s.request("GET", "/sale/8", "")
	s.want(got, 200, "<title>&#34;&gt;&lt;script&gt;alert(&#39;1&#39;)&lt;/script&gt;&amp;amp; a,b")
	if strings.Contains(got.body, "<script>") {
		t.Errorf("got %s, want no script element of the name", got.body)
	}
}

// renameProduct renames the product of sale 8, before a node has read the sale.
func renameProduct(w *world, name string) {
	w.t.Helper()
	w.exec("UPDATE products SET name = ? WHERE id = 8", name)
}

// A file is sent in the compressed form that the build has written and the client accepts.
func TestFilesAreSentInAcceptedEncoding(t *testing.T) {
	t.Parallel()
	s := open(t, func(o *Options) {
		o.Page = fstest.MapFS{
			"index.html":    {Data: []byte("index")},
			"index.html.br": {Data: []byte("must not be sent")},
			"assets/a.js":   {Data: []byte("plain")}, "assets/a.js.br": {Data: []byte("brotli")},
			"assets/a.js.gz": {Data: []byte("gzip")},
			"assets/b.js":    {Data: []byte("plain")}, "assets/b.js.gz": {Data: []byte("gzip")},
			"assets/c.png": {Data: []byte("plain")},
			"console.html": {Data: []byte("plain")}, "console.html.br": {Data: []byte("brotli")},
		}
	})
	for _, c := range []struct{ path, accept, want string }{
		{"/assets/a.js", "gzip, deflate, br, zstd", "brotli"},
		{"/assets/a.js", "gzip, deflate", "gzip"},
		{"/assets/a.js", "br;q=0, gzip", "gzip"},
		{"/assets/a.js", "br;q=0,gzip;q=0", "plain"},
		{"/assets/a.js", "gzip;q=0.8, br; q=0", "gzip"},
		{"/assets/a.js", "*", "brotli"},
		{"/assets/a.js", "identity", "plain"},
		{"/assets/a.js", "", "plain"},
		{"/assets/a.js", "deflate, zstd", "plain"},
		{"/assets/b.js", "gzip, br", "gzip"},
		{"/assets/b.js", "br", "plain"},
		{"/assets/c.png", "gzip, br", "plain"},
		{"/console/sales/7", "gzip, br", "brotli"},
		{"/", "gzip, br", "index"},
	} {
		got := s.request("GET", c.path, "", "Accept-Encoding", c.accept)
		s.want(got, 200, c.want)
		coding := map[string]string{"brotli": "br", "gzip": "gzip"}[c.want]
		if is := got.header.Get("Content-Encoding"); is != coding {
			t.Errorf("%s with %q: got Content-Encoding %q, want %q", c.path, c.accept, is, coding)
		}
		vary := "Accept-Encoding"
		if c.path == "/" {
			vary = "Accept-Language"
		}
		if got.header.Get("Vary") != vary {
			t.Errorf("%s: got Vary %q, want %s", c.path, got.header.Get("Vary"), vary)
		}
	}
	for _, path := range []string{"/assets/a.js.br", "/assets/a.js.gz", "/console.html.br", "/index.html.br"} {
		s.want(s.request("GET", path, ""), 404, "not_found")
	}
}

// The files of the installed page have their types, and the browser revalidates them.
func TestShellFilesHaveTypesAndAreRevalidated(t *testing.T) {
	t.Parallel()
	s := open(t, func(o *Options) {
		o.Page = fstest.MapFS{
			"index.html": {Data: []byte("index")}, "manifest.webmanifest": {Data: []byte("{}")}, "sw.js": {Data: []byte("0")},
		}
	})
	for path, want := range map[string]string{
		"/manifest.webmanifest": "application/manifest+json", "/sw.js": "text/javascript; charset=utf-8",
	} {
		got := s.request("GET", path, "").header
		if kind, cache := got.Get("Content-Type"), got.Get("Cache-Control"); kind != want || cache != "no-cache" {
			t.Errorf("%s: got %q and Cache-Control %q, want %q and no-cache", path, kind, cache, want)
		}
	}
}
