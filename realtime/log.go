package realtime

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"stampede/app"
	"stampede/app/snowflake"
)

const (
	logShards = 16             // users are spread over this many hash tags, so that one call serves many
	logLength = 100            // events kept per user
	logKept   = 24 * time.Hour // after the last event; up to two hours longer
	tellChunk = 256            // events per call, to keep one call well below a millisecond
	lookBack  = 16             // lines of a log that are searched for a repeat; reading them all costs more than the event
	lookFirst = 1              // of them for what is told for the first time: should somebody else be telling it, too

	// crowdsAtOnce is how many calls with more than one chunk of events are under way at once. Redis carries them out one
	// after the other anyway; the limit lets buys and returned units through between them when thousands of orders end in
	// the same instant.
	crowdsAtOnce = 2
)

// Log keeps every user's personal events in Redis and tells the nodes that there is something new. It is the
// app.Notifier of the flows.
//
//	key                          type    TTL                  what
//	stampede:{u<S>}:log:<user>   list    24 h after the last  the last 100 events; S = user mod 16
//	stampede:{u<S>}:since        string  none                 the Redis time at which this Redis began to keep them
//
//	channel                               message
//	stampede:events:<namespace>:<S>       a line `user cursor order rev body` per event; a hint, the log is the truth
//	stampede:notice:<namespace>           JSON of a notice
//
// Channels are shared by all logical databases of a server, therefore they carry a namespace.
type Log struct {
	redis     redis.UniversalClient
	namespace string
	crowds    chan struct{} // calls with many events that are under way
}

// NewLog makes a log. Nodes that share a namespace hear each other; the namespace must be the same for
// all nodes of one shop and differ between shops on one Redis server.
func NewLog(client redis.UniversalClient, namespace string) *Log {
	return &Log{redis: client, namespace: namespace, crowds: make(chan struct{}, crowdsAtOnce)}
}

//go:embed lua/append.lua
var appendSource string

var appendScript = redis.NewScript(appendSource)

//go:embed lua/since.lua
var sinceSource string

func shardOf(user app.ID) int { return int(uint64(user) % logShards) }

func logKey(user app.ID) string {
	return "stampede:{u" + strconv.Itoa(shardOf(user)) + "}:log:" + user.String()
}

func sinceKey(shard int) string { return "stampede:{u" + strconv.Itoa(shard) + "}:since" }

func (l *Log) eventChannel(shard int) string {
	return "stampede:events:" + l.namespace + ":" + strconv.Itoa(shard)
}

func (l *Log) noticeChannel() string { return "stampede:notice:" + l.namespace }

// Tell appends the events to their users' logs and hints all nodes. An event whose order is in the log with
// this or a later rev is left out; if it is said to be told for the first time, only the newest is looked at. After an error
// some may have been appended; telling everything again, not for the first time, is safe.
//
// All calls go out in one pipeline: with AOF `always` Redis then syncs once for all of them.
func (l *Log) Tell(ctx context.Context, events []app.OrderEvent) error {
	if len(events) > tellChunk {
		select {
		case l.crowds <- struct{}{}:
			defer func() { <-l.crowds }()
		case <-ctx.Done():
			return fmt.Errorf("wait to tell %d events: %w", len(events), errors.Join(app.ErrTransient, ctx.Err()))
		}
	}
	calls := l.appends(events)
	pipe := l.redis.Pipeline()
	for i := range calls {
		calls[i].reply = appendScript.EvalSha(ctx, pipe, calls[i].keys, calls[i].args...)
	}
	_, _ = pipe.Exec(ctx) // every call has its own error
	for _, call := range calls {
		err := call.reply.Err()
		if redis.HasErrorPrefix(err, "NOSCRIPT") { // the script cache is empty after a restart
			err = appendScript.Eval(ctx, l.redis, call.keys, call.args...).Err()
		}
		if err != nil {
			return fmt.Errorf("append %d events to logs of %d users: %w", call.events, len(call.keys), errors.Join(app.ErrTransient, err))
		}
	}
	return nil
}

// appendCall is one call of append.lua.
type appendCall struct {
	events int
	keys   []string
	args   []any
	index  map[app.ID]int // user → index into keys, from 1
	reply  *redis.Cmd
}

// appends makes the calls for the events: one per shard, or more where there are very many, in their order; and others for
// those that may have been told before.
func (l *Log) appends(events []app.OrderEvent) []*appendCall {
	var open, again [logShards]*appendCall
	var calls []*appendCall
	hour := app.MillisOf(time.Now().Truncate(time.Hour))
	least, beyond := snowflake.First(hour).String(), snowflake.First(hour.Add(time.Hour)).String()
	for i := range events {
		e := &events[i]
		shard := shardOf(e.Order.User)
		kind, look := &again, lookBack
		if e.First {
			kind, look = &open, lookFirst
		}
		call := kind[shard]
		if call == nil || call.events == tellChunk {
			call = newAppendCall(min(2*len(events)/logShards+2, tellChunk),
				l.eventChannel(shard), logLength, logKept.Milliseconds(), look, least, beyond)
			kind[shard] = call
			calls = append(calls, call)
		}
		call.add(e)
	}
	return calls
}

// newAppendCall makes a call for about so many events; first is what precedes them.
func newAppendCall(events int, first ...any) *appendCall {
	return &appendCall{
		keys: make([]string, 0, events), args: append(make([]any, 0, len(first)+2*events), first...),
		index: make(map[app.ID]int, events),
	}
}

func (c *appendCall) add(e *app.OrderEvent) {
	user := e.Order.User
	i, ok := c.index[user]
	if !ok {
		c.keys = append(c.keys, logKey(user))
		i = len(c.keys)
		c.index[user] = i
	}
	c.args = append(c.args, i, keptText(e.Order))
	c.events++
}

// kept is one event of a log with its place.
type kept struct {
	cursor Cursor
	event  keptEvent
}

// span is what a log holds after a cursor.
type span struct {
	events []kept
	end    Cursor // where the log ends; the cursor to go on from
	reset  bool   // events after the cursor are lost, or the cursor is not of this log; events is empty then
}

// question asks for the events of a user after a cursor. The zero cursor asks only where the log ends.
type question struct {
	user  app.ID
	after Cursor
}

// Since answers what each user's log holds after the cursor, in one pipeline.
func (l *Log) Since(ctx context.Context, questions ...question) ([]span, error) {
	pipe := l.redis.Pipeline()
	// Who has heard nothing yet cannot tell a log that began from one that began again after Redis lost everything. It goes
	// before TIME: no cursor that is given out may be older.
	since := make(map[int]*redis.Cmd, 1)
	for _, q := range questions {
		if shard := shardOf(q.user); q.after.N == 0 && since[shard] == nil {
			since[shard] = pipe.Eval(ctx, sinceSource, []string{sinceKey(shard)})
		}
	}
	// TIME goes before the logs: one that appears between it and the reads has a later epoch.
	clock := pipe.Time(ctx)
	logs := make([]*redis.StringSliceCmd, len(questions))
	for i, q := range questions {
		from := int64(0)
		if q.after.isZero() {
			from = -1 // only where it ends
		}
		logs[i] = pipe.LRange(ctx, logKey(q.user), from, -1)
	}
	if _, err := pipe.Exec(ctx); err != nil {
		return nil, fmt.Errorf("read %d logs: %w", len(questions), errors.Join(app.ErrTransient, err))
	}
	spans := make([]span, len(questions))
	for i, q := range questions {
		events, err := readLog(logs[i].Val())
		if err != nil {
			return nil, fmt.Errorf("read log of user %s: %w", q.user, err)
		}
		end := Cursor{Epoch: app.MillisOf(clock.Val())} // without a log it is number 0 at this time
		if len(events) > 0 {
			end = events[len(events)-1].cursor
		}
		switch {
		case q.after.isZero():
			spans[i] = span{end: end}
		case q.after.N == 0 && q.after.Epoch < sinceOf(since[shardOf(q.user)]):
			spans[i] = span{end: end, reset: true}
		default:
			spans[i] = spanOf(q.after, events, end)
		}
	}
	return spans, nil
}

// sinceOf reads the answer of since.lua; what cannot be read counts as just now, so that the client is told to look.
func sinceOf(answer *redis.Cmd) app.Millis {
	text, _ := answer.Text()
	at, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return math.MaxInt64
	}
	return app.Millis(at)
}

// readLog takes the lines of a log apart, see append.lua.
func readLog(lines []string) ([]kept, error) {
	events := make([]kept, len(lines))
	for i, line := range lines {
		e, err := readLine(line)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", i, err)
		}
		events[i] = e
	}
	return events, nil
}

func readLine(line string) (k kept, err error) {
	where, text, _ := strings.Cut(line, " ")
	if k.cursor, err = ParseCursor(where); err != nil {
		return kept{}, errors.Join(app.ErrPermanent, err)
	}
	k.event, err = readKept(text)
	return k, err
}

// spanOf decides what follows the cursor, given the whole log and its end.
//
//	the cursor's own entry or the very next one is there   what follows is complete
//	there was and is no log                                nothing was missed, unless a whole log could
//	                                                       have come and gone since
//	anything else                                          the log was trimmed, ended or went back: reset
func spanOf(after Cursor, log []kept, end Cursor) span {
	broken := span{end: end, reset: true}
	if len(log) == 0 {
		quiet := after.N == 0 && end.Epoch >= after.Epoch && end.Epoch < after.Epoch.Add(logKept)
		if quiet {
			return span{end: end}
		}
		return broken
	}
	s := span{end: after}
	for _, e := range log {
		if after.covers(e.cursor) {
			continue
		}
		if !s.end.followedBy(e.cursor) {
			return broken
		}
		s.events = append(s.events, e)
		s.end = e.cursor
	}
	if !end.covers(s.end) { // the cursor is beyond the end, or of another log
		return broken
	}
	return s
}
