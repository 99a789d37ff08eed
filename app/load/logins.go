package load

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// loginRate is the number of logins per second.
const loginRate = 500.0

// logins measures reservations in alternating windows with and without a flood of logins. Each login uses another
// account, so that no failure counter of an account rejects it before the password check.
func (b *bench) logins(ctx context.Context, r *Result) error {
	runID := strconv.FormatInt(time.Now().UnixMilli(), 36)
	all, seconds, err := b.underFlood(ctx, r, loginRate, func(n int) []byte {
		return loginAttempt(b.Address, fmt.Sprintf("unknown-%s-%d@shop.example", runID, n))
	})
	if err != nil {
		return err
	}
	r.setFigure("logins_sent_per_second", float64(all.sent)/seconds)
	statuses := make(map[string]int)
	for response, n := range all.responses {
		status, _, _ := strings.Cut(response, " ")
		statuses[status] += n
	}
	for status, n := range statuses {
		switch status {
		case "401", "403", "429", "503": // wrong password, captcha required, rate limited, busy
			r.setFigure("logins_answered_"+status+"_per_second", float64(n)/seconds)
		default:
			r.fail(fmt.Sprintf("%d logins got %s", n, status))
		}
	}
	return nil
}

// loginAttempt returns a login request with a wrong password.
func loginAttempt(host, email string) []byte {
	body := `{"email":"` + email + `","password":"guessed and wrong"}`
	return []byte("POST /api/v1/auth/login HTTP/1.1\r\nHost: " + host + "\r\nContent-Type: application/json\r\n" +
		"Content-Length: " + strconv.Itoa(len(body)) + "\r\n\r\n" + body)
}
