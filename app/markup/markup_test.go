package markup

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// Allowed HTML stays unchanged; everything else is removed or becomes text.
func TestClean(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"":                                 "",
		"plain & <simple>":                 "plain &amp;",
		"<p>One <strong>two</strong></p>":  "<p>One <strong>two</strong></p>",
		"<ul><li>a</li></ul><ol></ol><br>": "<ul><li>a</li></ul><ol></ol><br>",
		"<p onclick='alert(1)' style='x' class='y' id='z'>a</p>":     "<p>a</p>",
		"<script>alert(1)</script>a":                                 "a",
		"<style>*{display:none}</style>a":                            "a",
		"<img src=x onerror=alert(1)>a":                              "a",
		"<svg><script>alert(1)</script></svg>a":                      "a",
		"<iframe srcdoc='<script>alert(1)</script>'></iframe>a":      "a",
		"<form action=//evil><input name=password></form>a":          "a",
		"<a href='https://shop.example/x?a=1&b=2' onclick=x>l</a>":   `<a href="https://shop.example/x?a=1&amp;b=2" rel="nofollow noopener" target="_blank">l</a>`,
		"<a href='javascript:alert(1)'>l</a>":                        "l",
		"<a href='JaVaScRiPt&#58;alert(1)'>l</a>":                    "l",
		"<a href=' data:text/html,<script>alert(1)</script>'>l</a>":  "l",
		"<a href='http://plain.example'>l</a>":                       "l",
		"<a href='//evil.example'>l</a>":                             "l",
		"<a href='/admin'>l</a>":                                     "l",
		"<!-- a comment --><p>a</p>":                                 "<p>a</p>",
		"<math><mi//xlink:href='data:x,<script>alert(4)</script>'>a": "a",
		"&lt;script&gt;alert(1)&lt;/script&gt;":                      "&lt;script&gt;alert(1)&lt;/script&gt;",
		"<h2>a</h2><h3>b</h3><h4>c</h4><hr><blockquote>d</blockquote>": "<h2>a</h2><h3>b</h3><h4>c</h4><hr>" +
			"<blockquote>d</blockquote>",
		"<table><thead><tr><th>RAM</th></tr></thead><tbody><tr><td>1<table><tr><td>2</td></tr></table></td></tr></tbody>": "" +
			"<table><thead><tr><th>RAM</th></tr></thead><tbody><tr><td>1<table><tr><td>2</td></tr></table></td></tr></tbody>",
		"<img src='https://a.example/1.jpg'>": `<img src="https://a.example/1.jpg"` + pictureEnd(""),
		"<div><img src=/images/0a.jpg alt='A &quot;pot&quot;' width=9 height=9 srcset='x 2x' loading=eager></div>": "" +
			`<img src="/images/0a.jpg"` + pictureEnd("A &#34;pot&#34;"),
	} {
		if got, _ := Clean(in); got != want {
			t.Errorf("%q became %q, want %q", in, got, want)
		}
	}
}

// pictureEnd returns the attributes that follow the address of a picture.
func pictureEnd(alt string) string {
	return ` alt="` + alt + `" loading="lazy" referrerpolicy="no-referrer">`
}

// Only https pictures without credentials and pictures of this shop remain.
func TestPicturesWithForbiddenAddressesAreRemovedByName(t *testing.T) {
	t.Parallel()
	for _, src := range []string{
		"http://a.example/1.jpg", "//a.example/1.jpg", `/\a.example/1.jpg`, "javascript:alert(1)", "JaVaScript:alert(1)",
		"data:image/png;base64,AAAA", "blob:https://a.example/1", "https://u:p@a.example/1.jpg", "https:1.jpg", "1.jpg",
		"/images/../console", "/api/v1/slots", "",
	} {
		got, removed := Clean("a<img src='" + src + "' alt='x'>b")
		if want := []string{fmt.Sprintf("<img src=%q>", src)}; got != "a b" || !slices.Equal(removed, want) {
			t.Errorf("%q: got %q without %q, want \"a b\" without %q", src, got, removed, want)
		}
	}
}

// Removed blocks do not join the words before and after them. Removed inline elements do not separate words.
func TestRemovedBlocksSeparateWords(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"<div>RAM</div><div>32 GB</div>":                                     "RAM<br>\n32 GB",
		"<div><div>RAM</div></div><section>32 GB":                            "RAM<br>\n32 GB",
		"<dl><dt>RAM<dd>32 GB</dl>end":                                       "RAM<br>\n32 GB<br>\nend",
		"<td>RAM</td><td>32 GB</td>":                                         "RAM<br>\n32 GB", // browsers ignore cells outside of tables
		"<h1>Specs</h1><p>RAM</p>":                                           "Specs\n<p>RAM</p>",
		"<p>RAM</p><x-note>32</x-note> GB":                                   "<p>RAM</p>32<br>\n GB",
		"<table><caption>RAM</caption><tr><td>1":                             "<table>RAM\n<tr><td>1",
		"<div>a</div><script>x()</script><b>b</b>":                           "a<br>\nb",
		"<div>a</div><img src=https://a.example/1.jpg>":                      `a<br>` + "\n" + `<img src="https://a.example/1.jpg"` + pictureEnd(""),
		"a<object><p>x</p></object>b":                                        "a b",
		"H<sub>2</sub>O, <b>fl</b>ash, <span>s</span>ale<script>x</script>s": "H2O, flash, sales",
	} {
		if got, _ := Clean(in); got != want {
			t.Errorf("%q became %q, want %q", in, got, want)
		}
	}
}

// Each removed element and attribute is named once. The list is limited.
func TestRemovedMarkupIsNamed(t *testing.T) {
	t.Parallel()
	for in, want := range map[string][]string{
		"<p>a</p><img src=https://a.example/1.jpg>": nil,
		"<p class=x style=y onclick=z()>a</p><p class=w>b<script>alert(1)</script>": {
			"<p class>", "<p style>", "<p onclick>", "<script>",
		},
		"<div style=x><img src=/images/0a.jpg srcset=y></div><div>": {"<div style>", "<div>", "<img srcset>"},
		"<a href='javascript:x()'>a</a><a>b</a><img alt=c>":         {`<a href="javascript:x()">`, "<a>", "<img>"},
		"<td>x</td></table><style>p{}</style>":                      {"<td>", "<style>"},
	} {
		if _, got := Clean(in); !slices.Equal(got, want) {
			t.Errorf("%q: got the names %q, want %q", in, got, want)
		}
	}
	var many strings.Builder
	for i := range 99 {
		fmt.Fprintf(&many, "<x%d>", i)
	}
	if _, got := Clean(many.String() + "<img src=x" + strings.Repeat("x", 999)); len(got) != maxRemoved+1 ||
		got[maxRemoved] != "…" {
		t.Errorf("got %d names, want %d and an ellipsis: %q", len(got), maxRemoved, got)
	}
}

var allowed = append([]string{"a", "img"}, elements...)

// The result contains only HTML that the policy allows, according to an HTML parser, and cleaning it again changes
// nothing.
func FuzzClean(f *testing.F) {
	for _, text := range []string{
		"<p>a</p>", "<a href='https://a.example'>b</a>", "<a href=javascript:alert(1)>",
		"<scr<script>ipt>alert(1)</script>",
		"<svg/onload=alert(1)>", "<p/><style><img src='</style><img src=x onerror=alert(1)//'>",
		"<math><mtext><table><mglyph><style>",
		"<noscript><p title='</noscript><img src=x onerror=alert(1)>'>", "<!--><script>alert(1)</script>-->",
		"<a href=\"\x01javascript:x\">",
		"<textarea><p></textarea><script>", "<![CDATA[<script>]]>", "<?xml <script>?>", "\x00<\x00script>",
		"<p\x0conclick=x>",
		"<h2>Specs</h2><table><tr><td>RAM</td><td>32 GB</td></tr></table><p class=x>Quiet.</p><script>alert(1)</script>",
		"<div><img src=https://a.example/1.jpg alt=x><img src=//a.example/2.jpg><img srcset='x 2x'></div>",
		"<td>a<table><tr><td>b</table><div>c</div>d<object>e<object></object>f", "<xmp><div></xmp><plaintext><td>",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		clean, _ := Clean(text)
		if again, removed := Clean(clean); again != clean || removed != nil {
			t.Fatalf("%q became %q, and the second call returned %q without %q, want no change", text, clean, again, removed)
		}
		body := &html.Node{Type: html.ElementNode, Data: "div", DataAtom: atom.Div}
		nodes, err := html.ParseFragment(strings.NewReader(clean), body)
		if err != nil {
			t.Fatal(err)
		}
		for _, top := range nodes {
			checkNode(t, text, top)
		}
	})
}

func checkNode(t *testing.T, from string, n *html.Node) {
	t.Helper()
	if n.Type != html.TextNode && (n.Type != html.ElementNode || !slices.Contains(allowed, n.Data)) {
		t.Fatalf("result of %q has the node %v %q, which is not allowed", from, n.Type, n.Data)
	}
	for _, a := range n.Attr {
		fine := n.Data == "a" && (a.Key == "href" && strings.HasPrefix(strings.ToLower(a.Val), "https:") ||
			a.Key == "rel" && a.Val == "nofollow noopener" || a.Key == "target" && a.Val == "_blank")
		fine = fine || n.Data == "img" && (a.Key == "src" && pictureURL.MatchString(a.Val) || a.Key == "alt" ||
			a.Key == "loading" && a.Val == "lazy" || a.Key == "referrerpolicy" && a.Val == "no-referrer")
		if !fine {
			t.Fatalf("result of %q has %s=%q on %s, which is not allowed", from, a.Key, a.Val, n.Data)
		}
	}
	for child := range n.ChildNodes() {
		checkNode(t, from, child)
	}
}
