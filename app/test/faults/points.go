package faults

// Point is a place at which a process can be made to die, or to stand still: between two steps whose order is what
// makes a crash harmless. It is named <flow>.<where>; the flows draw their steps in their own comments.
type Point struct {
	Name  string
	when  moment
	calls []string // any of these is the step
	// of is the function that makes the call, "package.(*Type).Method"; "" where only one function does. The same step
	// belongs to several flows, and a call does not say for which it is made.
	of string
}

// moment is on which side of the call a point is. After it means after one that returned no error.
type moment int

const (
	before moment = iota
	after
)

// later are the steps in Redis that follow a change of an order's state.
var later = []string{"script return", "script sell", "script withdraw"}

// points are all of them, in the order of the flows.
var points = []Point{
	at("gate.before-call", before, "script reserve"), // buys have gathered
	at("gate.after-reply", after, "script reserve"),  // accepted, nobody was answered

	at("fulfil.before-row", before, "Store.Insert").in("order.(*Fulfiller).Fulfil"), // entries were read
	at("fulfil.after-commit", after, "Store.Insert").in("order.(*Fulfiller).Fulfil"),
	at("fulfil.before-finish", before, "script finish"), // units of refused orders are back
	at("fulfil.after-finish", after, "script finish"),

	at("expire.after-commit", after, "Store.Expire"),
	at("expire.after-return", after, "script return").in("order.(*Expirer).Due"),
	at("expire.after-tell", after, "script publish").in("order.(*Expirer).Due"),
	at("expire.before-drop", before, "script drop"),

	at("cancel.after-commit", after, "Store.Cancel"),                               // of an order that had a row
	at("cancel.after-insert", after, "Store.Insert").in("order.(*Expirer).Cancel"), // of a reservation that had none

	// of any later state: units are back, sold or withdrawn, nobody was told; and the row says that nobody was
	at("effects.after-units", after, later...).in("order.(*Effects).Do"),
	at("effects.after-tell", after, "script publish").in("order.(*Effects).Do"),

	at("recover.after-advance", after, "Store.AdvanceEpoch"),
	at("recover.after-close", after, "script close"),
	at("recover.after-end", after, "Store.EndLost"),    // orders of a sale that had ended have ended again
	at("recover.in-write", after, "Store.InsertLost"),  // a batch of the stream has its rows
	at("recover.after-compare", after, "script stick"), // of a sale
	at("recover.after-restore", after, "script restore"),
	at("recover.before-open", before, "script open"),

	at("warm.after-read", before, "script create"), // the database says that the sale was never loaded
	at("warm.after-create", after, "script create"),
	at("warm.after-mark", after, "Store.MarkLoaded"),
	at("warm.before-arm", before, "script arm"),

	at("pay.after-open", before, "Gateway.Pay"), // the trade is noted, the gateway was not contacted
	at("pay.after-commit", after, "Store.Receive"),
	at("pay.after-sell", after, "script sell").in("payment.(*Cashier).Settle"),
	at("pay.after-tell", after, "script publish").in("payment.(*Cashier).Settle"),

	at("close.after-answer", after, "Gateway.Close"), // the trade is closed, the order is pending
	at("close.after-commit", after, "Store.EndTraded"),
	at("close.after-return", after, "script return").in("payment.(*Cashier).endAll"),
	at("close.after-tell", after, "script publish").in("payment.(*Cashier).endAll"),

	at("late.after-receipt", before, "Store.ClaimHold").in("payment.(*Cashier).resolve"), // nothing is resolved
	at("late.after-claim", after, "Store.ClaimHold").in("payment.(*Cashier).resolve"),
	at("late.after-hold", after, "script hold").in("payment.(*Cashier).resolve"),
	at("late.after-revive", after, "Store.ReviveLate"),
	at("late.after-sell", after, "script sell").in("payment.(*Cashier).revive"),
	at("late.after-tell", after, "script publish").in("payment.(*Cashier).revive"),
	at("late.after-refunding", after, "Store.BeginRefund"),

	at("refund.after-ask", after, "Store.AskRefund"), // the wish is entered, the policy has not decided
	at("refund.after-decide", after, "Store.DecideRefund"),
	at("refund.before-send", before, "Gateway.Refund"),
	at("refund.after-send", after, "Gateway.Refund"),
	at("refund.after-commit", after, "Store.FinishRefund"),
	at("refund.after-withdraw", after, "script withdraw").in("payment.(*Refunder).finish"),
	at("refund.after-tell", after, "script publish").in("payment.(*Refunder).finish"),

	// decided about a sale, Redis does not know
	at("act.after-commit", after, "Store.Act").in("backoffice.(*SaleDesk).edit"),
	at("act.after-terms", after, "script terms").in("backoffice.(*SaleDesk).edit"),
	at("edit.after-commit", after, "Store.Act").in("backoffice.(*CatalogueDesk).EditSale"),
	at("edit.after-terms", after, "script terms").in("backoffice.(*CatalogueDesk).EditSale"),
	at("withdraw.after-ask", after, "Store.Act").in("backoffice.(*SaleDesk).askStock"),
	at("withdraw.after-take", after, "script take_out"), // Redis has decided, the database does not know
	at("withdraw.after-settle", after, "Store.SettleStock"),
	at("switch.after-commit", after, "Store.Act").in("backoffice.(*SwitchDesk).EditSwitches"), // no node follows yet
	at("notice.after-commit", after, "Store.Act").in("backoffice.(*SwitchDesk).replaceNotice"),
	at("block.after-commit", after, "Store.Act").in("backoffice.(*BlockDesk).AddBlock"),

	at("ship.after-commit", after, "Store.Act").in("backoffice.(*ShippingDesk).Ship"),
	at("ship.after-tell", after, "script publish").in("backoffice.(*ShippingDesk).Ship"),
	at("receipt.after-commit", after, "Store.ConfirmReceipt"),
	at("receipt.after-tell", after, "script publish").in("backoffice.(*ShippingDesk).ConfirmReceipt"),

	at("post.after-append", before, "Store.MarkSent"), // the back office has it, the outbox does not know

	at("archive.after-blank", after, "Store.BlankOrders"), // addresses are gone, nobody knows which sale is through
	at("archive.before-move", before, "Store.MoveOrders"),
	at("archive.after-move", after, "Store.MoveOrders"),
	at("archive.after-plan", after, "Store.PlanArchive"), // a sale is through, the next one is not
}

func at(name string, when moment, calls ...string) Point {
	return Point{Name: name, when: when, calls: calls}
}

func (p Point) in(function string) Point {
	p.of = function
	return p
}

// Names lists the points in the order of the flows.
func Names() []string {
	names := make([]string, len(points))
	for i, p := range points {
		names[i] = p.Name
	}
	return names
}
