package webhook

import (
	"crypto/hmac"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"stampede/app"
)

var secret = []byte("0123456789abcdef0123456789abcdef")

func receiver(t *testing.T, answer int) (*Sender, *[]*http.Request, *[][]byte) {
	t.Helper()
	var requests []*http.Request
	var bodies [][]byte
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		requests, bodies = append(requests, r), append(bodies, body)
		w.Header().Set("Location", "/elsewhere")
		w.WriteHeader(answer)
	}))
	t.Cleanup(server.Close)
	s := New(server.URL+"/hook", secret)
	t.Cleanup(s.Close)
	return s, &requests, &bodies
}

// A delivery is what the package promises: signed over time and body, and named by order and rev.
func TestDeliveryIsSigned(t *testing.T) {
	t.Parallel()
	s, requests, bodies := receiver(t, http.StatusNoContent)
	s.now = func() time.Time { return time.Unix(1_800_000_000, 0) }
	p := app.Posting{Order: 7301444480512000257, Rev: 4, State: app.Refunded, Sale: 5, User: 6, AmountFen: 9800}
	if err := s.Deliver(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	r, body := (*requests)[0], (*bodies)[0]
	var got app.Posting
	if err := json.Unmarshal(body, &got); err != nil || got != p {
		t.Errorf("%s, %v", body, err)
	}
	for name, want := range map[string]string{
		"Content-Type": "application/json", "Stampede-Delivery": "7301444480512000257-4", "Stampede-Timestamp": "1800000000",
		"Stampede-Signature": Sign(secret, "1800000000", body),
	} {
		if got := r.Header.Get(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	if r.Method != http.MethodPost || r.URL.Path != "/hook" {
		t.Errorf("%s %s", r.Method, r.URL)
	}
}

// The signature is that of RFC 2104 over timestamp, point and body: receivers in other languages rely on it.
func TestSignatureIsStable(t *testing.T) {
	t.Parallel()
	const want = "v1=0726dedcd7fddd05eca3b4cfff0b915d4a6469b4019322ce9703ab6ea6c63959"
	got := Sign([]byte("secret"), "1800000000", []byte(`{"order":"1"}`))
	if !hmac.Equal([]byte(got), []byte(want)) {
		t.Errorf("%s", got)
	}
}

// Only a 2xx is a yes. A 4xx is about this order, everything else about the receiver.
func TestOnlyAYesIsTaken(t *testing.T) {
	t.Parallel()
	for status, refused := range map[int]bool{400: true, 404: true, 409: true, 301: false, 500: false, 503: false} {
		s, requests, _ := receiver(t, status)
		if err := s.Deliver(t.Context(), app.Posting{Order: 1, Rev: 2}); err == nil || errors.Is(err, app.ErrNotTaken) != refused {
			t.Errorf("%d: %v", status, err)
		}
		if len(*requests) != 1 {
			t.Errorf("%d: %d requests", status, len(*requests))
		}
	}
	s := New("http://127.0.0.1:1/", secret)
	if err := s.Deliver(t.Context(), app.Posting{Order: 1, Rev: 2}); err == nil || errors.Is(err, app.ErrNotTaken) {
		t.Errorf("nobody there: %v", err)
	}
}
