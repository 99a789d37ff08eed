package api

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"stampede/app/backoffice"
	"stampede/app/journal"
	"stampede/app/shop"
	"stampede/app/store"
	"stampede/app/test/kit/contract"
)

// serverRoutes lists the routes served by HTTPServer.
var serverRoutes = []string{"GET /healthz", "GET /readyz"}

// pageRoutes lists the routes of the page and its files, which are no part of the API.
var pageRoutes = []string{"/*", "/sale/:id"}

// TestRoutesAreDescribed: the router and openapi.yaml contain the same routes.
func TestRoutesAreDescribed(t *testing.T) {
	t.Parallel()
	doc, err := contract.Document()
	if err != nil {
		t.Fatal(err)
	}
	var described []string
	for path, item := range doc.Paths.Map() {
		for method := range item.Operations() {
			described = append(described, method+" "+path)
		}
	}
	s := &site{t: t}
	routed := slices.Clone(serverRoutes)
	for _, r := range newApp(s.options()).GetRoutes(true) {
		if r.Method != http.MethodHead && !slices.Contains(pageRoutes, r.Path) { // every GET route also serves HEAD
			routed = append(routed, r.Method+" "+openAPIPath(r.Path))
		}
	}
	slices.Sort(described)
	slices.Sort(routed)
	if diff := gocmp.Diff(described, slices.Compact(routed)); diff != "" {
		t.Errorf("app/api/spec/openapi.yaml and the router differ (-described +routed):\n%s", diff)
	}
}

// withoutSample lists operations that have no sample with a JSON response: a socket, a form of the gateway, and files.
// It also lists an operation that needs a solved challenge; e2e tests cover this operation.
var withoutSample = []string{
	"openSocket", "notifyOfPayment", "uploadImage", "showImage",
	"exportProducts", "exportSales", "importProducts", "importSales", "solvePass",
	"refresh", // TestRefreshByCookieNeedsOurPage
	"getText", // TestTextsAreServedFromCopyOfNode
}

// example replaces the sample of an operation if the sample does not fit the world.
type example struct {
	before func(w *world) // creates the objects that the operation needs
	id     string         // in the path; "": 7
	query  string
	body   string // "": the sample
}

const sampleToken = "Zm9yIGV4YW1wbGUgb25seSwgMzIgcmFuZG9tIGJ5dGU"

// freeInstant is an instant without a slot, in seconds.
var freeInstant = time.Now().Unix() + 400_000

// inAMonth is a day without slots.
var inAMonth = time.Now().AddDate(0, 1, 0).Format(time.DateOnly)

var examples = map[string]example{
	"register": {
		before: (*world).storeCaptcha,
		body:   `{"email":"new@shop.example","password":"` + testPassword + `","captcha":` + captchaJSON + `}`,
	},
	"activate": {before: func(w *world) {
		w.exec("UPDATE users SET state = 'pending', activated_at = 0 WHERE id = 42")
		w.mail(shop.TokenActivate)
	}},
	"unregister": {before: func(w *world) {
		w.exec("UPDATE users SET state = 'pending', activated_at = 0 WHERE id = 42")
		w.mail(shop.TokenActivate)
	}},
	"forgotPassword": {before: (*world).storeCaptcha, body: `{"email":"ada@shop.example","captcha":` + captchaJSON + `}`},
	"resetPassword": {
		before: func(w *world) { w.mail(shop.TokenReset) },
		body:   `{"token":"` + sampleToken + `","password":"six brown cows"}`,
	},
	"deleteMe":       {body: `{"password":"` + testPassword + `"}`},
	"changePassword": {body: `{"old":"` + testPassword + `","new":"six brown cows"}`},

	"requestPass":    {id: "8"},
	"requestRefund":  {before: (*world).pay},
	"confirmReceipt": {before: (*world).ship},
	"shipOrder":      {before: (*world).pay},
	"refundOrder":    {before: (*world).pay},
	"approveRefund":  {before: (*world).requestRefund},
	"declineRefund":  {before: (*world).requestRefund},
	"retryRefund": {before: func(w *world) {
		w.requestRefund()
		w.exec("UPDATE refunds SET state = 'stuck'")
	}},
	"searchOrders":   {query: "?state=paid"},
	"reconcileDay":   {query: "?day=2026-11-20"},
	"compareLists":   {body: `{"day":"2026-11-20"}`},
	"refundPayments": {before: (*world).anomaly, body: `{"trade_no":"T1","note":"no order"}`},

	"pauseSale": {body: `{"version":1}`}, "endSale": {body: `{"version":1}`},
	"resumeSale":       {before: func(w *world) { w.exec("UPDATE sales SET paused = 1") }, body: `{"version":1}`},
	"changeStock":      {body: `{"version":1,"units":20}`},
	"setSaleChallenge": {body: `{"version":1,"challenge":"work"}`},
	"addGuests":        {before: func(w *world) { w.exec("UPDATE sales SET hidden = 1") }},
	"copySale":         {body: `{"slot":"8"}`},
	"createSale":       {body: `{"slot":"8","product":"7","price_fen":9900,"stock":1,"limit":1}`},
	"createSlot":       {body: fmt.Sprintf(`{"opens_at":%d000,"closes_at":%d000}`, freeInstant, freeInstant+3600)},
	"removeSlot":       {id: "8"},
	"listSlotCalendar": {query: "?from=2026-11-21"},
	"applySlotTemplate": {
		body: `{"from":"` + inAMonth + `","to":"` + inAMonth + `","times":[{"opens":"10:00","closes":"12:00"}]}`,
	},
	"setProductImages": {body: `{"version":1,"images":[{"url":"/products/lamp.svg","alt":"A lamp"}]}`},
	"takeBackNotice":   {before: func(w *world) { w.publishBanner() }},
	"removeBlock":      {before: (*world).block, id: "1"},
	"shipOrders":       {before: (*world).pay, body: `{"csv":"order,carrier,tracking\n7,SF,SF1\n"}`},
	"addBlock":         {body: `{"kind":"user","value":"7"}`},

	"getDead": {before: (*world).failJobs, id: "0-1-0"}, "replayDead": {before: (*world).failJobs, id: "0-1-0"},
	"dropDead":          {before: (*world).failJobs, id: "0-1-0"},
	"listDead":          {before: (*world).failJobs},
	"listQuarantined":   {before: (*world).failJobs},
	"replayQuarantined": {before: (*world).failJobs, id: "1-0"}, "dropQuarantined": {before: (*world).failJobs, id: "1-0"},
	"listDeadMails": {before: (*world).failJobs},
	"retryMail":     {before: (*world).failJobs, id: "1-0"}, "dropMail": {before: (*world).failJobs, id: "1-0"},
}

// TestEveryOperationReturnsSuccess: each operation returns a success that matches its description.
func TestEveryOperationReturnsSuccess(t *testing.T) {
	t.Parallel()
	doc, err := contract.Document()
	if err != nil {
		t.Fatal(err)
	}
	shared, _ := openShop(t, nil)
	for path, item := range doc.Paths.Map() {
		for method, op := range item.Operations() {
			if slices.Contains(withoutSample, op.OperationID) {
				continue
			}
			body, err := contract.Sample(op)
			if err != nil {
				t.Fatal(err)
			}
			e := examples[op.OperationID]
			s := shared
			if e.before != nil || method != http.MethodGet { // in a new world
				var w *world
				if s, w = openShop(t, nil); e.before != nil {
					e.before(w)
				}
			}
			token := "user-42"
			if slices.Contains(op.Tags, "Operators") {
				token = "user-2" // an admin
			}
			address := strings.ReplaceAll(path, "{id}", cmp.Or(e.id, "7")) + e.query
			body = cmp.Or(e.body, body)
			got := s.request(method, address, body, "Authorization", "Bearer "+token, operationKey, "act-0001")
			if got.code >= 300 {
				t.Errorf("%s %s %s with %s: got %d %s, want less than 300", op.OperationID, method, address, body, got.code, got.body)
			}
		}
	}
}

// captchaJSON is a captcha and its solution.
const captchaJSON = `{"id":"ABCDEFGHIJKLMNOPQRSTUVWXYZ","answer":"123456"}`

// storeCaptcha stores the captcha.
func (w *world) storeCaptcha() {
	w.must(w.redis.Set(w.ctx, "stampede:{captcha}:ABCDEFGHIJKLMNOPQRSTUVWXYZ",
		hashOf("ABCDEFGHIJKLMNOPQRSTUVWXYZ:123456"), time.Minute).Err())
}

// hashOf returns the stored form of a secret.
func hashOf(secret string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(secret))) }

// mail stores sampleToken as a link for Ada.
func (w *world) mail(kind shop.MailTokenKind) {
	ada, err := w.db.Accounts().UserByID(w.ctx, 42)
	w.must(err)
	w.must(w.db.Accounts().AddMailToken(w.ctx, shop.MailToken{
		Hash: hashOf(sampleToken), User: 42, Kind: kind, ExpiresAt: w.clock.Now().Add(time.Hour),
	}, &ada))
}

func (w *world) exec(statement string, args ...any) {
	w.t.Helper()
	_, err := w.db.DB().DB.ExecContext(w.ctx, statement, args...)
	w.must(err)
}

// operator is the actor of the operations that a test needs.
var operator = journal.Actor{User: 1, Name: "Ada", Role: shop.Operator, Via: journal.ViaHTTP, Key: "act-0000"}

func (w *world) ship() {
	w.pay()
	parcel := store.Parcel{Order: 7, Carrier: "SF", Tracking: "SF1"}
	_, err := w.services.Shipping.Ship(w.ctx, operator, parcel, store.Shipping{})
	w.must(err)
}

// anomaly stores a payment without an order.
func (w *world) anomaly() {
	w.exec("INSERT INTO payments (trade_no, order_id, amount_fen, paid_at, seen_at, outcome)" +
		" VALUES ('T1', 4242, 100, 1, 1, 'unknown_order')")
}

func (w *world) requestRefund() {
	w.pay()
	_, err := w.services.RefundRequests.RequestRefund(w.ctx, 42, 7, "too large")
	w.must(err)
}

func (w *world) block() {
	_, err := w.services.Blocks.AddBlock(w.ctx, operator, store.Block{Kind: store.BlockUser, Value: "7"}, 0)
	w.must(err)
}

func (w *world) publishBanner() {
	_, err := w.services.Settings.PublishBanner(w.ctx, operator, backoffice.NewNotice{Level: "info", Text: "Hello."})
	w.must(err)
}

// failJobs creates the dead letter 0-1-0, the quarantined posting 1-0 and the quarantined e-mail 1-0.
func (w *world) failJobs() {
	add := func(stream string, fields ...any) {
		fields = append(fields, "reason", "400", "deliveries", "1", "at", "1700000000000", "stream", "1-0")
		w.must(w.redis.XAdd(w.ctx, &redis.XAddArgs{Stream: stream, ID: "1-0", Values: fields}).Err())
	}
	refused, err := w.db.Orders().Order(w.ctx, 7)
	w.must(err)
	refused.ID, refused.Ticket, refused.Seq, refused.Key = 9, 3, 3, "key-00000009"
	refused.State, refused.Reason = shop.Refused, shop.ReasonDead
	epoch, _, err := w.db.Partitions().PartitionEpoch(w.ctx, 0)
	w.must(err)
	_, err = w.db.Orders().Insert(w.ctx, epoch, []shop.NewOrder{refused})
	w.must(err)
	add("stampede:{0}:dead", "terms", "1:9:2:1:3:1:1:4900:1:0123456789abcdef:key-00000009:7:42:")
	add("stampede:{backoffice}:parked", "group", "webhook", "order", "7", "rev", "2",
		"body", `{"order":"7","rev":2,"state":"paid","at":1700000000000,"sale":"7","user":"42","qty":1}`)
	add("stampede:{mail}:dead", "group", "mail", "kind", "paid",
		"body", `{"kind":"paid","about":"7","to":"ada@shop.example","lang":"en"}`)
}

// openAPIPath writes path parameters in the form of openapi.yaml.
func openAPIPath(path string) string {
	parts := strings.Split(path, "/")
	for i, part := range parts {
		if name, is := strings.CutPrefix(part, ":"); is {
			parts[i] = "{" + name + "}"
		}
	}
	return strings.Join(parts, "/")
}

// TestCodesAreDescribed: the table of codes in openapi.yaml equals the table of the routes.
func TestCodesAreDescribed(t *testing.T) {
	t.Parallel()
	doc, err := contract.Document()
	if err != nil {
		t.Fatal(err)
	}
	described := make(map[shop.Code]int)
	for _, code := range doc.Components.Schemas["Code"].Value.Enum {
		code := shop.Code(code.(string))
		described[code] = contract.StatusOf(doc, code)
	}
	if diff := gocmp.Diff(status, described); diff != "" {
		t.Errorf("the table of codes (-in errors.go +described):\n%s", diff)
	}
	known := slices.Collect(maps.Keys(described))
	for path, item := range doc.Paths.Map() {
		for method, op := range item.Operations() {
			listed, _ := op.Extensions["x-errors"].([]any)
			for _, code := range listed {
				if !slices.Contains(known, shop.Code(code.(string))) {
					t.Errorf("%s %s: x-errors has %v, which is not a code", method, path, code)
				}
			}
		}
	}
}

// openapi.yaml lists the codes of all checks. Pages translate each code of this list.
func TestCheckCodesAreDescribed(t *testing.T) {
	t.Parallel()
	doc, err := contract.Document()
	if err != nil {
		t.Fatal(err)
	}
	var described []backoffice.CheckCode
	for _, code := range doc.Components.Schemas["Check"].Value.Properties["code"].Value.Enum {
		described = append(described, backoffice.CheckCode(code.(string)))
	}
	if diff := gocmp.Diff(backoffice.CheckCodes(), described); diff != "" {
		t.Errorf("the codes of checks (-in app +described):\n%s", diff)
	}
}

// A request keeps a valid id of the client; otherwise it gets a new id. An error response contains the id.
func TestRequestIDIsKeptOrReplaced(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	const header = "X-Request-Id"
	for _, path := range []string{"/api/v1/time", "/healthz", "/readyz", "/", "/api/v1/nothing", "/ws"} {
		for id, keepsID := range map[string]bool{
			"7f3a.b_c-D9": true, strings.Repeat("x", 64): true, strings.Repeat("x", 65): false,
			`a"b`: false, "a b": false, "<b>": false, "": false, "é": false, "{id}": false,
		} {
			got := s.request("GET", path, "", header, id)
			if given := got.header.Get(header); (given == id) != keepsID || !validRequestID(given) {
				t.Errorf("%s with the id %q: got %q; want the same id: %v", path, id, given, keepsID)
			}
		}
	}
	first, second := s.request("GET", "/healthz", ""), s.request("GET", "/healthz", "")
	if first.header.Get(header) == second.header.Get(header) {
		t.Error("two requests have the same id, want different ids")
	}
	s.want(s.request("GET", "/api/v1/orders", "", header, "mine-1"), 401, `"request":"mine-1"`)
	conn, r, res := s.handshake("X-Request-Id: mine-2\r\nOrigin: https://evil.example\r\n", "")
	defer conn.Close()
	text, err := io.ReadAll(io.LimitReader(r, res.ContentLength))
	if err != nil || res.StatusCode != http.StatusForbidden || !strings.Contains(string(text), `"request":"mine-2"`) {
		t.Errorf("a handshake: got %d %s, %v; want 403 with the request id", res.StatusCode, text, err)
	}
}

// The response to an unreadable request has the usual error body and security headers.
func TestUnreadableRequestsGetUsualErrorBody(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	for request, want := range map[string]int{
		"GET / HTTP/1.1\r\nHost: a\r\nX: " + strings.Repeat("x", headerLimit) + "\r\n\r\n":     431,
		"GET / HTTP/1.1\r\nHost: a\r\n" + strings.Repeat("X-A: b\r\n", headerLimit/8) + "\r\n": 431,
		"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999\r\n\r\n":                       413,
		"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n" +
			fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", 2*bodyLimit, strings.Repeat("a", 2*bodyLimit)): 413,
		"GET / HTTP/1.1\r\nHost: a\r\nContent-Length: x\r\n\r\n":                                       400,
		"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03 a client sends TLS \r\n\r\n":                     400,
		"GET /api/v1/time HTTP/1.1\r\n\r\n":                                                            400,
		"GET / HTTP/1.1\r\nHost: a\r\nContent-Encoding: br\r\n\r\n":                                    415,
		"DELETE /api/v1/time HTTP/1.1\r\nHost: a\r\nX-Request-Id: <script>\r\n\r\n":                    404,
		"GET /api/v1/%ff%fe/../../../etc/passwd HTTP/1.1\r\nHost: a\r\n\r\n":                           404,
		"GET /api/v1/sales/1'%20OR%20'1'='1 HTTP/1.1\r\nHost: \"><script>alert(1)</script>\r\n\r\n":    400,
		"POST /api/v1/sales/5/buy HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n\r\n": 400,
	} {
		res, text := s.sendAndRead(request)
		sampleRequest, err := http.NewRequest("GET", s.url+"/nowhere", nil)
		if err != nil {
			t.Fatal(err)
		}
		err = contract.Check(contract.Exchange{Request: sampleRequest, Response: res, Got: text})
		if res.StatusCode != want || err != nil {
			t.Errorf("%.60q: got %d %s, want %d; %v", request, res.StatusCode, text, want, err)
		}
	}
}
