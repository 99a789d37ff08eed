package wsclient

import (
	"encoding/json"
	"errors"
	"fmt"

	"stampede/app/shop"
)

// ErrFrame is the reason for the end of a connection whose server sent a frame outside this protocol.
var ErrFrame = errors.New("unreadable frame")

// Frame is one frame of the server: an event, or the reply to an op, which succeeded or was refused.
type Frame struct {
	Ev    string // name of the event; "" in a reply
	Event any    // *TickEvent, *SlotEvent, …; nil in a reply, and in unknown events, which clients ignore

	ID      int64           // id of the op; 0 in the reply to unreadable input
	OK      json.RawMessage // result of the op; nil when it was refused
	Error   *shop.Error     // reason of a refusal; otherwise nil
	Request Request         // request of the reply, if the connection stores it
	Text    []byte          // the whole frame as received
}

// Parse decodes a frame of the server.
func Parse(text []byte) (*Frame, error) {
	var head struct {
		Ev    string
		ID    *int64
		OK    json.RawMessage
		Error *shop.Error
	}
	err := json.Unmarshal(text, &head)
	f := &Frame{Ev: head.Ev, OK: head.OK, Error: head.Error, Text: text}
	switch {
	case err != nil:
	case f.Ev != "":
		if newEvent := events[f.Ev]; newEvent != nil {
			f.Event = newEvent()
			err = json.Unmarshal(text, f.Event)
		}
	case head.ID == nil || (f.OK == nil) == (f.Error == nil):
		err = errors.New("want an event, or a reply with an id and either ok or error")
	default:
		f.ID = *head.ID
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w: %.200s", ErrFrame, err, text)
	}
	return f, nil
}
