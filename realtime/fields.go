package realtime

import (
	"bytes"
	"encoding/json"
)

// fields calls set for each member of a JSON object. The name is decoded, and the value is an unparsed slice of the
// frame. fields reports whether the frame is exactly one valid JSON object. Every op calls fields, so it is faster than
// encoding/json. It uses that package only for escapes and for numbers that are not whole.
func fields(frame []byte, set func(name, value []byte)) bool {
	s := scanner{text: frame}
	if !s.next('{') {
		return false
	}
	if s.next('}') {
		return s.atEnd()
	}
	for {
		name, ok := s.name()
		if !ok || !s.next(':') {
			return false
		}
		value, ok := s.value()
		if !ok {
			return false
		}
		set(name, value)
		if s.next('}') {
			return s.atEnd()
		}
		if !s.next(',') {
			return false
		}
	}
}

// scanner splits a JSON text.
type scanner struct {
	text []byte
	at   int
}

func (s *scanner) skipBlanks() {
	for s.at < len(s.text) {
		switch s.text[s.at] {
		case ' ', '\t', '\r', '\n':
			s.at++
		default:
			return
		}
	}
}

// next consumes blanks, and then the character c if it follows. It reports whether c followed.
func (s *scanner) next(c byte) bool {
	s.skipBlanks()
	if s.at < len(s.text) && s.text[s.at] == c {
		s.at++
		return true
	}
	return false
}

func (s *scanner) atEnd() bool {
	s.skipBlanks()
	return s.at == len(s.text)
}

// name consumes the name of a member and returns it without quotes.
func (s *scanner) name() ([]byte, bool) {
	s.skipBlanks()
	raw, plain, ok := s.quoted()
	switch {
	case !ok:
		return nil, false
	case plain:
		return raw[1 : len(raw)-1], true
	}
	var name string
	err := json.Unmarshal(raw, &name)
	return []byte(name), err == nil
}

// quoted consumes a string and returns it with its quotes. If plain is true, the string has no escapes and needs no
// further check.
func (s *scanner) quoted() (raw []byte, plain, ok bool) {
	if s.at >= len(s.text) || s.text[s.at] != '"' {
		return nil, false, false
	}
	plain = true
	for i := s.at + 1; i < len(s.text); i++ {
		switch c := s.text[i]; {
		case c == '"':
			raw, s.at = s.text[s.at:i+1], i+1
			return raw, plain, true
		case c == '\\':
			plain = false
			i++
		case c < ' ':
			return nil, false, false
		}
	}
	return nil, false, false
}

// value consumes any value.
func (s *scanner) value() ([]byte, bool) {
	s.skipBlanks()
	if s.at >= len(s.text) {
		return nil, false
	}
	begin := s.at
	switch s.text[s.at] {
	case '"':
		raw, plain, ok := s.quoted()
		return raw, ok && (plain || json.Valid(raw))
	case '{', '[':
		if !s.nested() {
			return nil, false
		}
	default:
		end := bytes.IndexAny(s.text[s.at:], ",}] \t\r\n")
		if end <= 0 {
			return nil, false
		}
		s.at += end
	}
	raw := s.text[begin:s.at]
	return raw, isDigits(raw) || json.Valid(raw)
}

// nested consumes an object or a list with any content.
func (s *scanner) nested() bool {
	for depth := 0; s.at < len(s.text); {
		switch s.text[s.at] {
		case '"':
			if _, _, ok := s.quoted(); !ok {
				return false
			}
			continue
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		}
		s.at++
		if depth == 0 {
			return true
		}
	}
	return false
}

// isDigits reports whether the text is a JSON number of digits only.
func isDigits(raw []byte) bool {
	if len(raw) == 0 || raw[0] == '0' && len(raw) > 1 {
		return false
	}
	for _, c := range raw {
		if c < '0' || c > '9' {
			return false
		}
	}
	return true
}
