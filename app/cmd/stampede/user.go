package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"stampede/app/privacy"
	"stampede/app/server"
	"stampede/app/shop"
)

type userCmd struct {
	Add    userAdd    `cmd:"" help:"Make an account."`
	List   userList   `cmd:"" help:"List accounts, the newest first."`
	Show   userShow   `cmd:"" help:"Show an account and where it is logged in."`
	Role   userRole   `cmd:"" help:"Set what an account may do."`
	Revoke userRevoke `cmd:"" help:"Log an account out on all its devices."`
	Delete userDelete `cmd:"" help:"Have everything go that is kept of somebody."`
}

type (
	userAdd struct {
		Email    string    `arg:"" help:"Its e-mail, with which it logs in."`
		Role     shop.Role `default:"shopper" enum:"shopper,operator,admin" help:"What it may do: ${enum}."`
		Name     string    `help:"What it is called; without it, a friendly name."`
		Lang     string    `default:"en" enum:"en,zh" help:"In which its mails are written: ${enum}."`
		Password bool      `help:"Read its password from standard input, one line; without it, a link by mail sets one."`
		JSON     bool      `name:"json" help:"For scripts."`
		acting
	}
	userList struct {
		Query string    `arg:"" optional:"" name:"query" help:"An id, a whole name, or the beginning of an e-mail."`
		Role  shop.Role `default:"" enum:",shopper,operator,admin" help:"Only those that may do that."`
		Limit int       `default:"100" help:"At most so many, up to 1000."`
		reading
	}
	userShow struct {
		Who string `arg:"" name:"user" help:"Id or e-mail."`
		reading
	}
	userRole struct {
		Who  string    `arg:"" name:"user" help:"Id or e-mail."`
		Role shop.Role `arg:"" enum:"shopper,operator,admin" help:"${enum}."`
		operating
	}
	userRevoke struct {
		Who string `arg:"" name:"user" help:"Id or e-mail."`
		operating
	}
	userDelete struct {
		Who string `arg:"" name:"user" help:"Id or e-mail; of a guest, the id."`
		Yes bool   `help:"Yes, for good."`
		operating
	}
)

func (userCmd) Help() string {
	return "The first admin of a shop is made here; no server has to run for an account with a password. Changes count for tokens that " +
		"are out within five seconds: a new role, a log out and a deletion end them.\n\nExamples:\n\n" +
		"    stampede user add ada@shop.example --role admin --password < password.txt\n" +
		"    stampede user add li.lei@shop.example --role operator --lang zh     (a link by mail sets the password)\n" +
		"    stampede user list --role operator\n    stampede user show ada@shop.example --json\n" +
		"    stampede user role ada@shop.example operator\n    stampede user revoke 7301444480512000257"
}

func (userDelete) Help() string {
	return "What goes: e-mail, name, password, log ins, links and the address book. The id and the orders stay, without a name: the " +
		"addresses in orders that are over are blanked within a minute, in others once they are over, by a running server with the " +
		"role sweeper. What lives on elsewhere for a while, says the runbook.\n\nExamples:\n\n" +
		"    stampede user delete ada@shop.example --yes\n    stampede user delete 7301444480512000257 --yes     (a guest)"
}

// maxPassword limits the input, in bytes. The server checks the length of passwords.
const maxPassword = 4096

// passwordLine reads the first line of standard input.
func passwordLine(in *bufio.Reader, missing string) (string, error) {
	line, err := in.ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return "", fmt.Errorf("read the password: %w", err)
	}
	if line = strings.TrimRight(line, "\r\n"); line == "" {
		return "", fmt.Errorf("%w: %s", errUsage, missing)
	}
	return line, nil
}

func (c *userAdd) Run(e *env) error {
	n := server.NewUser{Email: c.Email, Name: c.Name, Lang: c.Lang, Role: c.Role}
	if c.Password {
		in := bufio.NewReader(io.LimitReader(e.in, maxPassword))
		var err error
		if n.Password, err = passwordLine(in, "--password is given, and there is none on standard input"); err != nil {
			return err
		}
	}
	return e.withActs(c.acting, func(t *server.Tools) error {
		u, err := t.AddUser(e.ctx, n)
		text := fmt.Sprintf("added %s %s, user %s", u.Role, u.Email, u.ID)
		if n.Password == "" {
			text += "\na link that sets the password is mailed by a running server; it counts for an hour"
		}
		return e.result(c.JSON, err, u, "%s", text)
	})
}

func (c *userList) Run(e *env) error {
	if c.Limit < 1 || c.Limit > 1000 {
		return fmt.Errorf("%w: --limit is %d, want 1 to 1000", errUsage, c.Limit)
	}
	if c.Query != "" && c.Role != "" {
		return fmt.Errorf("%w: search for somebody, or say --role, not both", errUsage)
	}
	query := url.Values{"q": {c.Query}, "role": {string(c.Role)}}
	return e.look(c.reading, func(api *client) error {
		users, err := pages(api, collection{"/users", "users"}, query, c.Limit, func(u *server.UserSummary) string {
			return u.ID.String()
		})
		return list(e, c.JSON, err, users, listing[server.UserSummary]{
			none: "nobody has an account", head: "id\temail\tname\trole\tstate\tsince",
			columns: func(u server.UserSummary) []any {
				return []any{u.ID, u.Email, u.Name, u.Role, u.State, e.wall(u.CreatedAt)}
			},
		})
	})
}

// userDetails is an account with its logins.
type userDetails struct {
	server.UserSummary
	Devices []privacy.ExportedDevice `json:"devices"`
}

// user resolves an id or e-mail to an id.
func (c *client) user(who string) (shop.ID, error) {
	if id, err := shop.ParseID(who); err == nil {
		return id, nil
	}
	if !strings.Contains(who, "@") {
		return 0, errors.New("name a user by id or e-mail")
	}
	found, err := pages[server.UserSummary](c, collection{"/users", "users"}, url.Values{"q": {who}}, 1, nil)
	if err != nil {
		return 0, err
	}
	if len(found) == 0 || !strings.EqualFold(found[0].Email, who) { // e-mails are sorted, so an exact match comes first
		return 0, errors.New("nobody has that id or e-mail")
	}
	return found[0].ID, nil
}

// onUser sends an operation on the user with this id or e-mail.
func (c *client) onUser(who, what string, body, into any) (shop.ID, error) {
	id, err := c.user(who)
	if err == nil {
		err = c.act(http.MethodPost, "/users/"+id.String()+"/"+what, body, into)
	}
	return id, err
}

// details reads an account.
func (c *client) details(who string) (d userDetails, err error) {
	id, err := c.user(who)
	if err != nil {
		return d, err
	}
	var file struct {
		Account *server.UserSummary      `json:"account"`
		Devices []privacy.ExportedDevice `json:"devices"`
	}
	if err := c.get("/users/"+id.String(), nil, &file); err != nil {
		return d, err
	}
	if file.Account == nil {
		return d, errors.New("a guest has that id: stampede order list shows their orders")
	}
	return userDetails{*file.Account, file.Devices}, nil
}

func (c *userShow) Run(e *env) error {
	return e.look(c.reading, func(api *client) error {
		u, err := api.details(c.Who)
		return e.show(c.JSON, err, u, func() error {
			fmt.Fprintf(e.out, "user    %s\ne-mail  %s\nname    %s\nrole    %s\nstate   %s\nsince   %s\n\n", u.ID, u.Email, u.Name,
				u.Role, u.State, e.wall(u.CreatedAt))
			return list(e, false, nil, u.Devices, listing[privacy.ExportedDevice]{
				none: "logged in nowhere", head: "device\tname\tsince\tlast seen",
				columns: func(d privacy.ExportedDevice) []any {
					return []any{d.ID, d.Name, e.wall(d.CreatedAt), e.wall(d.LastSeenAt)}
				},
			})
		})
	})
}

func (c *userRole) Run(e *env) error {
	return e.operate(c.operating, func(api *client) error {
		var u server.UserSummary
		_, err := api.onUser(c.Who, "role", map[string]any{"role": c.Role}, &u)
		return e.result(c.JSON, err, u, "user %s is %s", u.ID, u.Role)
	})
}

func (c *userRevoke) Run(e *env) error {
	return e.operate(c.operating, func(api *client) error {
		var done struct {
			Revoked int `json:"revoked"`
		}
		_, err := api.onUser(c.Who, "revoke", nil, &done)
		return e.result(c.JSON, err, done, "logged out on %d devices", done.Revoked)
	})
}

func (c *userDelete) Run(e *env) error {
	if !c.Yes {
		return fmt.Errorf("%w: this cannot be taken back; say --yes", errUsage)
	}
	return e.operate(c.operating, func(api *client) error {
		id, err := api.onUser(c.Who, "delete", nil, nil)
		return e.result(c.JSON, err, []shop.ID{id}, "deleted user %s", id)
	})
}
