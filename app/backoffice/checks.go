package backoffice

import "stampede/app/store"

// CheckCode identifies the finding of a check, so that a page can translate it. A code never changes, even if its
// English text does.
type CheckCode string

// The findings of the checklist, in the order of the list. The comment behind a code lists the keys of `Check.Of`.
const (
	FoundUnreadable CheckCode = "unread" // what

	FoundArchived        CheckCode = "sale_archived"
	FoundEnded           CheckCode = "sale_over"
	FoundPaused          CheckCode = "sale_paused"
	FoundProductArchived CheckCode = "product_archived"
	FoundNoPicture       CheckCode = "no_picture"
	FoundPriceNotReduced CheckCode = "price_not_below" // price_fen, list_price_fen
	FoundLimitAboveStock CheckCode = "limit_above_stock"
	FoundOffer           CheckCode = "offered" // product, price_fen, units, limit

	FoundLoadedLater  CheckCode = "loaded_later"
	FoundNotLoadedYet CheckCode = "not_loaded_yet"
	FoundNotLoaded    CheckCode = "not_loaded"
	FoundStockDiffers CheckCode = "stock_differs" // redis_initial, redis_added, initial, added
	FoundStock        CheckCode = "stock_loaded"  // stock, held, sold

	FoundNoPartition        CheckCode = "partition_missing"    // partition
	FoundRecovering         CheckCode = "partition_rebuilding" // partition
	FoundEpochsDiffer       CheckCode = "epochs_differ"        // partition, redis, database
	FoundPartition          CheckCode = "partition_fits"       // partition, epoch
	FoundWritesRejected     CheckCode = "writes_rejected"      // partition
	FoundBacklogFull        CheckCode = "backlog_full"         // waiting, most
	FoundBacklogGrows       CheckCode = "backlog_grows"        // waiting
	FoundDeadLetters        CheckCode = "dead_letters"         // dead
	FoundBacklog            CheckCode = "backlog_fits"         // waiting
	FoundNoNode             CheckCode = "no_node"              // role
	FoundOneNode            CheckCode = "one_node"             // role, node
	FoundNodes              CheckCode = "nodes"                // role, nodes
	FoundClocksApart        CheckCode = "clocks_apart"         // apart_ms
	FoundClocks             CheckCode = "clocks_agree"         // apart_ms
	FoundNoGateway          CheckCode = "no_gateway"
	FoundGatewayUnreachable CheckCode = "gateway_silent"
	FoundGatewayRejects     CheckCode = "gateway_refuses"
	FoundGateway            CheckCode = "gateway_answers"
	FoundNoMailServer       CheckCode = "no_mail_server"
	FoundDeadMails          CheckCode = "mails_dead" // dead
	FoundMails              CheckCode = "mails_sent"

	FoundEmbedded        CheckCode = "embedded"
	FoundWeakSetting     CheckCode = "setting_weak"    // store, setting, is, want
	FoundUnknownSetting  CheckCode = "setting_unknown" // store, setting, want
	FoundLogNotWritten   CheckCode = "log_not_written"
	FoundLogNotRewritten CheckCode = "log_not_rewritten"
	FoundNoReplica       CheckCode = "no_replica"
	FoundNoBinaryLog     CheckCode = "no_binary_log"
	FoundDurable         CheckCode = "durable"
)

// CheckCodes returns all codes.
func CheckCodes() []CheckCode {
	return []CheckCode{
		FoundUnreadable, FoundArchived, FoundEnded, FoundPaused, FoundProductArchived, FoundNoPicture,
		FoundPriceNotReduced,
		FoundLimitAboveStock, FoundOffer, FoundLoadedLater, FoundNotLoadedYet, FoundNotLoaded, FoundStockDiffers,
		FoundStock, FoundNoPartition, FoundRecovering, FoundEpochsDiffer, FoundPartition, FoundWritesRejected,
		FoundBacklogFull, FoundBacklogGrows, FoundDeadLetters, FoundBacklog, FoundNoNode, FoundOneNode, FoundNodes,
		FoundClocksApart, FoundClocks, FoundNoGateway, FoundGatewayUnreachable, FoundGatewayRejects, FoundGateway,
		FoundNoMailServer, FoundDeadMails, FoundMails, FoundEmbedded, FoundWeakSetting, FoundUnknownSetting,
		FoundLogNotWritten, FoundLogNotRewritten, FoundNoReplica, FoundNoBinaryLog, FoundDurable,
	}
}

// Facts holds the values of a finding by name.
type Facts map[string]any

// CheckSetting returns the checklist entry for a weak setting of a server. refused makes it a failure.
func CheckSetting(w store.WeakSetting, server string, refused bool) Check {
	c := Check{
		State: CheckWarn, Code: FoundWeakSetting, Message: server + ": " + w.String(), Do: "stampede checkconfig",
		Of: Facts{"store": server, "setting": w.Setting, "is": w.Is, "want": w.Want},
	}
	if w.Is == "" {
		c.Code = FoundUnknownSetting
		delete(c.Of, "is")
	}
	if refused {
		c.State = CheckFail
	}
	return c
}
