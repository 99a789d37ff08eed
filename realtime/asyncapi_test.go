package realtime

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"stampede/app/test/kit/asyncapi"
)

func readAsyncAPI(t testing.TB) map[string]any {
	t.Helper()
	doc, err := asyncapi.Document(AsyncAPI)
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

func objectAt(t testing.TB, doc map[string]any, path ...string) map[string]any {
	t.Helper()
	for _, name := range path {
		child, is := doc[name].(map[string]any)
		if !is {
			t.Fatalf("asyncapi.yaml has no %s", strings.Join(path, "."))
		}
		doc = child
	}
	return doc
}

func compileSchemas(t testing.TB, doc map[string]any) asyncapi.Messages {
	t.Helper()
	messages, err := asyncapi.Compile(doc)
	if err != nil {
		t.Fatal(err)
	}
	return messages
}

// goldenMessages returns all golden frames by message: client frames by op, events by name, and replies by file,
// because a reply does not contain its op.
func goldenMessages(t testing.TB) map[string]map[string]any {
	t.Helper()
	messages := make(map[string]map[string]any)
	add := func(message, name string, frame any) {
		if messages[message] == nil {
			messages[message] = make(map[string]any)
		}
		messages[message][name] = frame
	}
	for name, text := range goldenFrames(t, "client") {
		frame := readFrame(t, text)
		add(fmt.Sprint(frame["op"]), "client/"+name, frame)
	}
	for name, text := range goldenFrames(t, "server") {
		frame := readFrame(t, text)
		file, _, _ := strings.Cut(name, "/")
		switch {
		case frame["ev"] != nil:
			add(fmt.Sprint(frame["ev"])+"Event", "server/"+name, frame)
		case frame["error"] != nil:
			add("errorReply", "server/"+name, frame)
		default:
			add(file+"Reply", "server/"+name, frame)
		}
	}
	return messages
}

func readFrame(t testing.TB, text []byte) map[string]any {
	t.Helper()
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return value.(map[string]any)
}

// mismatches returns an error text for each golden frame that does not match the schema of its message.
func mismatches(schemas asyncapi.Messages, golden map[string]map[string]any) (wrong []string) {
	for message, frames := range golden {
		for name, frame := range frames {
			if schemas[message] == nil {
				wrong = append(wrong, fmt.Sprintf("%s: unknown message %s", name, message))
			} else if err := schemas[message].Validate(frame); err != nil {
				wrong = append(wrong, fmt.Sprintf("%s does not match %s: %v", name, message, err))
			}
		}
	}
	return wrong
}

// Every golden frame matches the schema of its message in asyncapi.yaml, and every message has a golden frame.
func TestGoldenFramesMatchAsyncAPI(t *testing.T) {
	t.Parallel()
	doc, golden := readAsyncAPI(t), goldenMessages(t)
	schemas := compileSchemas(t, doc)
	for _, mismatch := range mismatches(schemas, golden) {
		t.Error(mismatch)
	}
	for message := range schemas {
		if golden[message] == nil {
			t.Errorf("no golden frame matches message %s", message)
		}
	}
}

// Every field in asyncapi.yaml occurs in a golden frame: without its schema, a golden frame becomes invalid. So
// asyncapi.yaml contains no unused fields.
func TestDescribedFieldsAreInGoldenFrames(t *testing.T) {
	t.Parallel()
	doc, golden := readAsyncAPI(t), goldenMessages(t)
	asyncapi.EveryObject(doc["components"], func(place string, schema map[string]any) {
		fields, _ := schema["properties"].(map[string]any)
		for name, field := range maps.Clone(fields) {
			delete(fields, name)
			if !anyMismatch(t, doc, golden, place) {
				t.Errorf("no golden frame has the field %s of %s", name, place)
			}
			fields[name] = field
		}
	})
}

// anyMismatch reports whether a golden frame does not match the schema of its message. It first checks the message that
// contains the place, because the frames of that message most likely fail after a deletion.
func anyMismatch(t *testing.T, doc map[string]any, golden map[string]map[string]any, place string) bool {
	names := slices.SortedFunc(maps.Keys(golden), func(a, b string) int {
		return cmp.Compare(strings.Count(place, "/"+b+"/"), strings.Count(place, "/"+a+"/"))
	})
	return slices.ContainsFunc(names, func(name string) bool {
		schema, err := asyncapi.CompileOne(doc, name)
		if err != nil {
			t.Fatal(err)
		}
		return len(mismatches(asyncapi.Messages{name: schema}, map[string]map[string]any{name: golden[name]})) > 0
	})
}

// Invalid frames do not match their schema. This test shows that the tests above can fail.
func TestInvalidFramesDoNotMatchTheirSchema(t *testing.T) {
	t.Parallel()
	schemas := compileSchemas(t, readAsyncAPI(t))
	for name, c := range map[string]struct{ message, frame string }{
		"an unknown field":     {"seenReply", `{"id":9,"ok":{"more":1}}`},
		"a missing field":      {"buyReply", `{"id":6,"ok":{"order":"7","ticket":79,"place":0}}`},
		"an id as a number":    {"cancel", `{"id":7,"op":"cancel","order":7301444480512000257}`},
		"a price with a dot":   {"tickEvent", `{"ev":"tick","now":1.5,"sales":[{"id":"1","stock":1,"held":0,"sold":0,"done":0,"rate":0,"watching":0}]}`},
		"an unknown state":     {"cancelReply", `{"id":7,"ok":{"state":"gone"}}`},
		"an unknown code":      {"errorReply", `{"id":7,"error":{"code":"tired","message":"m","retry_ms":0}}`},
		"a negative number":    {"byeEvent", `{"ev":"bye","code":4000,"retry_ms":-1}`},
		"a reply and an error": {"seenReply", `{"id":9,"ok":{},"error":{"code":"busy","message":"m","retry_ms":0}}`},
		"another op":           {"hello", `{"id":1,"op":"goodbye"}`},
		"quantity zero":        {"buy", `{"id":6,"op":"buy","sale":"7","qty":0,"key":"k-3f9c1d2e"}`},
		"a key with a space":   {"buy", `{"id":6,"op":"buy","sale":"7","qty":1,"key":"k 3f9c1d2e"}`},
	} {
		if err := schemas[c.message].Validate(readFrame(t, []byte(c.frame))); err == nil {
			t.Errorf("%s: the frame matches %s, want a mismatch", name, c.message)
		}
	}
}

// asyncapi.yaml lists each message under its sender, so that tools find it. Its ops, codes and states are those of the
// program.
func TestAsyncAPIIsComplete(t *testing.T) {
	t.Parallel()
	doc := readAsyncAPI(t)
	messages := slices.Sorted(maps.Keys(objectAt(t, doc, "components", "messages")))
	if listed := slices.Sorted(maps.Keys(objectAt(t, doc, "channels", "socket", "messages"))); !slices.Equal(messages, listed) {
		t.Errorf("the channel lists messages %v, want %v", listed, messages)
	}
	sent := make(map[string]bool)
	for _, list := range []any{
		objectAt(t, doc, "operations", "receiveOps")["messages"], objectAt(t, doc, "operations", "receiveOps", "reply")["messages"],
		objectAt(t, doc, "operations", "sendEvents")["messages"],
	} {
		for _, message := range list.([]any) {
			ref := fmt.Sprint(message.(map[string]any)["$ref"])
			sent[strings.TrimPrefix(ref, "#/channels/socket/messages/")] = true
		}
	}
	if listed := slices.Sorted(maps.Keys(sent)); !slices.Equal(messages, listed) {
		t.Errorf("the operations send %v, want %v", listed, messages)
	}
	for op := range ops {
		if !sent[op] || !sent[op+"Reply"] {
			t.Errorf("op %s, or its reply, has no description", op)
		}
	}
}
