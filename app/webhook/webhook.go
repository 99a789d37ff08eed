// Package webhook delivers paid and refunded orders to an HTTP endpoint of the shop's back office, as an alternative to
// reading the stream. A delivery is
//
//	POST the JSON of outbox.Message
//	Stampede-Delivery: <order>-<rev>            a repeat has the same value; each message is delivered at least once
//	Stampede-Timestamp: <Unix seconds>
//	Stampede-Signature: v1=<hex>                HMAC-SHA256 of timestamp + "." + body under the shared secret
//
// A receiver checks the signature over the raw bytes, rejects timestamps that are minutes old, and returns any 2xx once
// it has stored the order. The order is delivered again after 401, 403, 408, 425, 429, 5xx, or ten seconds without a
// response. Retry-After sets the delay (1 s to 5 min). Any other 4xx quarantines the delivery until an operator replays
// it (command `stampede backoffice`).
package webhook

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"stampede/app/outbox"
	"stampede/app/shop"
)

const (
	deliveryTimeout = 10 * time.Second // for one delivery, from the dial to the last byte of the response
	// maxIdle is the maximum number of idle connections, about the number of concurrent deliveries.
	maxIdle = 16
	// maxResponse is the maximum number of bytes that are read from a response body. A body that is read to its end
	// allows the reuse of the connection.
	maxResponse = 64 << 10
)

// Sender delivers to one address.
type Sender struct {
	address string
	secret  []byte
	client  *http.Client
	now     func() time.Time
}

// New creates a sender. The sender does not follow redirects: the signature is meant for this address.
func New(address string, secret []byte) *Sender {
	return &Sender{
		address: address, secret: secret, now: time.Now,
		client: &http.Client{
			Timeout: deliveryTimeout,
			Transport: &http.Transport{
				MaxIdleConnsPerHost: maxIdle, IdleConnTimeout: time.Minute, TLSHandshakeTimeout: deliveryTimeout,
			},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}
}

// Deliver posts one order. It returns nil if the receiver has accepted the order, and outbox.ErrRejected if the
// receiver has permanently rejected it. *outbox.PauseError means that the receiver accepts no orders at the moment.
// After any other error, the order must be delivered again.
func (s *Sender) Deliver(ctx context.Context, p outbox.Message) error {
	body, err := json.Marshal(&p)
	if err != nil {
		return fmt.Errorf("encode order %s: %w", p.Order, err)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, s.address, bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("address %s: %w", s.address, err)
	}
	timestamp := strconv.FormatInt(s.now().Unix(), 10)
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("User-Agent", "stampede")
	request.Header.Set("Stampede-Delivery", fmt.Sprintf("%s-%d", p.Order, p.Rev))
	request.Header.Set("Stampede-Timestamp", timestamp)
	request.Header.Set("Stampede-Signature", Sign(s.secret, timestamp, body))
	response, err := s.client.Do(request)
	if err != nil {
		return fmt.Errorf("deliver order %s: %w", p.Order, err)
	}
	defer func() { _ = response.Body.Close() }()
	_, _ = io.CopyN(io.Discard, response.Body, maxResponse) // most bodies are shorter than maxResponse
	return s.outcome(p.Order, response)
}

// outcome maps a response to the result of Deliver.
func (s *Sender) outcome(order shop.ID, response *http.Response) error {
	statusErr := fmt.Errorf("the receiver responded to order %s with %s", order, response.Status)
	after, ok := s.retryAfter(response.Header.Get("Retry-After"))
	switch code := response.StatusCode; {
	case code >= 200 && code < 300:
		return nil
	case code == http.StatusUnauthorized, code == http.StatusForbidden, code == http.StatusTooManyRequests:
		return &outbox.PauseError{After: after, Err: statusErr} // about the sender, not about this order
	case code == http.StatusRequestTimeout, code == http.StatusTooEarly, code < 400, code >= 500:
		if ok {
			return &outbox.PauseError{After: after, Err: statusErr}
		}
		return statusErr
	default:
		return fmt.Errorf("%w: %w", outbox.ErrRejected, statusErr)
	}
}

// retryAfter parses the header: seconds or a date. It does not limit the value.
func (s *Sender) retryAfter(text string) (after time.Duration, ok bool) {
	if seconds, err := strconv.ParseUint(text, 10, 31); err == nil {
		return time.Duration(seconds) * time.Second, true
	}
	if at, err := http.ParseTime(text); err == nil {
		return max(0, at.Sub(s.now())), true
	}
	return 0, false
}

// Close closes idle connections.
func (s *Sender) Close() { s.client.CloseIdleConnections() }

// Sign returns the signature header of a delivery. Receivers must compare it in constant time.
func Sign(secret []byte, timestamp string, body []byte) string {
	mac := hmac.New(sha256.New, secret)
	mac.Write([]byte(timestamp + "."))
	mac.Write(body)
	return "v1=" + hex.EncodeToString(mac.Sum(nil))
}
