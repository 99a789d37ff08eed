package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/term"

	"stampede/app/account"
	"stampede/app/shop"
)

type (
	loginCmd struct {
		serverFlags

		Email string `arg:"" optional:"" help:"E-mail of the account. Default: a prompt."`
	}
	logoutCmd struct{ serverFlags }
)

func (loginCmd) Help() string {
	return "Prompts for the password, or reads it from standard input if that is not a terminal. The tokens are " +
		"stored in your configuration folder, readable only by you, and are renewed when they expire. " +
		"STAMPEDE_TOKEN takes precedence: scripts can get a token from stampede token.\n\n" +
		"Examples:\n\n    stampede login ada@shop.example --server https://shop.example\n" +
		"    stampede logout --server https://shop.example"
}

// session contains the tokens of a login at one server.
type session struct {
	Access  string `json:"access"`
	Refresh string `json:"refresh"`
}

// sessions contains the saved logins of the user of this machine.
type sessions struct {
	ByServer map[string]session `json:"sessions"` // by address of the server

	file string
}

// sessions reads the saved logins. A missing file means no logins.
func (e *env) sessions() (*sessions, error) {
	folder := e.variable("XDG_CONFIG_HOME")
	if folder == "" {
		var err error
		if folder, err = os.UserConfigDir(); err != nil {
			return nil, fmt.Errorf("find the configuration folder: %w", err)
		}
	}
	s := &sessions{file: filepath.Join(folder, "stampede", "sessions.json")}
	text, err := os.ReadFile(s.file)
	if err == nil {
		err = json.Unmarshal(text, s)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read the logins in %s: %w", s.file, err)
	}
	if s.ByServer == nil {
		s.ByServer = make(map[string]session)
	}
	return s, nil
}

// save stores the session of a server in the file. A session without a token is deleted.
func (s *sessions) save(server string, login session) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("store the login: %w", err)
		}
	}()
	if s.ByServer[server] = login; login.Access == "" {
		delete(s.ByServer, server)
	}
	text, err := json.Marshal(s)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(s.file), 0o700); err != nil {
		return err
	}
	file, err := os.CreateTemp(filepath.Dir(s.file), "sessions") // with mode 0600
	if err != nil {
		return err
	}
	_, err = file.Write(text)
	if err = errors.Join(err, file.Close()); err == nil {
		err = os.Rename(file.Name(), s.file)
	}
	if err != nil {
		_ = os.Remove(file.Name()) // the file contains tokens
	}
	return err
}

// refresh exchanges the saved tokens for new ones and saves them.
func (c *client) refresh() error {
	old := c.saved.ByServer[c.base]
	c.token = ""
	var next account.Session
	err := c.auth("refresh", map[string]string{"refresh": old.Refresh}, &next)
	if errors.Is(err, &shop.Error{Code: shop.Unauthorized}) {
		return fmt.Errorf("the login at %s has expired: run stampede login", c.base)
	}
	if err != nil {
		return err
	}
	c.token = next.Access
	return c.saved.save(c.base, session{next.Access, next.Refresh})
}

// auth calls a route under /auth.
func (c *client) auth(route string, body, into any) error {
	content, err := json.Marshal(body)
	if err != nil {
		return err
	}
	return c.send(request{
		method: http.MethodPost, path: apiPath + "/auth/" + route, kind: "application/json", content: content,
	}, into)
}

// savedClient returns a client with the saved logins and without a token.
func (e *env) savedClient(server string) (*client, error) {
	c, err := e.client(server)
	if err == nil {
		c.saved, err = e.sessions()
	}
	return c, err
}

func (l *loginCmd) Run(e *env) error {
	c, err := e.savedClient(l.Server)
	if err != nil {
		return err
	}
	defer c.http.CloseIdleConnections()
	in := bufio.NewReader(io.LimitReader(e.in, 2*maxPassword))
	if l.Email == "" {
		fmt.Fprint(e.err, "E-mail: ")
		if l.Email, err = in.ReadString('\n'); err != nil && !errors.Is(err, io.EOF) {
			return fmt.Errorf("read the e-mail: %w", err)
		}
		l.Email = strings.TrimSpace(l.Email)
	}
	password, err := e.password(in)
	if err != nil {
		return err
	}
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	var s account.Session
	logIn := account.LogIn{Email: l.Email, Password: password, Client: "app", Device: "stampede at " + host}
	if err := c.auth("login", logIn, &s); err != nil {
		return err
	}
	if err := c.saved.save(c.base, session{s.Access, s.Refresh}); err != nil {
		return err
	}
	fmt.Fprintf(e.out, "logged in at %s as %s, %s\n", c.base, s.User.Email, s.User.Role)
	return nil
}

// password reads one line without echo.
func (e *env) password(in *bufio.Reader) (string, error) {
	fmt.Fprint(e.err, "Password: ")
	defer fmt.Fprintln(e.err)
	if file, is := e.in.(*os.File); is && term.IsTerminal(int(file.Fd())) {
		text, err := term.ReadPassword(int(file.Fd()))
		return string(text), err
	}
	return passwordLine(in, "standard input has no password")
}

// Run ends the login on the server and deletes the saved session.
func (l *logoutCmd) Run(e *env) error {
	c, err := e.savedClient(l.Server)
	if err != nil {
		return err
	}
	defer c.http.CloseIdleConnections()
	login, found := c.saved.ByServer[c.base]
	if !found {
		fmt.Fprintln(e.out, "not logged in at", c.base)
		return nil
	}
	if err := c.auth("logout", map[string]string{"refresh": login.Refresh}, nil); err != nil {
		return err
	}
	if err := c.saved.save(c.base, session{}); err != nil {
		return err
	}
	fmt.Fprintln(e.out, "logged out at", c.base)
	return nil
}
