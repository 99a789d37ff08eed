package main

import "regexp"

// rule forbids a pattern in comments and texts; see deploy/WRITING.md.
type rule struct {
	pattern *regexp.Regexp
	instead string
}

// exemptText matches code, quoted values, and the names of commands, which stay as they are.
var exemptText = regexp.MustCompile("`[^`]*`|'[a-z_]+'|\"[a-z_]+\"|\\bnotice say\\b|\\bparked (list|replay|drop)\\b")

// rules are tried in this order, without regard to case. Each line is reported at most once.
var rules = compile()

var patterns = []struct{ pattern, instead string }{
	// Rule 1: name the thing with a noun.
	{`\bwhat (is|are|was|were|has|had|have|does|did|do|it|they|comes?|came|goes|follows|can|may|must|will|would|should|could|a|an|the|this|these|that|to)\b`, "a noun"},
	{`\b(whoever|whatever|whichever)\b`, "a noun"},
	{`(^|[.,;:(] ?)who\b`, "a noun"},
	{`\b(of|for|to|by|from|with|that|and|or|lets) who\b`, "a noun"},
	{`\b(nobody|somebody|anybody|everybody|someone|anyone)\b`, "the buyer, a caller, another node, no client"},
	// Rule 2: machines do not speak.
	{`\b(tells?|told|telling)\b`, "publish, notify, report"},
	{`\b(hears?|heard|hearing)\b`, "receive"},
	{`\b(says?|said|saying|speaks?)\b`, "state, report, contain, log"},
	{`\b(asks?|asked|asking)\b`, "request, read, call, query"},
	{`\b(answers?|answered|answering)\b`, "return, reply; a result, a response"},
	{`\b(knows?|learns?|learned)\b`, "has, stores, receives"},
	{`\bhas a word\b`, "decide"},
	// Rule 3: positive statements.
	{`\b(is|are|was|were) none\b`, "a positive statement"},
	{`\bnone (such|that)\b`, "a positive statement"},
	{`\bnot? .{0,14}any more\b`, "no longer"},
	{`\bno more than\b`, "at most"},
	{`\bcannot but\b`, "must"},
	// Rule 4: modern words.
	{`\banew\b`, "again"},
	{`\b(dear|dearer|dearest|dearly)\b`, "expensive"},
	{`\bbesides\b`, "also"},
	{`\ball the same\b`, "still"},
	{`\bfor ever\b`, "forever, without limit"},
	{`\bof late\b`, "recently"},
	{`\bin vain\b`, "without success"},
	{`\bgo(es)? round\b`, "repeat"},
	{`\bcomes? (again|back|along)\b`, "is redelivered, returns"},
	{`\bin hand\b`, "pending"},
	{`\bin their turn\b`, "in order"},
	{`\bso many\b`, "n, the limit"},
	{`\bthe other way round\b`, "in the reverse order"},
	{`\b(likewise|hitherto|thereby|whereby|wherein|thereof|therein)\b`, "a modern word"},
	{`\bof that (kind|sort)\b`, "such"},
	{`\bgo(es)? on\b`, "continue"},
	{`\bthe like\b`, "similar values"},
	{`\bmakes? up for\b`, "compensate"},
	{`\bdo(es)? without\b`, "not need"},
	// Private words of this project.
	{`\bturn(s|ed|ing)? away\b`, "reject"},
	{`\bparked\b`, "quarantined"},
	{`\bpress(es)? of buy\b`, "buy attempt"},
	{`\bhomeward\b`, "back"},
	{`\bleftovers?\b`, "failed job, remaining entry"},
}

// names are words that identifiers do not contain, with the standard term.
var names = map[string]string{
	"told": "published, reported", "untold": "unpublished", "heard": "received", "hear": "receive", "hearing": "receiving",
	"desk": "service", "keeper": "store, job", "postman": "deliverer", "courier": "deliverer", "greeter": "connector",
	"leftover": "failed job", "leftovers": "failed jobs", "homeward": "back", "anew": "again", "whoever": "a noun",
	"somebody": "a noun", "nobody": "a noun", "lack": "missing", "lacks": "missing", "witness": "last order",
	"redo": "recover", "overheard": "recorded", "postmen": "deliverers", "surroundings": "deps", "archivist": "archiver",
	"stamped": "touched", "restamp": "touch", "longest": "max", "shortest": "min", "dearest": "max",
}

func compile() []rule {
	out := make([]rule, len(patterns))
	for i, p := range patterns {
		out[i] = rule{regexp.MustCompile(`(?i)` + p.pattern), p.instead}
	}
	return out
}
