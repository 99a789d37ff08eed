package faults

import "strings"

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
var later = []string{"Inventory.Return", "Inventory.Sell", "Inventory.Withdraw"}

// points are all of them, in the order of the flows.
var points = []Point{
	at("gate.before-call", before, "script reserve"), // buys have gathered
	at("gate.after-reply", after, "script reserve"),  // accepted, nobody was answered

	at("fulfil.before-row", before, "Orders.Insert").in("order.(*Fulfiller).Fulfil"), // entries were read
	at("fulfil.after-commit", after, "Orders.Insert").in("order.(*Fulfiller).Fulfil"),
	at("fulfil.before-finish", before, "Inventory.Finish"), // units of refused orders are back
	at("fulfil.after-finish", after, "Inventory.Finish"),

	at("expire.after-commit", after, "Orders.Expire"),
	at("expire.after-return", after, "Inventory.Return").in("order.(*Expirer).Due"),
	at("expire.after-tell", after, "Notifier.Publish").in("order.(*Expirer).Due"),
	at("expire.before-drop", before, "script drop"),

	at("cancel.after-commit", after, "Orders.Cancel"),                               // of an order that had a row
	at("cancel.after-insert", after, "Orders.Insert").in("order.(*Expirer).Cancel"), // of a reservation that had none

	// of any later state: units are back, sold or withdrawn, nobody was told; and the row says that nobody was
	at("effects.after-units", after, later...).in("order.(*Effects).Do"),
	at("effects.after-tell", after, "Notifier.Publish").in("order.(*Effects).Do"),

	at("recover.after-advance", after, "Sales.AdvanceEpoch"),
	at("recover.after-close", after, "Recovery.Close"),
	at("recover.after-end", after, "Orders.EndLost"),     // orders of a sale that had ended have ended again
	at("recover.in-write", after, "Orders.InsertLost"),   // a batch of the stream has its rows
	at("recover.after-compare", after, "Recovery.Stick"), // of a sale
	at("recover.after-restore", after, "Recovery.Restore"),
	at("recover.before-open", before, "Recovery.Open"),

	at("warm.after-read", before, "Inventory.Create"), // the database says that the sale was never loaded
	at("warm.after-create", after, "Inventory.Create"),
	at("warm.after-mark", after, "Sales.MarkLoaded"),
	at("warm.before-arm", before, "Inventory.Arm"),

	at("pay.after-open", before, "Gateway.Pay"), // the trade is noted, the gateway was not contacted
	at("pay.after-commit", after, "Payments.Receive"),
	at("pay.after-sell", after, "Inventory.Sell").in("payment.(*Cashier).Settle"),
	at("pay.after-tell", after, "Notifier.Publish").in("payment.(*Cashier).Settle"),

	at("close.after-answer", after, "Gateway.Close"), // the trade is closed, the order is pending
	at("close.after-commit", after, "Payments.EndTraded"),
	at("close.after-return", after, "Inventory.Return").in("payment.(*Cashier).endAll"),
	at("close.after-tell", after, "Notifier.Publish").in("payment.(*Cashier).endAll"),

	at("late.after-receipt", before, "Orders.ClaimHold").in("payment.(*Cashier).resolve"), // nothing is resolved
	at("late.after-claim", after, "Orders.ClaimHold").in("payment.(*Cashier).resolve"),
	at("late.after-hold", after, "Inventory.Hold").in("payment.(*Cashier).resolve"),
	at("late.after-revive", after, "Payments.ReviveLate"),
	at("late.after-sell", after, "Inventory.Sell").in("payment.(*Cashier).revive"),
	at("late.after-tell", after, "Notifier.Publish").in("payment.(*Cashier).revive"),
	at("late.after-refunding", after, "Refunds.BeginRefund"),

	at("refund.after-ask", after, "Refunds.AskRefund"), // the wish is entered, the policy has not decided
	at("refund.after-decide", after, "Refunds.DecideRefund"),
	at("refund.before-send", before, "Gateway.Refund"),
	at("refund.after-send", after, "Gateway.Refund"),
	at("refund.after-commit", after, "Refunds.FinishRefund"),
	at("refund.after-withdraw", after, "Inventory.Withdraw").in("payment.(*Refunder).finish"),
	at("refund.after-tell", after, "Notifier.Publish").in("payment.(*Refunder).finish"),

	at("act.after-commit", after, "Acts.Act").in("backoffice.(*SaleDesk).edit"), // decided about a sale, Redis does not know
	at("act.after-terms", after, "Keeper.SetTerms").in("backoffice.(*SaleDesk).edit"),
	at("edit.after-commit", after, "Acts.Act").in("backoffice.(*CatalogueDesk).EditSale"),
	at("edit.after-terms", after, "Keeper.SetTerms").in("backoffice.(*CatalogueDesk).EditSale"),
	at("withdraw.after-ask", after, "Acts.Act").in("backoffice.(*SaleDesk).askStock"),
	at("withdraw.after-take", after, "Keeper.TakeOut"), // Redis has decided, the database does not know
	at("withdraw.after-settle", after, "Editor.SettleStock"),
	at("switch.after-commit", after, "Acts.Act").in("backoffice.(*SwitchDesk).EditSwitches"), // no node follows yet
	at("notice.after-commit", after, "Acts.Act").in("backoffice.(*SwitchDesk).replaceNotice"),
	at("block.after-commit", after, "Acts.Act").in("backoffice.(*BlockDesk).AddBlock"),

	at("ship.after-commit", after, "Acts.Act").in("backoffice.(*ShippingDesk).Ship"),
	at("ship.after-tell", after, "Notifier.Publish").in("backoffice.(*ShippingDesk).Ship"),
	at("receipt.after-commit", after, "Shipments.ConfirmReceipt"),
	at("receipt.after-tell", after, "Notifier.Publish").in("backoffice.(*ShippingDesk).ConfirmReceipt"),

	at("post.after-append", after, "OutboxStream.Append"), // the back office has it, the outbox does not know

	at("archive.after-blank", after, "Archive.BlankOrders"), // addresses are gone, nobody knows which sale is through
	at("archive.before-move", before, "Archive.MoveOrders"),
	at("archive.after-move", after, "Archive.MoveOrders"),
	at("archive.after-plan", after, "Archive.PlanArchive"), // a sale is through, the next one is not
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

// scripts are those of its calls that are scripts.
func (p Point) scripts() []string {
	var names []string
	for _, call := range p.calls {
		if name, ok := strings.CutPrefix(call, scriptPrefix); ok {
			names = append(names, name)
		}
	}
	return names
}
