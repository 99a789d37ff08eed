package wsclient

import (
	"encoding/json"
	"errors"
	"fmt"

	"stampede/app/shop"
)

// ErrFrame ends a connection whose server has sent something that is no frame of this protocol.
var ErrFrame = errors.New("unreadable frame")

// Frame is one frame of the server: an event, or the answer to an op, which was either carried out or refused.
type Frame struct {
	Ev    string // the event's name; "" in an answer
	Event any    // *TickEvent, *SlotEvent, …; nil in an answer, and in events to come, which are to be ignored

	ID      int64           // of the op; 0 answers what the server could not read
	OK      json.RawMessage // what the op gave; nil when it was refused
	Error   *shop.Error     // why it was refused; nil when it was not
	Request Request         // what is answered, if the connection knows
	Text    []byte          // all of it, as it came
}

// Parse reads a frame of the server.
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
		if blank := events[f.Ev]; blank != nil {
			f.Event = blank()
			err = json.Unmarshal(text, f.Event)
		}
	case head.ID == nil || (f.OK == nil) == (f.Error == nil):
		err = errors.New("neither an event nor an answer")
	default:
		f.ID = *head.ID
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w: %.200s", ErrFrame, err, text)
	}
	return f, nil
}
