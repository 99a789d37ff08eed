package api

import (
	"bufio"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
)

// A request whose end is ambiguous for a proxy is the last one on its connection. It gets 400 or, with both
// Content-Length and chunks, a reply to its chunks (RFC 9112, 6.3). The bytes after it are not handled as a request: a
// proxy would send the reply to another client.
func TestAmbiguousRequestEndsConnection(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	const post, next = "POST /api/v1/auth/guest HTTP/1.1\r\nHost: a\r\n",
		"GET /api/v1/time HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"
	for request, want := range map[string][]int{
		"Content-Length: 0\r\n\r\n":                                                        {200, 200},
		"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n":                                      {200, 200},
		"Transfer-Encoding: Chunked\r\n\r\n2;a=\"b\"\r\n{}\r\n0;c\r\nX-Trailer: 1\r\n\r\n": {200, 200},
		"X: a\r\n Transfer-Encoding: chunked\r\nContent-Length: 0\r\n\r\n":                 {200, 200},
		"X: a\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n":                                {200, 200},
		"Transfer-Encoding: identity\r\n\r\n":                                              {200, 200},

		"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n":           {200},
		"Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n":           {200},
		"Content-Length: 0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n":           {200},
		"Content-Length: 0\r\nContent-Length: 62\r\n\r\n":                            {400},
		"Content-Length: 62\r\nContent-Length: 0\r\n\r\n":                            {400},
		"Content-Length: 0, 62\r\n\r\n":                                              {400},
		"Content-Length: +0\r\n\r\n":                                                 {400},
		"Content-Length: -1\r\n\r\n":                                                 {400},
		"Content-Length : 62\r\n\r\n":                                                {400},
		" Content-Length: 62\r\n\r\n":                                                {400},
		"Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n":                               {400},
		"Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n":                      {400},
		"Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n":                          {400},
		"Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n":                               {400},
		"Transfer-Encoding:\x0bchunked\r\n\r\n0\r\n\r\n":                             {400},
		"Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n": {400},
		"Transfer-Encoding: identity\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n": {400},
		"X: a\rTransfer-Encoding: chunked\r\nContent-Length: 0\r\n\r\n":              {400},
		"X: a\x00\r\nContent-Length: 0\r\n\r\n":                                      {400},
		"Transfer-Encoding: chunked\r\n\r\n0x0\r\n\r\n":                              {400},
		"Transfer-Encoding: chunked\r\n\r\n+0\r\n\r\n":                               {400},
		"Transfer-Encoding: chunked\r\n\r\n-1\r\n\r\n":                               {400},
		"Transfer-Encoding: chunked\r\n\r\n 0\r\n\r\n":                               {400},
		"Transfer-Encoding: chunked\r\n\r\n10000000000000000\r\n\r\n":                {400},
		"Transfer-Encoding: chunked\r\n\r\n0\n\n":                                    {400},
		"Transfer-Encoding: chunked\r\n\r\n0;\n\r\n":                                 {400},
		"Transfer-Encoding: chunked\r\n\r\n2;\nxx\r\n{}\r\n0\r\n\r\n":                {400},
		"Transfer-Encoding: chunked\r\n\r\n2;a\rb\r\n{}\r\n0\r\n\r\n":                {400},
		"Transfer-Encoding: chunked\r\n\r\n2\r\n{}xx0\r\n\r\n":                       {400},
	} {
		got := s.replies(post + request + next)
		if !slices.Equal(got, want) {
			t.Errorf("%q: got %d, want %d", request, got, want)
		}
	}
}

// replies sends text on one connection and returns the status codes until the connection ends.
func (s *site) replies(text string) (codes []int) {
	s.t.Helper()
	conn := s.send(text)
	defer func() { _ = conn.Close() }()
	r := bufio.NewReader(conn)
	for {
		res, err := http.ReadResponse(r, nil)
		if err != nil {
			if !strings.Contains(err.Error(), "EOF") && !strings.Contains(err.Error(), "reset") {
				s.t.Errorf("%.200q: %v", text, err)
			}
			return codes
		}
		_, _ = io.Copy(io.Discard, res.Body)
		codes = append(codes, res.StatusCode)
	}
}
