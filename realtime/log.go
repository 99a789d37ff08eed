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
// this or a later rev is left out. It stops at the first error; telling everything again is safe.
func (l *Log) Tell(ctx context.Context, events []app.OrderEvent) error {
	var shards [logShards][]*app.OrderEvent
	for i := range events {
		s := shardOf(events[i].User)
		shards[s] = append(shards[s], &events[i])
	}
	for shard, all := range shards {
		for len(all) > 0 {
			n := min(len(all), tellChunk)
			if err := l.append(ctx, shard, all[:n]); err != nil {
				return fmt.Errorf("append %d events to logs of shard %d: %w", n, shard, errors.Join(app.ErrMoment, err))
			}
			all = all[n:]
		}
	}
	return nil
}

func (l *Log) append(ctx context.Context, shard int, events []*app.OrderEvent) error {
	var keys []string
	index := make(map[app.ID]int, len(events))
	args := make([]any, 0, 3+5*len(events))
	args = append(args, l.eventChannel(shard), logLength, logKept.Milliseconds())
	for _, e := range events {
		i, ok := index[e.User]
		if !ok {
			keys = append(keys, logKey(e.User))
			i = len(keys)
			index[e.User] = i
		}
		args = append(args, i, e.User.String(), e.Order.ID.String(), e.Order.Rev, orderFrame(e.Key, &e.Order))
	}
	return appendScript.Run(ctx, l.redis, keys, args...).Err()
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
