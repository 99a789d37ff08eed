package streams

import (
	"stampede/app/shop"
)

// All keys of a partition share the hash tag {p}, so that one script may touch them together and a cluster keeps them
// on one node; there the tag is longer, see tagsOf. None has a TTL but where it says so: absent is not empty (I7).
// "Lua" below names the scripts that write.
//
//	key                              type    what, who writes
//	stampede:{p}:meta                hash    epoch, seq, state (open | recovering), waiting: reservations not
//	                                         settled yet; claim: the epoch that the recovery under way will begin,
//	                                         claim_server claim_generation: of its database;
//	                                         lost: Redis lacks writes; closed_at: since when, ms; history: of the
//	                                         server on which it may sell; began: epoch:seq of the last recovery;
//	                                         db_server db_generation db_beat db_lossless db_replaced: of the database
//	                                         (shop.RecordedHistory); published: number of the last message to the
//	                                         nodes. Lua reserve, finish, publish, dead_letter, close, open, note,
//	                                         set_aside, confirm, lag; Accept
//	stampede:{p}:orders              stream  one entry per reservation: terms, of a traced buy also trace
//	                                         (see reserve.lua); group "fulfil", made at 0. Lua reserve; trim
//	stampede:{p}:waiting             hash    sale → how many of its reservations are not settled yet; without those that
//	                                         have none. Lua reserve, finish, dead_letter, open, set_aside, lag
//	stampede:{p}:deadlines           zset    order → instant at which it is due, ms; raised by a lease while a
//	                                         sweeper has it. Schedule, Lua finish, take, renew, drop
//	stampede:{p}:dead                stream  dead letters: the entry's fields, then reason, stream, deliveries, at.
//	                                         Lua dead_letter, set_aside
//	stampede:{p}:attempts            hash    stream id → failures of that entry on its own account. Consumer
//	stampede:{p}:orders:before       stream  the stream before the partition was restored from rows; with a TTL of an
//	                                         hour. Lua open
//	stampede:{p}:probe               string  tries whether the partition accepts writes; with a TTL of 1 s. Stats
//	stampede:{p}:sale:<id>           hash    price version opens closes limit cap · initial added stock held sold
//	                                         withdrawn burnt · tickets done · paused armed rest_until stuck · moves:
//	                                         changes of holds but by reserve · out:<act>: units that an
//	                                         operator's withdrawal has taken. Lua create, arm, reserve, return, hold,
//	                                         sell, withdraw, finish, dead_letter, restore, correct, terms, take_out,
//	                                         stick, set_aside
//	stampede:{p}:sale:<id>:buyers    hash    user → units|records|order:hash:ticket:key;order:hash:ticket:key;… — the
//	                                         units that count to the limit and every reservation ever accepted. Units go
//	                                         down on return, records stay as long as the sale lives (P4, I9). Behind
//	                                         them |<stream id> <stream id>… of those that wait, settled ones
//	                                         among them (see unsettled.lua). Behind those, where the sale asks or
//	                                         asked for passes, |<ms>: when the pass was issued that was spent
//	                                         last. Lua reserve, return, hold, restore
//	stampede:{p}:sale:<id>:open      hash    order → hold:qty, the live holds; with :sold behind it once the order
//	                                         is paid. Lua reserve, return, hold, sell, withdraw, restore
//	stampede:{p}:sale:<id>:watching  hash    node → count:expires_ms, people watching (a hint; this one has a TTL).
//	                                         SetWatching
//	stampede:{backoffice}:paid       stream  paid and refunded orders for the shop's back office (see PaidStream),
//	                                         under a tag of its own: it is made from the database. Groups of its
//	                                         readers: "mail", "webhook", those of the shop. PaidStream, Lua replay
//	stampede:{backoffice}:parked     stream  quarantine of postings that a receiver rejects: the entry's fields, then
//	                                         group, reason, stream, deliveries, at. Stays until an operator decides.
//	                                         Lua quarantine, replay
//	stampede:{backoffice}:mark       hash    history: of the server on which postings are appended; at: high-water mark
//	                                         of the postings (see post.lua). Lua post, confirm_mark
//	stampede:{mail}:letters          stream  e-mails that are to be sent (see MailStream), deleted once they are. Group
//	                                         "mailers". Lua mail_post, quarantine, replay; Deliverer
//	stampede:{mail}:dead             stream  quarantine of e-mails, with the same fields. Lua quarantine, replay
//	stampede:{mail}:mark             hash    as that of the postings; at stays the instant at which it was made. Lua
//	                                         confirm_mark
//	stampede:{mail}:posted:<kind>:<about>  string  that e-mail was appended; for eight days (this one has a TTL, too).
//	                                         Lua mail_post
//	stampede:{workers}:there         zset    worker → until when it counts, ms, if it says nothing more (see Workers); a
//	                                         hint. Lua attend
//	stampede:{board}:nodes           hash    node number → JSON of what it said last (board.NodeFigures), for the live board;
//	                                         a hint, with a TTL. SayFigures, AddPoint
//	stampede:{board}:history         list    JSON of a point every 5 s (board.Point), 15 minutes of them; with a TTL.
//	                                         AddPoint
//	stampede:{board}:sale:<id>       hash    process → JSON of what it has counted of the presses of Buy on that sale
//	                                         (board.SaleFigures), for its report; with a TTL of 40 days. SaySaleFigures
//	stampede:{board}:turn:<ms>       string  which node makes the point of that instant; with a TTL. SayFigures
//
//	channel                              message
//	stampede:changes:<namespace>:<p>     what has changed in partition p, see shop.Message. Lua finish, publish

// Names that operators type.
const (
	group     = "fulfil"
	paidKey   = "stampede:{backoffice}:paid"
	parkedKey = "stampede:{backoffice}:parked"
	paidMark  = "stampede:{backoffice}:mark"

	mailKey     = "stampede:{mail}:letters"
	mailDeadKey = "stampede:{mail}:dead"
	mailMark    = "stampede:{mail}:mark"
	mailMarks   = "stampede:{mail}:posted:"

	workersKey = "stampede:{workers}:there"

	boardKey     = "stampede:{board}:nodes"
	boardHistory = "stampede:{board}:history"
	boardTurns   = "stampede:{board}:turn:"
	boardSale    = "stampede:{board}:sale:"

	stateOpen   = "open"
	stateClosed = "recovering"
	soldMark    = ":sold" // behind a hold whose order is paid
)

// partitionKeys are the keys of one partition, made once.
type partitionKeys struct {
	prefix    string
	meta      string
	orders    string
	waiting   string
	deadlines string
	dead      string
	attempts  string
}

func keysOf(tag string) partitionKeys {
	prefix := "stampede:{" + tag + "}:"
	return partitionKeys{
		prefix:    prefix,
		meta:      prefix + "meta",
		orders:    prefix + "orders",
		waiting:   prefix + "waiting",
		deadlines: prefix + "deadlines",
		dead:      prefix + "dead",
		attempts:  prefix + "attempts",
	}
}

func (k *partitionKeys) sale(id shop.ID) string {
	return k.prefix + "sale:" + id.String()
}

// saleKeys are what most scripts about a sale want.
func saleKeys(id shop.ID) func(k *partitionKeys) []string {
	return func(k *partitionKeys) []string { return []string{k.meta, k.sale(id), k.buyers(id), k.open(id)} }
}

func metaKey(k *partitionKeys) []string { return []string{k.meta} }

func (k *partitionKeys) buyers(id shop.ID) string   { return k.sale(id) + ":buyers" }
func (k *partitionKeys) open(id shop.ID) string     { return k.sale(id) + ":open" }
func (k *partitionKeys) watching(id shop.ID) string { return k.sale(id) + ":watching" }
