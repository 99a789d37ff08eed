package realtime

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"stampede/app/admission"
	"stampede/app/board"
	"stampede/app/catalog"
	"stampede/app/order"
	"stampede/app/payment"
	"stampede/app/shop"
	"stampede/app/test/kit"
)

// goldenFrames returns all frames of a direction by `file/name`.
func goldenFrames(t testing.TB, direction string) map[string][]byte {
	t.Helper()
	return kit.GoldenFrames(t, "testdata/protocol", direction)
}

const (
	goldNow    = shop.Millis(1795222800000)
	goldSlot   = shop.ID(7301444403200000001)
	goldSale   = shop.ID(7301444403200000101)
	goldSale2  = shop.ID(7301444403200000102)
	goldOrder  = shop.ID(7301444480512000257)
	goldOrder2 = shop.ID(7301444480512000258)
	goldKey    = "k-3f9c1d2e"
	goldPass   = "EQAAAaH7ngaAAAABofuhsAAARFU1OGnynRWHIvbI7O21RQ"
	goldWork   = "EgAAAaH7ngaAAAABofuf20AQ3VbeQTeVHZySaBsDQW7BXw"
	goldSigned = "app_id=2021000000000001&method=alipay.trade.app.pay&sign=kPbQ%3D%3D"
	goldPayURL = "https://openapi.alipay.com/gateway.do?app_id=2021000000000001&method=alipay.trade.page.pay&sign=kPbQ%3D%3D"
)

var (
	goldAddress = &shop.Address{Name: "李雷", Phone: "13800000000", Text: "北京市海淀区中关村大街 1 号"}
	goldUser    = &helloUser{ID: 7301444300000000007, Name: "Guest 7", Role: "shopper"}
	goldCursor  = testCursor(42)
)

func goldView() shop.SaleView {
	product := goldProduct(1, "Kettle", "Kitchen", 25900)
	product.Texts = map[string]shop.ProductText{"zh": {Name: "水壶", Category: "厨房"}}
	return shop.SaleView{
		ID: goldSale, Slot: goldSlot, Product: product,
		PriceFen: 9900, Initial: 100, Added: 20, Stock: 37, Held: 13, Sold: 70, Limit: 2,
		Phase: shop.Open, Challenge: shop.ChallengeNone, OpensAt: goldNow - 60_000, ClosesAt: goldNow + 240_000,
		Done: 78, Rate: 12.4, Watching: 1532,
	}
}

func goldView2() shop.SaleView {
	v := goldView()
	v.ID, v.Product, v.PriceFen, v.Initial, v.Added = goldSale2, goldProduct(2, "电饭煲", "厨房", 49900), 19900, 50, 0
	v.Stock, v.Held, v.Sold, v.Limit, v.Done, v.Rate, v.Watching = 50, 0, 0, 1, 0, 0, 12
	return v
}

func goldProduct(n shop.ID, name, category string, price int64) shop.Product {
	return shop.Product{
		ID: 7301444403200000200 + n, Name: name, Category: category, ListPriceFen: price, Ships: true,
		Images: []shop.Image{{URL: "/images/" + n.String() + ".svg", Alt: name}},
	}
}

func goldPending() shop.Order {
	o := goldAt(shop.Pending, 1)
	o.PayBy, o.Address = goldNow+298_500, goldAddress
	o.PayUntil = o.PaymentEnds()
	return o
}

func goldAt(state shop.OrderState, rev int) shop.Order {
	return shop.Order{
		ID: goldOrder, Sale: goldSale, ProductName: "Kettle", Qty: 2, PriceFen: 9900, AmountFen: 19800,
		State: state, Ticket: 79, Rev: rev, CreatedAt: goldNow - 1500,
	}
}

func goldWith(o shop.Order, change func(o *shop.Order)) shop.Order {
	change(&o)
	return o
}

func goldLate(state shop.OrderState, rev int, change func(o *shop.Order)) shop.Order {
	o := goldAt(state, rev)
	o.PayBy = goldNow + 298_500
	return goldWith(o, change)
}

var (
	goldExpired  = goldLate(shop.Expired, 2, func(o *shop.Order) { o.CancelledAt = goldNow + 298_600 })
	goldRefused  = goldWith(goldAt(shop.Refused, 1), func(o *shop.Order) { o.Reason = shop.ReasonGuard })
	goldRefused2 = goldWith(goldRefused, func(o *shop.Order) { o.ID, o.Ticket = goldOrder2, 80 })
	goldPaid     = goldLate(shop.Paid, 2, func(o *shop.Order) {
		o.PaidAt, o.TradeNo = goldNow+40_000, "2026112122001400000000000001"
	})
	goldRevived = goldWith(goldPaid, func(o *shop.Order) { o.Rev, o.Reason = 3, shop.ReasonPaidLate })
	goldTooLate = goldLate(shop.Refunding, 3, func(o *shop.Order) {
		o.Reason, o.CancelledAt, o.PaidAt, o.TradeNo = shop.ReasonLateSoldOut, goldNow+298_600, goldNow+298_000,
			goldPaid.TradeNo
	})
	goldLateRefunded = goldWith(goldTooLate, func(o *shop.Order) {
		o.State, o.Rev, o.RefundedFen = shop.Refunded, 4, o.AmountFen
	})
	goldRefundRequested = goldWith(goldPaid, func(o *shop.Order) { o.Rev, o.Reason = 3, payment.ReasonRefundRequested })
	goldDeclined        = goldWith(goldPaid, func(o *shop.Order) { o.Rev, o.Reason = 4, payment.ReasonRefundDeclined })
	goldRefunding       = goldWith(goldPaid,
		func(o *shop.Order) { o.State, o.Rev, o.Reason = shop.Refunding, 5, payment.ReasonRefundBuyer })
	goldRefunded = goldWith(goldRefunding, func(o *shop.Order) {
		o.State, o.Rev, o.RefundedFen = shop.Refunded, 6, o.AmountFen
	})
	goldShipped = goldWith(goldPaid, func(o *shop.Order) {
		o.State, o.Rev, o.Tracking, o.Address = shop.Shipped, 3, "SF1000000000001", goldAddress
	})
)

// testCursor returns a cursor that is the given number of milliseconds after a fixed time.
func testCursor(ms int64) Cursor { return Cursor{1795222790000 + shop.Millis(ms), "5f3a9c1e"} }

func goldEvent(o shop.Order, n int64) []byte {
	o.Key = goldKey
	return withCursor(string(OrderFrame(&o)), testCursor(n).String())
}

func goldHelloReply(change func(w *helloReply)) []byte {
	w := helloReply{
		Now: goldNow, Version: version, Session: "9f86d081884c7d65",
		Missed: []json.RawMessage{}, Reservations: []shop.Reservation{},
	}
	change(&w)
	return encode(reply{1, w})
}

func goldTick(views ...shop.SaleView) []byte {
	var lines [][]byte
	for _, v := range views {
		lines = append(lines, appendTickLine(nil, &shop.Counters{
			Sale: v.ID, Stock: v.Stock, Held: v.Held, Sold: v.Sold, Done: v.Done, Rate: v.Rate, Watching: v.Watching,
		}))
	}
	return tickFrame(goldNow, lines)
}

func goldSaleEvent(change func(v *shop.SaleView)) []byte {
	v := goldView()
	change(&v)
	return encode(saleEvent{"sale", v})
}

func goldError(id int64, e *shop.Error) []byte { return encode(rejection{id, e}) }

// serverFrames returns the values that the golden frames encode.
func serverFrames() map[string][]byte {
	slots := []shop.Slot{
		{ID: goldSlot, Phase: shop.Open, OpensAt: goldNow - 60_000, ClosesAt: goldNow + 240_000, Sales: 6},
		{ID: goldSlot + 1, Phase: shop.Upcoming, OpensAt: goldNow + 240_000, ClosesAt: goldNow + 540_000, Sales: 6},
	}
	return map[string][]byte{
		"hello/welcome without token": goldHelloReply(func(*helloReply) {}),
		"hello/welcome, nothing missed": goldHelloReply(func(w *helloReply) {
			w.User, w.Cursor = goldUser, goldCursor.String()
			w.Reservations = []shop.Reservation{{
				Order: goldOrder2, Sale: goldSale, Qty: 1, Key: "k-5a1b7c90", Ticket: 91, Place: 12,
				State: shop.Reserved, CreatedAt: goldNow - 300,
			}}
		}),
		"hello/welcome, two missed": goldHelloReply(func(w *helloReply) {
			w.User, w.Cursor = goldUser, "1795222790044.5f3a9c1e"
			w.Missed = []json.RawMessage{goldEvent(goldExpired, 44), goldEvent(goldRefused2, 44)}
		}),
		"hello/welcome, too many missed": goldHelloReply(func(w *helloReply) {
			w.User, w.Cursor, w.Reset = goldUser, "1795222790180.5f3a9c1e", true
		}),
		"renew/renewed":                   encode(reply{2, renewReply{goldNow + 900_000}}),
		"time/round trip":                 encode(reply{3, roundTrip{"151234", goldNow}}),
		"time/round trip with a fraction": encode(reply{3, roundTrip{"151234.5", goldNow}}),
		"watch/snapshot": encode(reply{
			4, catalog.WatchView{Slots: slots, Sales: []shop.SaleView{goldView(), goldView2()}},
		}),
		"watch/nothing on sale": encode(reply{
			4, catalog.WatchView{Slots: []shop.Slot{}, Sales: []shop.SaleView{}},
		}),
		"unwatch/done": encode(reply{5, empty{}}),
		"buy/reserved": encode(reply{
			6, order.Receipt{Order: goldOrder, Ticket: 79, State: shop.Reserved},
		}),
		"buy/reserved, at place 12": encode(reply{
			6, order.Receipt{Order: goldOrder, Ticket: 91, Place: 12, State: shop.Reserved},
		}),
		"buy/repeated key, now pending": encode(reply{
			6, order.Receipt{Order: goldOrder, Ticket: 79, State: shop.Pending},
		}),
		"pass/given": encode(reply{15, admission.PassResult{Pass: goldPass, Until: goldNow + 120_000}}),
		"pass/work required": encode(reply{15, admission.PassResult{Task: &admission.Task{
			Kind: shop.ChallengeWork, ID: goldWork, Text: goldWork, Bits: 16, Until: goldNow + 120_000,
		}}}),
		"pass/captcha required": encode(reply{15, admission.PassResult{Task: &admission.Task{
			Kind: shop.ChallengeCaptcha, ID: "c-1",
			Image: "data:image/png;base64,iVBORw0KGgo=", Until: goldNow + 300_000,
		}}}),
		"solve/solved":           encode(reply{16, admission.PassResult{Pass: goldPass, Until: goldNow + 240_000}}),
		"cancel/cancelled":       encode(reply{7, stateReply{shop.Cancelled}}),
		"cancel/already expired": encode(reply{7, stateReply{shop.Expired}}),
		"pay/on a page": encode(reply{
			13, payment.Payable{
				Payment: payment.Payment{URL: goldPayURL}, PayBy: goldNow + 298_500, Until: goldNow + 288_000,
			},
		}),
		"pay/in the app": encode(reply{
			13,
			payment.Payable{
				Payment: payment.Payment{OrderString: goldSigned}, PayBy: goldNow + 298_500, Until: goldNow + 288_000,
			},
		}),
		"pay/by a code": encode(reply{
			13,
			payment.Payable{
				Payment: payment.Payment{QR: "https://qr.alipay.com/bax03431ljhokirwl38f00a7"}, PayBy: goldNow + 298_500,
				Until: goldNow + 288_000,
			},
		}),
		"address/set":                encode(reply{14, stateReply{shop.Pending}}),
		"refund/refunding":           encode(reply{14, stateReply{shop.Refunding}}),
		"refund/an operator decides": encode(reply{14, stateReply{shop.Paid}}),
		"orders/a page": encode(reply{
			8, orderPage{[]shop.Order{goldPending(), goldRefused2}, true},
		}),
		"orders/none":   encode(reply{8, orderPage{[]shop.Order{}, false}}),
		"seen/done":     encode(reply{9, empty{}}),
		"board/history": encode(reply{17, boardReply{goldNow, []board.Point{goldPoint()}}}),
		"board/empty history": encode(reply{
			17, boardReply{goldNow, []board.Point{}},
		}),
		"board/left":            encode(reply{18, empty{}}),
		"board/no alarm":        encode(boardEvent{"board", goldBoard()}),
		"board/an alarm":        encode(boardEvent{"board", goldAlarm()}),
		"tick/one sale changed": goldTick(goldView()),
		"tick/whole watch set":  goldTick(goldView(), goldView2()),
		"slot/opened": encode(slotEvent{
			"slot", goldSlot, shop.Open, goldNow - 60_000, goldNow + 240_000, 6,
		}),
		"slot/closed": encode(slotEvent{
			"slot", goldSlot, shop.Ended, goldNow - 300_000, goldNow, 6,
		}),
		"slot/announced": encode(slotEvent{
			"slot", goldSlot + 2, shop.Upcoming, goldNow + 540_000, goldNow + 840_000, 0,
		}),
		"sale/paused":        goldSaleEvent(func(v *shop.SaleView) { v.Paused = true }),
		"sale/stock added":   goldSaleEvent(func(v *shop.SaleView) { v.Added, v.Stock = 40, 57 }),
		"sale/requires work": goldSaleEvent(func(v *shop.SaleView) { v.Challenge, v.Pass = shop.ChallengeWork, true }),
		"order/pending":      goldEvent(goldPending(), 42),
		"order/expired":      goldEvent(goldExpired, 43),
		"order/cancelled": goldEvent(goldLate(shop.Cancelled, 2,
			func(o *shop.Order) { o.CancelledAt = goldNow + 5000 }), 43),
		"order/refused":             goldEvent(goldRefused, 42),
		"order/paid":                goldEvent(goldPaid, 43),
		"order/paid late, revived":  goldEvent(goldRevived, 44),
		"order/paid late, sold out": goldEvent(goldTooLate, 44),
		"order/paid late, refunded": goldEvent(goldLateRefunded, 45),
		"order/refund requested":    goldEvent(goldRefundRequested, 44),
		"order/refund declined":     goldEvent(goldDeclined, 45),
		"order/refunding":           goldEvent(goldRefunding, 46),
		"order/refunded":            goldEvent(goldRefunded, 47),
		"order/shipped":             goldEvent(goldShipped, 44),
		"notice/information":        encode(noticeEvent{"notice", "info", "More kettles at noon.", 0, nil}),
		"notice/with an end time":   encode(noticeEvent{"notice", "info", "More kettles at noon.", 1_790_000_000_000, nil}),
		"notice/removed":            encode(noticeEvent{"notice", "info", "", 0, nil}),
		"notice/in languages": encode(noticeEvent{
			"notice", "info", "More kettles at noon.", 0, map[string]string{"zh": "中午补货。"},
		}),
		"notice/warning": encode(noticeEvent{
			"notice", "warn", "Payments are slow right now; your order keeps its deadline.", 0, nil,
		}),
		"bye/the node is drained": encode(byeEvent{"bye", CloseDrain, 1730}),
		"bye/token ended":         encode(byeEvent{"bye", CloseToken, 0}),
		"bye/token revoked":       encode(byeEvent{"bye", CloseRevoked, 0}),
		"bye/blocked":             encode(byeEvent{"bye", CloseBlocked, 0}),
		"errors/unreadable frame": goldError(0, shop.Fail(shop.BadRequest, "the frame is not a JSON object")),
		"errors/missing field":    goldError(6, shop.Fail(shop.BadRequest, "sale is missing")),
		"errors/quantity zero": goldError(6,
			shop.Fail(shop.BadRequest, "qty must be a whole number of at least 1")),
		"errors/no token": goldError(6,
			shop.Fail(shop.Unauthorized, "log in first: hello has no token")),
		"errors/token of another user": goldError(2,
			shop.Fail(shop.Forbidden, "the token belongs to another user")),
		"errors/unknown sale": goldError(6, shop.Fail(shop.NotFound, "no such sale")),
		"errors/unknown op":   goldError(10, shop.Fail(shop.UnknownOp, `unknown op "dance"`)),
		"errors/before the window": goldError(6, &shop.Error{
			Code: shop.NotOpen, Message: "the sale has not opened yet", RetryMS: 4200,
		}),
		"errors/after the window": goldError(6, shop.Fail(shop.Closed, "the sale is closed")),
		"errors/no stock":         goldError(6, shop.Fail(shop.SoldOut, "sold out")),
		"errors/over the limit": goldError(6, &shop.Error{
			Code: shop.LimitReached, Message: "at most 2 per buyer in this sale",
			Orders: []shop.OrderRef{{ID: goldOrder, State: shop.Pending}, {ID: goldOrder2, State: shop.Reserved}},
		}),
		"errors/key used for another buy": goldError(6,
			shop.Fail(shop.DuplicateKey, "this key was used for another buy of this sale")),
		"errors/second hello": goldError(2, shop.Fail(shop.WrongState, "a connection accepts one hello")),
		"errors/concurrent change": goldError(7,
			shop.Fail(shop.Conflict, "the order changed at the same moment; read it again")),
		"errors/too many ops": goldError(11, &shop.Error{
			Code: shop.RateLimited, Message: "too many ops on this connection", RetryMS: 150,
		}),
		"errors/outcome unknown": goldError(6,
			shop.FailBusy("the outcome is unknown; repeat with the same key", 500e6)),
		"errors/paused by an operator": goldError(6, shop.Fail(shop.Paused, "the sale is paused")),
		"errors/pass required":         goldError(6, shop.Fail(shop.PassRequired, "request a pass first")),
		"errors/captcha required":      goldError(6, shop.Fail(shop.CaptchaRequired, "solve the captcha first")),
		"errors/address required":      goldError(13, shop.Fail(shop.AddressRequired, "the order has no delivery address")),
		"errors/order ended":           goldError(12, shop.Fail(shop.OrderExpired, "the order has expired")),
		"errors/internal error":        goldError(6, shop.AsError(os.ErrClosed)),
	}
}

// The socket protocol is a contract: every server frame equals its golden frame byte for byte.
func TestServerFramesEqualGoldenFrames(t *testing.T) {
	t.Parallel()
	want, got := goldenFrames(t, "server"), serverFrames()
	for name, frame := range want {
		wantSame(t, name, string(frame), string(got[name]))
	}
	for name := range got {
		if want[name] == nil {
			t.Errorf("%s has no golden frame", name)
		}
	}
}

// Every client frame is decoded to the values that its name describes.
func TestGoldenClientFramesAreDecoded(t *testing.T) {
	t.Parallel()
	seen := make(map[string]bool)
	for name, frame := range goldenFrames(t, "client") {
		var r request
		err := r.decode(frame)
		if err != nil || r.invalidID || r.id == 0 {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if _, known := ops[r.op]; !known {
			t.Errorf("%s: unknown op %s", name, r.op)
		}
		seen[r.op] = true
	}
	for name := range ops {
		if !seen[name] {
			t.Errorf("no golden frame of a client for %s", name)
		}
	}
}

func TestClientFrameFieldsAreDecoded(t *testing.T) {
	t.Parallel()
	frames := goldenFrames(t, "client")
	read := func(name string) request {
		var r request
		err := r.decode(frames[name])
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		return r
	}
	r := read("buy/with address and pass")
	buy, err := r.buyRequest()
	want := order.BuyRequest{Sale: goldSale, Qty: 2, Key: goldKey, Address: goldAddress, Pass: "p-1"}
	if diff := cmp.Diff(want, buy); err != nil || diff != "" {
		t.Errorf("buy: %v (-want +got):\n%s", err, diff)
	}
	r = read("orders/of a sale, older")
	q, err := r.ordersQuery()
	if diff := cmp.Diff(shop.OrdersQuery{Sale: goldSale, Before: goldOrder, Limit: 20}, q); err != nil || diff != "" {
		t.Errorf("orders: %v (-want +got):\n%s", err, diff)
	}
	r = read("solve/work")
	solve := fieldReader{request: &r}
	task, answer := solve.text("task"), solve.text("answer")
	if solve.err != nil || task != goldWork || !admission.Solves(task, answer, 16) {
		t.Errorf("solve: %q does not solve %q, %v", answer, task, solve.err)
	}
	r = read("time/round trip with a fraction")
	if t0, err := r.roundTrip(); err != nil || t0 != "151234.5" {
		t.Errorf("time: got t0 %v, error %v", t0, err)
	}
	r = read("watch/sales")
	if _, ids, err := r.watchFields(); err != nil || len(ids) != 2 || ids[1] != goldSale2 {
		t.Errorf("watch: got ids %v, error %v", ids, err)
	}
}
