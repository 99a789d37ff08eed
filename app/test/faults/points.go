package faults

// Point is a place at which a process can be killed or frozen. It lies between two steps whose order makes a crash
// harmless. Its name is <flow>.<where>. The comments of the flows describe their steps.
type Point struct {
	Name  string
	when  side
	calls []string // any of these calls is the step
	// caller is the function that makes the call, "package.(*Type).Method"; "" if only one function makes it. Several
	// flows have the same step, and the call does not identify its flow.
	caller string
}

// side is the side of the call on which a point lies. After means after a call that returned no error.
type side int

const (
	before side = iota
	after
)

// redisEffects lists the steps in Redis that follow a change of an order's state.
var redisEffects = []string{"script return", "script sell", "script withdraw"}

// points lists all points in the order of the flows.
var points = []Point{
	at("gate.before-call", before, "script reserve"), // a batch of buys is collected
	at("gate.after-reply", after, "script reserve"),  // accepted; no reply is sent yet

	at("fulfil.before-row", before, "Orders.Insert").calledBy("order.(*Fulfiller).Fulfil"), // entries were read
	at("fulfil.after-commit", after, "Orders.Insert").calledBy("order.(*Fulfiller).Fulfil"),
	at("fulfil.before-finish", before, "script finish"), // units of refused orders are returned
	at("fulfil.after-finish", after, "script finish"),

	at("expire.after-commit", after, "Orders.Expire"),
	at("expire.after-return", after, "script return").calledBy("order.(*Expirer).Due"),
	at("expire.after-publish", after, "script publish").calledBy("order.(*Expirer).Due"),
	at("expire.before-drop", before, "script drop"),

	at("cancel.after-commit", after, "Orders.Cancel"),                                     // the order had a row
	at("cancel.after-insert", after, "Orders.Insert").calledBy("order.(*Expirer).Cancel"), // the reservation had no row

	at("address.after-commit", after, "Orders.SetAddress"),                                       // the order had a row
	at("address.after-insert", after, "Orders.Insert").calledBy("order.(*Addresses).SetAddress"), // the reservation had no row

	// any later state: units are returned, sold or withdrawn; the row is still marked as unpublished
	at("effects.after-units", after, redisEffects...).calledBy("order.(*Effects).Do"),
	at("effects.after-publish", after, "script publish").calledBy("order.(*Effects).Do"),

	at("recover.after-advance", after, "Partitions.AdvanceEpoch"),
	at("recover.after-close", after, "script close"),
	at("recover.after-end", after, "Orders.EndLost"),       // orders that had ended in Redis are ended in the database
	at("recover.in-write", after, "Orders.InsertLost"),     // one batch of stream entries has its rows
	at("recover.after-compare", after, "script set_stuck"), // for one sale
	at("recover.after-restore", after, "script restore"),
	at("recover.before-open", before, "script open"),

	at("warm.after-read", before, "script create"), // in the database, the sale was never loaded
	at("warm.after-create", after, "script create"),
	at("warm.after-mark", after, "Sales.MarkLoaded"),
	at("warm.before-arm", before, "script arm"),

	at("pay.after-open", before, "Gateway.Pay"), // the trade is stored; the gateway was not contacted
	at("pay.after-commit", after, "Payments.Receive"),
	at("pay.after-sell", after, "script sell").calledBy("payment.(*PaymentService).Settle"),
	at("pay.after-publish", after, "script publish").calledBy("payment.(*PaymentService).Settle"),

	at("close.after-reply", after, "Gateway.Close"), // the trade is closed; the order is still pending
	at("close.after-commit", after, "Payments.EndTraded"),
	at("close.after-return", after, "script return").calledBy("payment.(*PaymentService).endOrders"),
	at("close.after-publish", after, "script publish").calledBy("payment.(*PaymentService).endOrders"),

	at("late.after-receipt", before, "Orders.ClaimHold").calledBy("payment.(*PaymentService).resolve"), // the payment is stored only
	at("late.after-claim", after, "Orders.ClaimHold").calledBy("payment.(*PaymentService).resolve"),
	at("late.after-hold", after, "script hold").calledBy("payment.(*PaymentService).resolve"),
	at("late.after-revive", after, "Payments.ReviveLate"),
	at("late.after-sell", after, "script sell").calledBy("payment.(*PaymentService).revive"),
	at("late.after-publish", after, "script publish").calledBy("payment.(*PaymentService).revive"),
	at("late.after-refunding", after, "Refunds.BeginRefund"),

	at("refund.after-request", after, "Refunds.RequestRefund"), // the request is stored, and the policy has decided
	at("refund.before-send", before, "Gateway.Refund"),
	at("refund.after-send", after, "Gateway.Refund"),
	at("refund.after-commit", after, "Refunds.FinishRefund"),
	at("refund.after-withdraw", after, "script withdraw").calledBy("payment.(*Refunder).finish"),
	at("refund.after-publish", after, "script publish").calledBy("payment.(*Refunder).finish"),

	// operations on a sale: committed in the database, not yet applied in Redis
	at("act.after-commit", after, "Store.RunOperation").calledBy("backoffice.(*SaleService).edit"),
	at("act.after-terms", after, "script terms").calledBy("backoffice.(*SaleService).edit"),
	at("edit.after-commit", after, "Store.RunOperation").calledBy("backoffice.Schedule.EditSale"),
	at("edit.after-terms", after, "script terms").calledBy("backoffice.Schedule.EditSale"),
	at("withdraw.after-request", after, "Store.RunOperation").calledBy("backoffice.(*SaleService).requestWithdrawal"),
	at("withdraw.after-take", after, "script take_out"), // Redis has decided; the database is not updated
	at("withdraw.after-settle", after, "Withdrawals.SettleWithdrawal"),
	at("switch.after-commit", after, "Store.RunOperation").calledBy("backoffice.(*SettingsService).EditSwitches"), // no node applies it yet
	at("notice.after-commit", after, "Store.RunOperation").calledBy("backoffice.(*SettingsService).replaceBanner"),
	at("block.after-commit", after, "Store.RunOperation").calledBy("backoffice.(*BlockService).AddBlock"),

	at("ship.after-commit", after, "Store.RunOperation").calledBy("backoffice.(*ShippingService).Ship"),
	at("ship.after-publish", after, "script publish").calledBy("backoffice.(*ShippingService).Ship"),
	at("receipt.after-commit", after, "Shipments.ConfirmReceipt"),
	at("receipt.after-publish", after, "script publish").calledBy("backoffice.(*ShippingService).ConfirmReceipt"),

	at("post.after-append", before, "Outbox.MarkSent"), // the message is sent; the outbox row is not marked

	at("blank.after-step", after, "PersonalData.BlankOrders"), // addresses are deleted; the progress is not stored
	at("blank.after-plan", after, "PersonalData.PlanBlank"),   // one sale is done, the next one is not
}

func at(name string, when side, calls ...string) Point {
	return Point{Name: name, when: when, calls: calls}
}

func (p Point) calledBy(function string) Point {
	p.caller = function
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
