package api

import (
	"bytes"
	"encoding/json"
	"fmt"
	"image"
	"image/png"
	"mime/multipart"
	"net/http"
	"slices"
	"strings"
	"testing"

	"stampede/app/backoffice"
)

// operatorHeaders returns the headers of an operator's request.
func operatorHeaders(key string) []string {
	return []string{"Authorization", "Bearer user-1", "Idempotency-Key", key}
}

// A dry run is passed to the service, null differs from an absent field, and a conflict contains the current record.
func TestCatalogueRoutesPassDryRunAndNull(t *testing.T) {
	t.Parallel()
	s, w := openShop(t, nil)
	const products = "/api/v1/operator/products"
	draft := `{"name":"Lamp","list_price_fen":100,"images":[{"url":"/products/lamp.svg","alt":"A lamp"}]}`
	s.want(s.request("POST", products+"?dry_run=true", draft, operatorHeaders("key-00001")...), 200, `"version":1`)
	if op := w.lastEntry(); op.Seq != 0 {
		t.Errorf("a dry run: got the journal entry %+v, want none", op)
	}
	s.want(s.request("POST", products+"?dry_run=yes", draft, operatorHeaders("key-00002")...), 400,
		"dry_run must be true or false")
	s.want(s.request("POST", products, draft, operatorHeaders("key-00003")...), 200, `"images":[{"url":"/products/lamp.svg"`)
	if op := w.lastEntry(); op.Key != "key-00003" {
		t.Errorf("an operation without dry_run: got the last entry %+v, want the key key-00003", op)
	}
	s.want(s.request("POST", products, draft, "Authorization", "Bearer user-1"), 400, "Idempotency-Key")
	s.want(s.request("POST", products, draft, "Authorization", "Bearer user-42", "Idempotency-Key", "key-00004"), 403,
		"forbidden")
	s.want(s.request("PATCH", products+"/7", `{"version":1,"name":"x"}`, operatorHeaders("key-00005")...), 200,
		`"category_id":"7"`)
	null := s.request("PATCH", products+"/7", `{"version":2,"category_id":null}`, operatorHeaders("key-00006")...)
	s.want(null, 200, `"name":"x"`)
	if strings.Contains(null.body, "category_id") {
		t.Errorf("category null: got %s, want no category", null.body)
	}
	s.want(s.request("PATCH", products+"/7", `{"version":2}`, operatorHeaders("key-00007")...), 409, `"current":{"id":"7",`)
	for path, want := range map[string]string{
		"/slots": "from must be a day", "/slots?from=x": "is invalid",
		"/slots?from=2026-11-21&to=2026-02-30": "is invalid",
		"/sales?phase=soon":                    "phase must be", "/sales?slot=x": "slot", "/products?category=0": "category",
		"/products?size=1000": "size",
	} {
		s.want(s.request("GET", "/api/v1/operator"+path, "", "Authorization", "Bearer user-1"), 400, want)
	}
	s.want(s.request("GET", "/api/v1/operator/slots?from=2026-11-21", "", "Authorization", "Bearer user-1"), 200,
		`"zone":"UTC"`)
	s.want(s.request("POST", "/api/v1/operator/slots/template",
		`{"from":"2026-11-21","to":"2026-11-21","times":[{"opens":"10:00","closes":"12:00"}],"dry_run":true}`,
		operatorHeaders("key-00008")...), 200, `"dry_run":true`)
}

// The note in a body becomes the note of the operation. It can be combined with all other fields.
func TestCatalogueNotesReachJournal(t *testing.T) {
	t.Parallel()
	s, w := openShop(t, nil)
	const products = "/api/v1/operator/products"
	for i, c := range []struct{ method, path, body, want string }{
		{"POST", products, `{"name":"Lamp","list_price_fen":1,"note":"for 双十一"}`, "for 双十一"},
		{"POST", products, `{"name":"Lamp","list_price_fen":1}`, ""},
		{"PATCH", products + "/7", `{"version":1,"name":"x","note":"renamed"}`, "renamed"},
		{"PATCH", products + "/7", `{"version":2,"name":"y"}`, ""},
	} {
		s.want(s.request(c.method, c.path, c.body, operatorHeaders(fmt.Sprintf("key-%05d", i))...), 200, "")
		if got := w.lastEntry().Note; got != c.want {
			t.Errorf("%s %s: got the note %q, want %q", c.method, c.body, got, c.want)
		}
	}
	s.want(s.request("POST", products, `{"name":"Lamp","note":7}`, operatorHeaders("key-00009")...), 400, "note")
}

// The responses to a creation, an edit and an import name the markup that was removed from the descriptions. An edit of
// another field removes nothing.
func TestRemovedMarkupIsNamedInReplies(t *testing.T) {
	t.Parallel()
	s, _ := openShop(t, nil)
	const products = "/api/v1/operator/products"
	type saved struct {
		ID          string   `json:"id"`
		Description string   `json:"description"`
		Removed     []string `json:"removed"`
	}
	save := func(key, method, path, body string, want []string) (p saved) {
		t.Helper()
		got := s.request(method, path, body, operatorHeaders(key)...)
		if err := json.Unmarshal([]byte(got.body), &p); err != nil || !slices.Equal(p.Removed, want) {
			t.Errorf("%s %s: got %s (%v), want the names %q", method, body, got.body, err, want)
		}
		return p
	}
	draft := `{"name":"Pot","list_price_fen":1,"description":"<table><tr><td>RAM</td><td>32 GB</td></tr></table>` +
		`<p class='x'>a</p><script>alert(1)</script>","texts":{"zh":{"description":"<img src='http://a.example/1.jpg'>壶"}}}`
	want := []string{`<img src="http://a.example/1.jpg">`, "<p class>", "<script>"}
	p := save("key-00001", "POST", products, draft, want)
	save("key-00001", "POST", products, draft, want) // repeated
	if table := "<table><tr><td>RAM</td><td>32 GB</td></tr></table><p>a</p>"; p.Description != table {
		t.Errorf("got the description %q, want %q", p.Description, table)
	}
	save("key-00002", "PATCH", products+"/"+p.ID, `{"version":1,"name":"Pan"}`, nil)
	p = save("key-00003", "PATCH", products+"/"+p.ID,
		`{"version":2,"description":"<div><img src='https://a.example/1.jpg' onerror='x()'></div>"}`,
		[]string{"<div>", "<img onerror>"})
	if !strings.HasPrefix(p.Description, `<img src="https://a.example/1.jpg" alt=""`) {
		t.Errorf("got the description %q, want the picture", p.Description)
	}
	file := "name,list_price,description\nPot,1,<p>a</p>\nPan,1,<div>a</div><b>c</b>\n"
	s.want(s.request("POST", "/api/v1/operator/import/products", file,
		append(operatorHeaders("key-00004"), "Content-Type", "text/csv")...), 200,
		`"removed":[{"line":3,"names":["\u003cdiv\u003e","\u003cb\u003e"]}]`)
}

// Files and long bodies are accepted only from operators, on operator routes, up to a limit.
func TestOnlyOperatorsSendLongBodies(t *testing.T) {
	t.Parallel()
	s, _ := openShop(t, nil)
	const images = "/api/v1/operator/images"
	file := samplePNG(t) + strings.Repeat("x", 1<<20) // bytes after a picture are ignored
	s.want(s.request("POST", images, file, append(operatorHeaders("key-00001"), "Content-Type", "image/jpeg")...), 200,
		`"kind":"png","width":8,"height":8`)
	var form bytes.Buffer
	w := multipart.NewWriter(&form)
	_ = w.WriteField("note", "first")
	part, _ := w.CreateFormFile("file", "../../etc/passwd.svg")
	_, _ = part.Write([]byte(file))
	_ = w.Close()
	s.want(s.request("POST", images, form.String(), append(operatorHeaders("key-00002"), "Content-Type",
		w.FormDataContentType())...), 200, `"kind":"png","width":8,"height":8`)
	tooLong := strings.Repeat("x", uploadLimit+1)
	s.want(s.request("POST", images, tooLong, append(operatorHeaders("key-00003"), "Content-Type", "image/jpeg")...), 413, "8 MiB")
	// Bodies that are too long are rejected before the client sends them.
	for name, c := range map[string]struct {
		path, token string
		length      int
	}{
		"a shopper":                   {images, "user-42", bodyLimit + 1},
		"no token":                    {images, "", bodyLimit + 1},
		"far too large":               {images, "user-1", 9 << 20},
		"another route":               {"/api/v1/sales/5/buy", "user-1", bodyLimit + 1},
		"an operator route, too long": {"/api/v1/operator/products", "user-1", operatorLimit + 1},
	} {
		head := fmt.Sprintf("POST %s HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer %s\r\nContent-Length: %d\r\n\r\n",
			c.path, c.token, c.length)
		if res, _ := s.sendAndRead(head); res.StatusCode != http.StatusRequestEntityTooLarge {
			t.Errorf("%s: got %d, want 413", name, res.StatusCode)
		}
	}
	s.want(s.request("POST", "/api/v1/operator/products",
		`{"name":"Lamp","list_price_fen":1,"description":"`+strings.Repeat("x", 40<<10)+`"}`,
		operatorHeaders("key-00004")...), 200, "")
	for kind, body := range map[string]string{
		"image/jpeg": "", "multipart/form-data": "x", "multipart/form-data; boundary=b": "x",
		"multipart/form-data; boundary=c": "--c\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\nno file\r\n--c--\r\n",
		"multipart/form-data; boundary=d": "--d\r\nContent-Disposition: form-data; name=\"a\"; filename=\"b\"\r\n\r\nends",
	} {
		s.want(s.request("POST", images, body, append(operatorHeaders("key-00005"), "Content-Type", kind)...), 400,
			"bad_request")
	}
}

// Tables are sent as downloads, and imports accept a body or a form.
func TestTablesAreSentAsDownloads(t *testing.T) {
	t.Parallel()
	s, _ := openShop(t, nil)
	me := []string{"Authorization", "Bearer user-1"}
	got := s.request("GET", "/api/v1/operator/export/sales.csv?slot=7", "", me...)
	s.want(got, 200, "id,version,slot_id")
	s.want(got, 200, "\n7,1,7,")
	if kind, name := got.header.Get("Content-Type"), got.header.Get("Content-Disposition"); kind != "text/csv; charset=utf-8" ||
		name != `attachment; filename="sales.csv"` {
		t.Errorf("got %s %s, want CSV as the file sales.csv", kind, name)
	}
	other := s.request("GET", "/api/v1/operator/export/sales.csv?slot=8", "", me...)
	if strings.Contains(other.body, "\n7,") {
		t.Errorf("the sales of an empty slot: got %s, want none", other.body)
	}
	s.want(s.request("GET", "/api/v1/operator/export/products.csv", "", me...), 200, "id,version,name")
	for what, line := range map[string]string{
		"products": "name,list_price\nPan,1.00\n", "sales": "slot_id,product_id,price,stock,limit\n8,7,1.00,5,1\n",
	} {
		path := "/api/v1/operator/import/" + what
		csv := func(key string) []string { return append(operatorHeaders(key+"-"+what), "Content-Type", "text/csv") }
		s.want(s.request("POST", path+"?dry_run=true", line, csv("try")...), 200, `"dry_run":true`)
		s.want(s.request("POST", path, line, csv("done")...), 200, `"lines":1`)
		s.want(s.request("POST", path, "", csv("empty")...), 400, "no file")
	}
}

// samplePNG returns a PNG of 8 x 8 pixels.
func samplePNG(t *testing.T) string {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewNRGBA(image.Rect(0, 0, 8, 8))); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// Pictures are cached without limit, and browsers must not guess their media type.
func TestUploadedPicturesAreCached(t *testing.T) {
	t.Parallel()
	s, _ := openShop(t, nil)
	var uploaded backoffice.UploadedImage
	up := s.request("POST", "/api/v1/operator/images", samplePNG(t),
		append(operatorHeaders("key-00001"), "Content-Type", "image/png")...)
	if err := json.Unmarshal([]byte(up.body), &uploaded); err != nil {
		t.Fatal(up.body, err)
	}
	name := strings.TrimPrefix(uploaded.URL, "/images/")
	got := s.request("GET", uploaded.URL, "")
	s.want(got, 200, "\x89PNG")
	for header, want := range map[string]string{
		"Content-Type": "image/png", "Cache-Control": "public, max-age=31536000, immutable", "Etag": `"` + name + `"`,
		"X-Content-Type-Options": "nosniff",
	} {
		if got.header.Get(header) != want {
			t.Errorf("%s: got %q, want %q", header, got.header.Get(header), want)
		}
	}
	s.want(s.request("GET", uploaded.URL, "", "If-None-Match", `"`+name+`"`), 304, "")
	for _, path := range []string{"/images/b.jpg", "/images/", "/images/..%2f" + name, uploaded.URL + "/x"} {
		s.want(s.request("GET", path, ""), 404, "not_found")
	}
}
