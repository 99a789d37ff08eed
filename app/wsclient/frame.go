package wsclient

import (
	"encoding/json"
	"errors"
	"fmt"

	"stampede/app"
)

// Frame is one frame of the server: an event, or the answer to an op, which was either carried out or refused.
type Frame struct {
	Ev    string // the event's name; "" in an answer
	Event Event

	ID      int64           // of the op; 0 answers what the server could not read
	OK      json.RawMessage // what the op gave; nil when it was refused
	Error   *app.Error      // why it was refused; nil when it was not
	Request Request         // what is answered, as far as this connection has asked it
}

// Parse reads a frame of the server. What is none is an ErrFrame.
func Parse(text []byte) (*Frame, error) {
	f, err := parse(text)
	if err != nil {
		return nil, fmt.Errorf("%w: %w: %.200s", ErrFrame, err, text)
	}
	return f, nil
}

func parse(text []byte) (*Frame, error) {
	var head struct {
		Ev    string          `json:"ev"`
		ID    *int64          `json:"id"`
		OK    json.RawMessage `json:"ok"`
		Error *app.Error      `json:"error"`
	}
	if err := json.Unmarshal(text, &head); err != nil {
		return nil, err
	}
	if head.Ev == "" {
		if head.ID == nil || (head.OK == nil) == (head.Error == nil) {
			return nil, errors.New("neither an event nor an answer")
		}
		return &Frame{ID: *head.ID, OK: head.OK, Error: head.Error}, nil
	}
	f := &Frame{Ev: head.Ev, Event: blank(head.Ev)}
	if f.Event == nil {
		return f, nil
	}
	return f, json.Unmarshal(text, f.Event)
}
