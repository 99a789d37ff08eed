package realtime

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"stampede/app"
)

const (
	logShards = 16             // users are spread over this many hash tags, so that one call serves many
	logLength = 100            // events kept per user
	logKept   = 24 * time.Hour // after the last event
	tellChunk = 256            // events per call, to keep one call well below a millisecond
)

// Log keeps every user's personal events in Redis and tells the nodes that there is something new. It is the
// app.Teller of the flows.
//
//	key                          type    TTL                  what
//	stampede:{u<S>}:log:<user>   stream  24 h after the last  the last 100 events; S = user mod 16
//
//	channel                               message
//	stampede:events:<namespace>:<S>       a line `user cursor event` per event; a hint, the log is the truth
//	stampede:notice:<namespace>           JSON of a notice
//
// Channels are shared by all logical databases of a server, therefore they carry a namespace.
type Log struct {
	redis     redis.UniversalClient
	namespace string
}

// NewLog makes a log. Nodes that share a namespace hear each other; the namespace must be the same for
// all nodes of one shop and differ between shops on one Redis server.
func NewLog(client redis.UniversalClient, namespace string) *Log {
	return &Log{redis: client, namespace: namespace}
}

//go:embed lua/append.lua
var appendSource string

var appendScript = redis.NewScript(appendSource)

func shardOf(user app.ID) int { return int(uint64(user) % logShards) }

func logKey(user app.ID) string {
	return "stampede:{u" + strconv.Itoa(shardOf(user)) + "}:log:" + user.String()
}

func (l *Log) eventChannel(shard int) string {
	return "stampede:events:" + l.namespace + ":" + strconv.Itoa(shard)
}

func (l *Log) noticeChannel() string { return "stampede:notice:" + l.namespace }

// Tell appends the events to their users' logs and hints all nodes. An event whose order is in the log with
// this or a later rev is left out. After an error some may have been appended; telling everything again is safe.
//
// All calls go out in one pipeline: with AOF `always` Redis then syncs once for all of them.
func (l *Log) Tell(ctx context.Context, events []app.OrderEvent) error {
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
			return fmt.Errorf("append %d events to logs of %d users: %w", call.events, len(call.keys), errors.Join(app.ErrMoment, err))
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

// appends makes the calls for the events: one per shard, or more where there are very many, in their order.
func (l *Log) appends(events []app.OrderEvent) []*appendCall {
	var open [logShards]*appendCall
	var calls []*appendCall
	for i := range events {
		e := &events[i]
		shard := shardOf(e.User)
		call := open[shard]
		if call == nil || call.events == tellChunk {
			call = &appendCall{
				args:  []any{l.eventChannel(shard), logLength, logKept.Milliseconds()},
				index: make(map[app.ID]int),
			}
			open[shard] = call
			calls = append(calls, call)
		}
		call.add(e)
	}
	return calls
}

func (c *appendCall) add(e *app.OrderEvent) {
	i, ok := c.index[e.User]
	if !ok {
		c.keys = append(c.keys, logKey(e.User))
		i = len(c.keys)
		c.index[e.User] = i
	}
	c.args = append(c.args, i, e.User.String(), e.Order.ID.String(), e.Order.Rev, orderFrame(e.Key, &e.Order))
	c.events++
}

// kept is one event of a log with its place.
type kept struct {
	cursor Cursor
	event  []byte // without its cursor, see orderFrame
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
	// TIME goes first: a log that appears between it and the reads has a later epoch.
	clock := pipe.Time(ctx)
	ranges := make([]*redis.XMessageSliceCmd, len(questions))
	ends := make([]*redis.XMessageSliceCmd, len(questions))
	for i, q := range questions {
		key := logKey(q.user)
		if !q.after.isZero() {
			ranges[i] = pipe.XRange(ctx, key, q.after.String(), "+")
		}
		ends[i] = pipe.XRevRangeN(ctx, key, "+", "-", 1)
	}
	if _, err := pipe.Exec(ctx); err != nil {
		return nil, fmt.Errorf("read %d logs: %w", len(questions), errors.Join(app.ErrMoment, err))
	}
	spans := make([]span, len(questions))
	for i, q := range questions {
		end, err := endOf(ends[i].Val(), app.MillisOf(clock.Val()))
		if err != nil {
			return nil, fmt.Errorf("read log of user %s: %w", q.user, err)
		}
		if q.after.isZero() {
			spans[i] = span{end: end}
			continue
		}
		if spans[i], err = spanOf(q.after, ranges[i].Val(), end); err != nil {
			return nil, fmt.Errorf("read log of user %s: %w", q.user, err)
		}
	}
	return spans, nil
}

// endOf is the end of a log; without a log it is number 0 at this time.
func endOf(last []redis.XMessage, now app.Millis) (Cursor, error) {
	if len(last) == 0 {
		return Cursor{Epoch: now}, nil
	}
	return ParseCursor(last[0].ID)
}

// spanOf decides what follows the cursor, given the log's entries from the cursor on and its end.
//
//	the cursor's own entry or the very next one comes first   what follows is complete
//	nothing comes, and there was and is no log                nothing was missed, unless a whole log could
//	                                                          have come and gone since
//	anything else                                             the log was trimmed, ended or went back: reset
func spanOf(after Cursor, from []redis.XMessage, end Cursor) (span, error) {
	broken := span{end: end, reset: true}
	if len(from) == 0 {
		quiet := after.N == 0 && end.N == 0 && end.Epoch >= after.Epoch && end.Epoch < after.Epoch.Add(logKept)
		if quiet {
			return span{end: end}, nil
		}
		return broken, nil
	}
	s := span{end: after}
	for _, message := range from {
		c, err := ParseCursor(message.ID)
		if err != nil {
			return span{}, err
		}
		if after.covers(c) {
			continue
		}
		if !s.end.followedBy(c) {
			return broken, nil
		}
		body, ok := message.Values["body"].(string)
		if !ok {
			return span{}, fmt.Errorf("entry %s has no body: %w", message.ID, app.ErrData)
		}
		s.events = append(s.events, kept{cursor: c, event: []byte(body)})
		s.end = c
	}
	return s, nil
}
