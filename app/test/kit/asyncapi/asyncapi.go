// Package asyncapi checks the WebSocket traffic of tests against realtime/asyncapi.yaml, as package contract checks the
// HTTP traffic. A field, event, state or code that is not in the document fails the test that received it.
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

// Messages maps the names of a document's messages to their schemas.
type Messages map[string]*jsonschema.Schema

// Read parses a document and compiles its messages. Objects may not contain undeclared fields.
func Read(text []byte) (Messages, error) {
	doc, err := Document(text)
	if err != nil {
		return nil, err
	}
	return Compile(doc)
}

// Document parses a document and forbids undeclared fields in its objects. The result can be compiled.
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

// EveryObject calls `call` for each object schema below node, with the path of the schema.
func EveryObject(node any, call func(at string, schema map[string]any)) { walk("", node, call) }

func walk(at string, node any, call func(at string, schema map[string]any)) {
	schema, is := node.(map[string]any)
	if !is {
		return
	}
	if schema["type"] == "object" {
		call(at, schema)
	}
	for name, child := range schema {
		walk(at+"/"+name, child, call)
	}
}

// Compile compiles the schema of each message.
func Compile(doc map[string]any) (Messages, error) {
	c, err := newCompiler(doc)
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
		if messages[name], err = compileMessage(c, name); err != nil {
			return nil, err
		}
	}
	return messages, nil
}

// CompileOne compiles the schema of one message, which takes a fiftieth of the time of Compile.
func CompileOne(doc map[string]any, name string) (*jsonschema.Schema, error) {
	c, err := newCompiler(doc)
	if err != nil {
		return nil, err
	}
	return compileMessage(c, name)
}

func newCompiler(doc map[string]any) (*jsonschema.Compiler, error) {
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft7) // the draft on which AsyncAPI is based
	return c, c.AddResource("asyncapi.json", doc)
}

func compileMessage(c *jsonschema.Compiler, name string) (*jsonschema.Schema, error) {
	schema, err := c.Compile("asyncapi.json#/components/messages/" + name + "/payload")
	if err != nil {
		return nil, fmt.Errorf("message %s: %w", name, err)
	}
	return schema, nil
}

// Fit reports how a frame differs from the description of the message.
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
		return fmt.Errorf("%.300s\ndoes not match %s of asyncapi.yaml: %w", frame, message, err)
	}
	return nil
}

// Check reports how a frame from the server, or the accepted op that it replies to, differs from its description.
// Rejected ops and ops that a test wrote by hand are not checked. Replies to both are checked.
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
		return fmt.Errorf("the exchange should have been rejected: %w", err)
	}
	return m.Fit(op+"Reply", f.Text)
}

// fitAnyReply checks the reply to an op that the client package did not encode.
func (m Messages) fitAnyReply(frame []byte) error {
	for _, op := range wsclient.Ops {
		if m.Fit(string(op)+"Reply", frame) == nil {
			return nil
		}
	}
	return fmt.Errorf("%.300s is not a reply of asyncapi.yaml", frame)
}

// CheckFrames returns the callback for wsclient.Dialer. The callback fails the test at the first frame of a connection
// that differs from its description.
func (m Messages) CheckFrames(t testing.TB) func(*wsclient.Frame) {
	failed := false
	return func(f *wsclient.Frame) {
		if failed {
			return
		}
		if err := m.Check(f); err != nil {
			failed = true
			t.Errorf("a frame differs from asyncapi.yaml: %v", err)
		}
	}
}
