package demo

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"

	"stampede/app/shop"
)

// dialTimeout limits the login and the dial of the WebSocket.
const dialTimeout = 5 * time.Second

// logInAsGuest logs in as a guest; a valid token keeps the same guest.
func logInAsGuest(ctx context.Context, base, token string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, base+"/api/v1/auth/guest", nil)
	if err != nil {
		return "", fmt.Errorf("log in: %w", err)
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	res, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(req)
	if err != nil {
		return "", fmt.Errorf("log in: %w", err)
	}
	defer res.Body.Close()
	var session struct {
		Access string      `json:"access"`
		Error  *shop.Error `json:"error"`
	}
	if err := json.NewDecoder(io.LimitReader(res.Body, 1<<16)).Decode(&session); err != nil {
		return "", fmt.Errorf("log in: status %d: %w", res.StatusCode, err)
	}
	if session.Error != nil {
		return "", fmt.Errorf("log in: %w", session.Error)
	}
	return session.Access, nil
}
