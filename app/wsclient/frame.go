package wsclient

import (
	"encoding/json"
	"fmt"

	"stampede/app"
)

// Frame is one frame of the server: an event, or the answer to an op, which was either carried out or refused.
type Frame struct {
	Event Event // nil in an answer

	ID      int64           // of the op; 0 answers what the server could not read
	OK      json.RawMessage // what the op gave; nil when it was refused
	Error   *app.Error      // why it was refused; nil when it was not
	Request Request         // what is answered, as far as this connection has asked it
}

// Parse reads a frame of the server.
func Parse(text []byte) (*Frame, error) {
	var head struct {
		ID    *int64          `json:"id"`
		OK    json.RawMessage `json:"ok"`
		Error *app.Error      `json:"error"`
		Ev    string          `json:"ev"`
	}
	if err := json.Unmarshal(text, &head); err != nil {
		return nil, fmt.Errorf("read frame %.200s: %w", text, err)
	}
	switch {
	case head.Ev != "":
		return parseEvent(head.Ev, text)
	case head.ID == nil || (head.OK == nil) == (head.Error == nil):
		return nil, fmt.Errorf("read frame %.200s: neither an event nor an answer", text)
	}
	return &Frame{ID: *head.ID, OK: head.OK, Error: head.Error}, nil
}

func parseEvent(ev string, text []byte) (*Frame, error) {
	event := blank(ev)
	if event == nil {
		return &Frame{Event: UnknownEvent(ev)}, nil
	}
	if err := json.Unmarshal(text, event); err != nil {
		return nil, fmt.Errorf("read %s event %.200s: %w", ev, text, err)
	}
	return &Frame{Event: event}, nil
}
