package e2e

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"stampede/app/order"
	"stampede/app/payment"
	"stampede/app/shop"
	"stampede/app/test/kit"
)

// hostileTexts lists texts that attack a database, a script, a page, a template, a log or a terminal.
var hostileTexts = []string{
	`'; DROP TABLE orders; -- `,
	`" OR "1"="1' OR '1'='1`,
	`\'; UPDATE orders SET state=0x70616964 WHERE 1=1 /* \`,
	`1); DELETE FROM sales WHERE (1=1`,
	`<script>alert(document.cookie)</script>`,
	`"><img src=x onerror="alert(1)">`,
	`</script></style></textarea><svg/onload=alert(1)>`,
	`javascript:alert(1)//%0Aalert(1)`,
	`{{7*7}} ${7*7} #{7*7} <%= 7*7 %>`,
	`%s%n%x %00 ../../etc/passwd`,
	`|order=1|*3|$6|"]}`,
	`𝒰𝓃𝒾𝒸ℴ𝒹ℯ 名前 &lt;b&gt;` + " \u202eabc \u200d",
}

// truncate truncates a text to at most the given number of bytes, between two characters.
func truncate(text string, bytes int) string {
	for len(text) > bytes {
		runes := []rune(text)
		text = string(runes[:len(runes)-1])
	}
	return text
}

// Text that people enter into displayed fields is returned byte for byte, over HTTP, over the socket and to operators.
// It is never interpreted as a statement, script or template. frontend/smoke/hostile.spec.mjs checks that the page
// shows it as text.
func TestUserTextIsReturnedUnchanged(t *testing.T) {
	t.Parallel()
	g := startGateway(t)
	s := newShop(t, append(g.settings, "STAMPEDE_REFUND_POLICY=operator", "STAMPEDE_GUEST_LOGIN=true")...)
	var sales []shop.Sale
	for _, text := range hostileTexts {
		sales = append(sales, s.offerNamed(text))
	}
	n := s.start()
	operator, user := operatorToken(t), kit.NewID()
	who := token(t, user)
	c, _ := login(t, n, user, "")
	var all sync.WaitGroup // not t.Parallel: all subtests wait most of the time
	for i := range hostileTexts {
		all.Go(func() {
			t.Run(fmt.Sprintf("text %d", i), func(t *testing.T) {
				n.withTest(t).sellProduct(g.withTest(t), c, sales[i], who, operator)
			})
		})
	}
	all.Go(func() { t.Run("searches", func(t *testing.T) { n.withTest(t).sendSearches(who, operator) }) })
	all.Wait()
	if t.Failed() {
		return
	}
	n.requestAndApproveRefund(who, operator)
	if got := s.count("SELECT COUNT(*) FROM orders"); got != int64(len(hostileTexts)) {
		t.Errorf("%d orders, want %d", got, len(hostileTexts))
	}
	if taken, back := g.ledger(); taken != int64(len(hostileTexts))*sales[0].PriceFen || back != sales[0].PriceFen {
		t.Errorf("the gateway took %d fen and refunded %d fen", taken, back)
	}
	for _, sale := range sales {
		s.awaitDrained(sale)
		s.audit(sale)
	}
}

// sellProduct checks that a product of offerNamed is shown, sells it and declines its refund. c is a socket of the
// buyer.
func (n *node) sellProduct(g *gateway, c *client, sale shop.Sale, who, operator string) {
	n.t.Helper()
	text := sale.Product.Name
	n.requireShown(sale, text)
	// An address is stored without blanks and invisible characters around its parts.
	address := shop.Address{
		Name: "«" + truncate(text, 90) + "»", Phone: "«" + truncate(text, 24) + "»", Text: "«" + text + "»",
	}
	var receipt order.Receipt
	n.expect(http.StatusOK, &receipt, n.post, "/api/v1/sales/"+sale.ID.String()+"/buy", who, map[string]any{
		"qty": 1, "key": "hostile-" + sale.ID.String(), "address": address,
	})
	placed := n.awaitState(receipt.Order, who, shop.Pending)
	if diff := cmp.Diff(&address, placed.Address); diff != "" || placed.ProductName != text {
		n.t.Errorf("%q was returned as %q, its address (-sent +read):\n%s", text, placed.ProductName, diff)
	}
	kit.Eventually(n.t, waitTimeout, func() (bool, string) {
		return c.received(placed.ID, shop.Pending), "the socket did not receive the order"
	})
	for _, e := range c.ordersReceived() {
		if e.Order.ID == placed.ID && (cmp.Diff(&address, e.Order.Address) != "" || e.Order.ProductName != text) {
			n.t.Errorf("%q was published on the socket as %+v", text, e.Order)
		}
	}
	n.payOrder(g, placed, who)
	n.requestAndDeclineRefund(placed.ID, who, operator, text)
}

// offerNamed puts a product on sale that has the text in every field.
func (s *testShop) offerNamed(text string) shop.Sale {
	s.t.Helper()
	category := shop.Category{ID: kit.NewID()}
	category.Name = truncate(text, 40) + category.ID.String()
	product := shop.Product{
		ID: kit.NewID(), Name: text, Category: category.Name, CategoryID: category.ID, ListPriceFen: 9900,
		Images: []shop.Image{{URL: "/products/lamp.svg", Alt: text}}, Description: text, Rules: text,
	}
	now := time.Now()
	sale := shop.Sale{
		ID: kit.NewID(), Slot: s.openSlot().ID, Product: product, PriceFen: 4900, Initial: 5, Limit: 2, Cap: 10,
		Challenge: shop.ChallengeNone, Version: 1,
		OpensAt: shop.MillisOf(now.Add(-time.Second)), ClosesAt: shop.MillisOf(now.Add(time.Hour)),
	}
	ctx := kit.Context(s.t)
	s.must(s.store.Catalogue().AddCategories(ctx, []shop.Category{category}))
	s.must(s.store.Catalogue().AddProducts(ctx, []shop.Product{product}))
	s.must(s.store.Sales().AddSales(ctx, []shop.Sale{sale}))
	return sale
}

// requireShown checks that the product is returned as it was stored.
func (n *node) requireShown(sale shop.Sale, text string) {
	n.t.Helper()
	var detail shop.SaleView
	n.expect(http.StatusOK, &detail, n.read, "/api/v1/sales/"+sale.ID.String(), "", nil)
	var product shop.Product
	n.expect(http.StatusOK, &product, n.read, "/api/v1/products/"+sale.Product.ID.String(), "", nil)
	for name, got := range map[string]string{
		"the sale's product": detail.Product.Name, "its picture": detail.Product.Images[0].Alt, "its rules": detail.Rules,
		"its description": detail.Description, "the product": product.Name, "the product's rules": product.Rules,
	} {
		if got != text {
			n.t.Errorf("%s is %q, want %q", name, got, text)
		}
	}
	var all struct{ Categories []shop.Category }
	n.expect(http.StatusOK, &all, n.read, "/api/v1/categories", "", nil)
	found := false
	for _, c := range all.Categories {
		found = found || c.ID == sale.Product.CategoryID && c.Name == sale.Product.Category
	}
	if !found || detail.Product.Category != sale.Product.Category {
		n.t.Errorf("the category %q was returned as %q", sale.Product.Category, detail.Product.Category)
	}
}

// requestAndDeclineRefund stores the text as a buyer's reason and as an operator's note.
func (n *node) requestAndDeclineRefund(placed shop.ID, who, operator, text string) {
	n.t.Helper()
	n.expect(http.StatusOK, nil, n.post, "/api/v1/orders/"+placed.String()+"/refund", who, map[string]any{"reason": text})
	var shown struct{ Refund payment.Refund }
	service := "/api/v1/operator/orders/" + placed.String()
	n.expect(http.StatusOK, &shown, n.read, service, operator, nil)
	if shown.Refund.Reason != text {
		n.t.Errorf("the reason %q was returned as %q", text, shown.Refund.Reason)
	}
	n.expect(http.StatusOK, nil, n.post, "/api/v1/operator/refunds/"+placed.String()+"/decline", operator,
		map[string]any{"note": text})
	n.expect(http.StatusOK, &shown, n.read, service, operator, nil)
	if shown.Refund.Note != text || shown.Refund.State != payment.RefundDeclined {
		n.t.Errorf("the note %q was returned as %q", text, shown.Refund.Note)
	}
}

// requestAndApproveRefund requests the declined refund again. An operator, not the buyer, approves it.
func (n *node) requestAndApproveRefund(who, operator string) {
	n.t.Helper()
	var bought struct{ Orders []shop.Order }
	n.expect(http.StatusOK, &bought, n.read, "/api/v1/orders?limit=1", who, nil)
	placed := bought.Orders[0].ID
	n.expect(http.StatusOK, nil, n.post, "/api/v1/orders/"+placed.String()+"/refund", who,
		map[string]any{"reason": "again"})
	approve := "/api/v1/operator/refunds/" + placed.String() + "/approve"
	n.expect(http.StatusForbidden, nil, n.post, approve, who, nil)
	n.awaitState(placed, who, shop.Paid)
	n.expect(http.StatusOK, nil, n.post, approve, operator, nil)
	n.awaitState(placed, who, shop.Refunded)
}

// sendSearches sends the texts where ids, days and states are expected. Each is rejected with status 400 or 404 and
// without internal details.
func (n *node) sendSearches(who, operator string) {
	n.t.Helper()
	for _, text := range hostileTexts {
		inPath, inQuery := url.PathEscape(text), url.QueryEscape(text)
		for path, bearer := range map[string]string{
			"/api/v1/sales/" + inPath:                              "",
			"/api/v1/slots/" + inPath + "/sales":                   "",
			"/api/v1/products/" + inPath:                           "",
			"/api/v1/products?category=" + inQuery:                 "",
			"/api/v1/slots?day=" + inQuery:                         "",
			"/api/v1/sales?phase=" + inQuery:                       "",
			"/api/v1/orders/" + inPath:                             who,
			"/api/v1/orders?sale=" + inQuery:                       who,
			"/api/v1/orders?before=" + inQuery:                     who,
			"/api/v1/operator/orders?state=" + inQuery:             operator,
			"/api/v1/operator/refunds?state=open&limit=" + inQuery: operator,
		} {
			status, response := n.get(path, bearer)
			if status != http.StatusBadRequest && status != http.StatusNotFound {
				n.t.Errorf("%s: %d %s", path, status, response)
			}
			if strings.Contains(string(response), "SQL") || strings.Contains(string(response), "syntax") {
				n.t.Errorf("the error of %s reveals internals: %s", path, response)
			}
		}
	}
}
