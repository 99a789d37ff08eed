// Package asyncapi holds the socket traffic of tests against realtime/asyncapi.yaml, as package contract holds that
// over HTTP: a field, an event, a state or a code that the document does not know fails the test in which it was seen.
package asyncapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/oasdiff/yaml"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"stampede/app/wsclient"
)

// Messages are the forms of a document's messages, by their names.
type Messages map[string]*jsonschema.Schema

// Read reads a document and compiles its messages; what their objects do not name must not be there.
func Read(text []byte) (Messages, error) {
	doc, err := Document(text)
	if err != nil {
		return nil, err
	}
	return Compile(doc)
}

// Document is a document with its objects closed, as a value to be compiled.
func Document(text []byte) (map[string]any, error) {
	var doc map[string]any
	asJSON, err := yaml.YAMLToJSON(text)
	if err == nil {
		err = json.Unmarshal(asJSON, &doc)
	}
	if err != nil {
		return nil, fmt.Errorf("read the description: %w", err)
	}
	EveryObject(doc["components"], func(_ string, schema map[string]any) { schema["additionalProperties"] = false })
	return doc, nil
}

// EveryObject calls with each schema of an object below node, and where it stands.
func EveryObject(node any, call func(at string, schema map[string]any)) { walk("", node, call) }

func walk(at string, node any, call func(at string, schema map[string]any)) {
	schema, is := node.(map[string]any)
	if !is {
		return
	}
	if schema["type"] == "object" {
		call(at, schema)
	}
	for name, below := range schema {
		walk(at+"/"+name, below, call)
	}
}

// Compile makes a schema of each message.
func Compile(doc map[string]any) (Messages, error) {
	c, err := compiler(doc)
	if err != nil {
		return nil, err
	}
	components, _ := doc["components"].(map[string]any)
	named, _ := components["messages"].(map[string]any)
	if len(named) == 0 {
		return nil, errors.New("the description has no messages")
	}
	messages := make(Messages, len(named))
	for name := range named {
		if messages[name], err = message(c, name); err != nil {
			return nil, err
		}
	}
	return messages, nil
}

// CompileOne makes a schema of one message, a fiftieth of the work.
func CompileOne(doc map[string]any, name string) (*jsonschema.Schema, error) {
	c, err := compiler(doc)
	if err != nil {
		return nil, err
	}
	return message(c, name)
}

func compiler(doc map[string]any) (*jsonschema.Compiler, error) {
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft7) // what AsyncAPI builds upon
	return c, c.AddResource("asyncapi.json", doc)
}

func message(c *jsonschema.Compiler, name string) (*jsonschema.Schema, error) {
	schema, err := c.Compile("asyncapi.json#/components/messages/" + name + "/payload")
	if err != nil {
		return nil, fmt.Errorf("message %s: %w", name, err)
	}
	return schema, nil
}

// Fit says in what a frame is not as the message is described.
func (m Messages) Fit(message string, frame []byte) error {
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(frame))
	if err != nil {
		return fmt.Errorf("%.300s: %w", frame, err)
	}
	schema := m[message]
	if schema == nil {
		return fmt.Errorf("asyncapi.yaml has no message %s: %.300s", message, frame)
	}
	if err := schema.Validate(value); err != nil {
		return fmt.Errorf("%.300s\nis no %s as asyncapi.yaml has it: %w", frame, message, err)
	}
	return nil
}

// Check says in what a frame of the server, or the op that it carried out, is not as described. Nothing is said of ops
// that were refused, and of those that a test wrote by hand: what came back is looked at all the same.
func (m Messages) Check(f *wsclient.Frame) error {
	switch {
	case f.Ev != "":
		return m.Fit(f.Ev+"Event", f.Text)
	case f.Error != nil:
		return m.Fit("errorReply", f.Text)
	case f.Request.Op == "":
		return m.fitAnyReply(f.Text)
	}
	op := string(f.Request.Op)
	if err := m.Fit(op, f.Request.Encode()); err != nil {
		return fmt.Errorf("this should have been refused: %w", err)
	}
	return m.Fit(op+"Reply", f.Text)
}

// fitAnyReply is for the answer to an op that nobody knows.
func (m Messages) fitAnyReply(frame []byte) error {
	for _, op := range wsclient.Ops {
		if m.Fit(string(op)+"Reply", frame) == nil {
			return nil
		}
	}
	return fmt.Errorf("%.300s is no reply that asyncapi.yaml describes", frame)
}

// Seen is the function for wsclient.Dialer: it fails the test at the first frame of a connection that is not as
// described.
func (m Messages) Seen(t testing.TB) func(*wsclient.Frame) {
	failed := false
	return func(f *wsclient.Frame) {
		if failed {
			return
		}
		if err := m.Check(f); err != nil {
			failed = true
			t.Errorf("a frame of the socket: %v", err)
		}
	}
}
