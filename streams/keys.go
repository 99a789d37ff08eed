package streams

import (
	"stampede/app/shop"
)

// All keys of a partition share the hash tag {p}, so that one script can use them together and a cluster keeps them on
// one node. In a cluster the tag is longer, see tagsOf. Keys have no TTL unless stated: absent is not empty (I7). "Lua"
// lists the scripts that write.
//
//	key                              type    content, writers
//	stampede:{p}:meta                hash    epoch, seq, state (open | recovering), waiting: unsettled reservations;
//	                                         claim: the epoch that the running recovery will begin,
//	                                         claim_server claim_generation: of its database;
//	                                         lost: Redis has lost writes; closed_at: start of the closure, ms;
//	                                         history: of the server on which it may sell; began: epoch:seq of the
//	                                         last recovery; db_server db_generation db_beat db_replaced: of
//	                                         the database (shop.RecordedHistory);
//	                                         changes: of sales, except by reserve (rejection.lua);
//	                                         published: number of the last message to the nodes. Lua
//	                                         reserve, finish, publish, dead_letter, close, open, note,
//	                                         set_aside, confirm, lag; Accept
//	stampede:{p}:orders              stream  one entry per reservation: terms, for a traced buy also trace
//	                                         (see reserve.lua); group "fulfil", created at 0. Lua reserve; trim
//	stampede:{p}:waiting             hash    sale → number of its unsettled reservations; sales without any have
//	                                         no field. Lua reserve, finish, dead_letter, open, set_aside, lag
//	stampede:{p}:deadlines           zset    order → instant at which it is due, ms; raised by a lease while a
//	                                         sweeper processes it. Schedule, Lua finish, take, renew, drop
//	stampede:{p}:dead                stream  dead letters: the entry's fields, then reason, stream, deliveries, at.
//	                                         Lua dead_letter
//	stampede:{p}:attempts            hash    stream id → failures of that entry itself. Consumer
//	stampede:{p}:orders:before       stream  the stream before the partition was restored from rows; TTL one
//	                                         hour. Lua open
//	stampede:{p}:probe               string  test write: does the partition accept writes? TTL 1 s. Stats
//	stampede:{p}:sale:<id>           hash    price version opens closes limit cap · initial added stock held sold
//	                                         withdrawn burnt · tickets done · paused armed rest_until stuck · moves:
//	                                         changes of holds, except by reserve · out:<operation id>: units that
//	                                         an operator's withdrawal has taken. Lua create, arm, reserve,
//	                                         return, hold, sell, withdraw, finish, dead_letter, restore,
//	                                         correct, terms, take_out, set_stuck, set_aside
//	stampede:{p}:sale:<id>:buyers    hash    user → units|records|order:hash:ticket:key;order:hash:ticket:key;… — the
//	                                         units that count to the limit, and every accepted reservation. A
//	                                         return reduces the units; records stay while the sale exists (P4,
//	                                         I9). Then |<stream id> <stream id>… of waiting entries; settled
//	                                         ones may be among them (see unsettled.lua). Then, if the sale
//	                                         requires or required passes, |<ms>: issue time of the pass spent
//	                                         last. Lua reserve, return, hold, restore
//	stampede:{p}:sale:<id>:open      hash    order → hold:qty, the open holds; followed by :sold once the order
//	                                         is paid. Lua reserve, return, hold, sell, withdraw, restore
//	stampede:{p}:sale:<id>:watching  hash    node → count:expires_ms, watching people; a hint, with a TTL.
//	                                         SetWatching
//	stampede:{backoffice}:paid       stream  paid and refunded orders for the shop's back office (see PaidStream),
//	                                         with its own hash tag: it is filled from the database. Consumer
//	                                         groups: "mail", "webhook", and those of the shop. PaidStream, Lua replay
//	`stampede:{backoffice}:parked`   stream  quarantine of postings that a receiver rejects: the entry's fields, then
//	                                         group, reason, stream, deliveries, at. Stays until an operator decides.
//	                                         Lua quarantine, replay
//	stampede:{backoffice}:mark       hash    history: of the server that has the stream; at: high-water mark
//	                                         of the postings (see post.lua). Lua post, confirm_mark
//	stampede:{mail}:letters          stream  e-mails to send (see MailStream), deleted once sent. Group
//	                                         "mailers". Lua mail_post, quarantine, replay; Deliverer
//	stampede:{mail}:dead             stream  quarantine of e-mails, with the same fields. Lua quarantine, replay
//	stampede:{mail}:mark             hash    like the mark of the postings; at stays its creation time. Lua
//	                                         confirm_mark
//	stampede:{mail}:posted:<kind>:<about>  string  marks the e-mail as appended; TTL eight days.
//	                                         Lua mail_post
//	stampede:{workers}:there         zset    worker → expiry of its registration, ms (see Workers); a hint. Lua register
//	stampede:{board}:nodes           hash    node number → JSON of its last figures (board.NodeFigures), for the
//	                                         live board; a hint, with a TTL. PublishFigures, AddPoint
//	stampede:{board}:history         list    JSON of a point every 5 s (board.Point) for 15 minutes; with a TTL.
//	                                         AddPoint
//	stampede:{board}:sale:<id>       hash    process → JSON of its counts of buy attempts in that sale
//	                                         (board.SaleFigures), for its report; TTL 40 days. PublishSaleFigures
//	stampede:{board}:turn:<ms>       string  the node that adds the point of that instant; with a TTL. PublishFigures
//
//	channel                              message
//	stampede:changes:<namespace>:<p>     changes in partition p, see shop.Message. Lua finish, publish

// Names that operators type in commands. They must not change.
const (
	group         = "fulfil"
	paidKey       = "stampede:{backoffice}:paid"
	quarantineKey = "stampede:{backoffice}:parked"
	paidMark      = "stampede:{backoffice}:mark"

	mailKey          = "stampede:{mail}:letters"
	mailDeadKey      = "stampede:{mail}:dead"
	mailMark         = "stampede:{mail}:mark"
	mailPostedPrefix = "stampede:{mail}:posted:"

	workersKey = "stampede:{workers}:there"

	boardKey         = "stampede:{board}:nodes"
	boardHistory     = "stampede:{board}:history"
	boardPointClaims = "stampede:{board}:turn:"
	boardSale        = "stampede:{board}:sale:"

	stateOpen   = "open"
	stateClosed = "recovering"
	soldMark    = ":sold" // suffix of a hold whose order is paid
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

// saleKeys returns the keys that most scripts about a sale use.
func saleKeys(id shop.ID) func(k *partitionKeys) []string {
	return func(k *partitionKeys) []string { return []string{k.meta, k.sale(id), k.buyers(id), k.open(id)} }
}

func metaKey(k *partitionKeys) []string { return []string{k.meta} }

func (k *partitionKeys) buyers(id shop.ID) string   { return k.sale(id) + ":buyers" }
func (k *partitionKeys) open(id shop.ID) string     { return k.sale(id) + ":open" }
func (k *partitionKeys) watching(id shop.ID) string { return k.sale(id) + ":watching" }
