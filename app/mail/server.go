package mail

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"

	"stampede/app/shop"
)

// Server has the address and the login of a mail server.
type Server struct {
	Host     string
	Port     int
	User     string // "": no login
	Password string
	TLS      TLS
}

// TLS is the encryption of the connection to a mail server.
type TLS int

// The TLS modes.
const (
	StartTLS    TLS = iota // the connection switches to TLS before it sends the login or an e-mail, or it fails
	ImplicitTLS            // TLS from the first byte
	NoTLS                  // for a relay on this machine or in a private network
)

// ParseServer parses an address like
//
//	smtp://user:password@mail.example:587            STARTTLS, which the server must offer
//	smtps://user:password@mail.example:465           TLS from the first byte
//	smtp://relay.internal:25?tls=none                not encrypted, so a login is not allowed
//	smtp://user:password@127.0.0.1:25?tls=none       a login is allowed on this machine
//
// Errors do not contain the address, because it may contain a password.
func ParseServer(address string) (Server, error) {
	u, err := url.Parse(address)
	if err != nil || u.Opaque != "" || u.Hostname() == "" || (u.Path != "" && u.Path != "/") ||
		strings.Contains(address, "#") {
		return Server{}, errors.New("cannot be read (in a user or password, write #, /, ?, @ and : as %23, %2F, %3F, %40, %3A): " +
			"want smtp://user:password@host:587 or smtps://user:password@host:465")
	}
	s := Server{Host: u.Hostname(), User: u.User.Username()}
	s.Password, _ = u.User.Password()
	switch u.Scheme {
	case "smtp":
		s.Port = 587
	case "smtps":
		s.Port, s.TLS = 465, ImplicitTLS
	default:
		return Server{}, fmt.Errorf("begins with %.20q: want smtp:// or smtps://", u.Scheme+"://")
	}
	if u.Port() != "" {
		if s.Port, err = strconv.Atoi(u.Port()); err != nil || s.Port < 1 || s.Port > 65535 {
			return Server{}, fmt.Errorf("has the port %.10q: want 1 to 65535", u.Port())
		}
	}
	for name, values := range u.Query() {
		if name != "tls" || len(values) != 1 || values[0] != "none" || u.Scheme != "smtp" {
			return Server{}, errors.New("has an unknown option: want tls=none, only with smtp://, or no option")
		}
		s.TLS = NoTLS
	}
	switch {
	case (s.User == "") != (s.Password == ""):
		return Server{}, errors.New("has a user or a password, but not both")
	case s.User != "" && s.TLS == NoTLS && !s.isLocal():
		return Server{}, errors.New("would send the password without encryption: remove tls=none or the password")
	}
	return s, nil
}

// isLocal reports whether the server is on this machine.
func (s *Server) isLocal() bool {
	return shop.IsLocalHost(s.Host)
}

// String returns the address without user and password.
func (s *Server) String() string { return net.JoinHostPort(s.Host, strconv.Itoa(s.Port)) }
