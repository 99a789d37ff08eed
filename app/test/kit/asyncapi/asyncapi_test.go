package asyncapi_test

import (
	"strings"
	"testing"

	"stampede/app/test/kit"
	"stampede/app/test/kit/asyncapi"
	"stampede/app/wsclient"
	"stampede/realtime"
)

// Messages that match the description pass. Differences in replies, accepted ops and events are reported.
func TestCheck(t *testing.T) {
	t.Parallel()
	messages, err := asyncapi.Read(realtime.AsyncAPI)
	if err != nil {
		t.Fatal(err)
	}
	const receipt = `{"id":1,"ok":{"order":"7","ticket":1,"place":0,"state":"reserved"}}`
	buy := wsclient.Request{ID: 1, Op: wsclient.Buy, Sale: 5, Qty: 1, Key: "k-12345678"}
	short := buy
	short.Key = "k"
	byHand := wsclient.Request{ID: 1, Text: `"op":"buy","more":1`}
	for name, c := range map[string]struct {
		request wsclient.Request
		frame   string
		wantErr string // part of the error; "": no error
	}{
		"a reply":               {buy, receipt, ""},
		"a rejection":           {short, `{"id":1,"error":{"code":"bad_request","message":"m","retry_ms":0}}`, ""},
		"a handwritten op":      {byHand, receipt, ""},
		"an event":              {frame: `{"ev":"bye","code":4000,"retry_ms":1}`},
		"an undeclared field":   {buy, strings.Replace(receipt, `"place"`, `"more":1,"place"`, 1), "more"},
		"a missing field":       {buy, strings.Replace(receipt, `"ticket":1,`, ``, 1), "ticket"},
		"a reply of another op": {wsclient.Request{ID: 1, Op: wsclient.Hello}, receipt, "helloReply"},
		"an unexpected reply to a handwritten op": {byHand, `{"id":1,"ok":{"fate":"unknown"}}`, "not a reply"},
		"a bad op":               {short, receipt, "should have been rejected"},
		"an unknown code":        {buy, `{"id":1,"error":{"code":"tired","message":"m","retry_ms":0}}`, "errorReply"},
		"an unknown event":       {frame: `{"ev":"lunch"}`, wantErr: "no message lunchEvent"},
		"a wait below zero":      {frame: `{"ev":"bye","code":4000,"retry_ms":-1}`, wantErr: "byeEvent"},
		"a tick without details": {frame: `{"ev":"tick","now":1,"sales":[{"id":"1"}]}`, wantErr: "tickEvent"},
	} {
		f, err := wsclient.Parse([]byte(c.frame))
		if err != nil {
			t.Fatal(err)
		}
		f.Request = c.request
		err = messages.Check(f)
		kit.WantError(t, name, err, c.wantErr)
	}
}

// Read rejects documents that are malformed or describe no messages.
func TestReadRejectsInvalidDocuments(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "asyncapi: 3.0.0", "a: [", "components: {messages: {a: {payload: {type: 7}}}}"} {
		if _, err := asyncapi.Read([]byte(text)); err == nil {
			t.Errorf("%q was accepted", text)
		}
	}
}

// BenchmarkCheck measures the test overhead per tick of a socket.
func BenchmarkCheck(b *testing.B) {
	messages, err := asyncapi.Read(realtime.AsyncAPI)
	if err != nil {
		b.Fatal(err)
	}
	const line = `{"id":"7","stock":1,"held":2,"sold":3,"done":4,"rate":5.5,"watching":6}`
	f, err := wsclient.Parse([]byte(`{"ev":"tick","now":1,"sales":[` + strings.Repeat(line+",", 11) + line + `]}`))
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if err := messages.Check(f); err != nil {
			b.Fatal(err)
		}
	}
}
