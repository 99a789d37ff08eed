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
	Add    userAdd    `cmd:"" help:"Create an account."`
	List   userList   `cmd:"" help:"List accounts, newest first."`
	Show   userShow   `cmd:"" help:"Show an account and its logged-in devices."`
	Role   userRole   `cmd:"" help:"Set the role of an account."`
	Revoke userRevoke `cmd:"" help:"Log an account out on all its devices."`
	Delete userDelete `cmd:"" help:"Delete an account and its personal data."`
}

type (
	userAdd struct {
		Email    string    `arg:"" help:"E-mail of the account, for logins."`
		Role     shop.Role `default:"shopper" enum:"shopper,operator,admin" help:"Role of the account: ${enum}."`
		Name     string    `help:"Display name. Default: a generated friendly name."`
		Lang     string    `default:"en" enum:"en,zh" help:"Language of its e-mails: ${enum}."`
		Password bool      `help:"Read its password from standard input, one line. Default: an e-mail with a link to set the password."`
		JSON     bool      `name:"json" help:"Print JSON, for scripts."`
		actorFlags
	}
	userList struct {
		Query string    `arg:"" optional:"" name:"query" help:"An id, a full name, or the start of an e-mail."`
		Role  shop.Role `default:"" enum:",shopper,operator,admin" help:"Only accounts with this role."`
		Limit int       `default:"100" help:"Maximum number of accounts, 1 to 1000."`
		readFlags
	}
	userShow struct {
		Who string `arg:"" name:"user" help:"Id or e-mail of the account."`
		readFlags
	}
	userRole struct {
		Who  string    `arg:"" name:"user" help:"Id or e-mail of the account."`
		Role shop.Role `arg:"" enum:"shopper,operator,admin" help:"New role: ${enum}."`
		operationFlags
	}
	userRevoke struct {
		Who string `arg:"" name:"user" help:"Id or e-mail of the account."`
		operationFlags
	}
	userDelete struct {
		Who string `arg:"" name:"user" help:"Id or e-mail of the account; for guests, the id."`
		Yes bool   `help:"Confirm the permanent deletion."`
		operationFlags
	}
)

func (userCmd) Help() string {
	return "Use it to create the first admin of a shop: an account with a password needs no running server. Changes " +
		"apply to issued tokens within five seconds: a new role, a logout and a deletion end them.\n\n" +
		"Examples:\n\n" +
		"    stampede user add ada@shop.example --role admin --password < password.txt\n" +
		"    stampede user add li.lei@shop.example --role operator --lang zh     (an e-mail has a link that sets the password)\n" +
		"    stampede user list --role operator\n" +
		"    stampede user show ada@shop.example --json\n" +
		"    stampede user role ada@shop.example operator\n" +
		"    stampede user revoke 7301444480512000257"
}

func (userDelete) Help() string {
	return "Deletes e-mail, name, password, logins, links and the address book. The id and the orders stay, without a " +
		"name. A running server with the role sweeper removes the addresses of completed orders within a minute, " +
		"and the addresses of other orders when they are completed. deploy/RUNBOOK.md lists the copies that stay " +
		"for a while.\n\nExamples:\n\n    stampede user delete ada@shop.example --yes\n" +
		"    stampede user delete 7301444480512000257 --yes     (a guest)"
}

// maxPassword limits the input, in bytes. The server checks the length of passwords.
const maxPassword = 4096

// passwordLine reads the first line of standard input.
func passwordLine(in *bufio.Reader, missing string) (string, error) {
	line, err := in.ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return "", fmt.Errorf("read the password: %w", err)
	}
	if line = strings.TrimRight(strings.TrimPrefix(line, shop.ByteOrderMark), "\r\n"); line == "" {
		return "", fmt.Errorf("%w: %s", errUsage, missing)
	}
	return line, nil
}

func (c *userAdd) Run(e *env) error {
	n := server.NewUser{Email: c.Email, Name: c.Name, Lang: c.Lang, Role: c.Role}
	if c.Password {
		in := bufio.NewReader(io.LimitReader(e.in, maxPassword))
		var err error
		if n.Password, err = passwordLine(in, "--password is set, but standard input has no password"); err != nil {
			return err
		}
	}
	return e.withActor(c.actorFlags, func(t *server.Tools) error {
		u, err := t.AddUser(e.ctx, n)
		text := fmt.Sprintf("added %s %s, user %s", u.Role, u.Email, u.ID)
		if n.Password == "" {
			text += "\na running server sends an e-mail with a link that sets the password; the link is valid for an hour"
		}
		return e.result(c.JSON, err, u, "%s", text)
	})
}

func (c *userList) Run(e *env) error {
	if c.Limit < 1 || c.Limit > 1000 {
		return fmt.Errorf("%w: --limit is %d, want 1 to 1000", errUsage, c.Limit)
	}
	if c.Query != "" && c.Role != "" {
		return fmt.Errorf("%w: give a search text or --role, not both", errUsage)
	}
	query := url.Values{"q": {c.Query}, "role": {string(c.Role)}}
	return e.read(c.readFlags, func(api *client) error {
		users, err := pages(api, collection{"/users", "users"}, query, c.Limit, func(u *server.UserSummary) string {
			return u.ID.String()
		})
		return list(e, c.JSON, err, users, listing[server.UserSummary]{
			none: "no accounts", head: "id\temail\tname\trole\tstate\tsince",
			columns: func(u server.UserSummary) []any {
				return []any{u.ID, u.Email, u.Name, u.Role, u.State, e.localTime(u.CreatedAt)}
			},
		})
	})
}

// userDetails is an account with its logged-in devices.
type userDetails struct {
	server.UserSummary
	Devices []privacy.ExportedDevice `json:"devices"`
}

// user resolves an id or e-mail to an id.
func (c *client) user(idOrEmail string) (shop.ID, error) {
	if id, err := shop.ParseID(idOrEmail); err == nil {
		return id, nil
	}
	if !strings.Contains(idOrEmail, "@") {
		return 0, errors.New("name a user by id or e-mail")
	}
	found, err := pages[server.UserSummary](c, collection{"/users", "users"}, url.Values{"q": {idOrEmail}}, 1, nil)
	if err != nil {
		return 0, err
	}
	// e-mails are sorted, so an exact match comes first
	if len(found) == 0 || !strings.EqualFold(found[0].Email, idOrEmail) {
		return 0, errors.New("no account has that id or e-mail")
	}
	return found[0].ID, nil
}

// postUser sends an operation on the user with this id or e-mail.
func (c *client) postUser(idOrEmail, action string, body, into any) (shop.ID, error) {
	id, err := c.user(idOrEmail)
	if err == nil {
		err = c.change(http.MethodPost, "/users/"+id.String()+"/"+action, body, into)
	}
	return id, err
}

// details reads an account.
func (c *client) details(idOrEmail string) (d userDetails, err error) {
	id, err := c.user(idOrEmail)
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
		return d, errors.New("that is the id of a guest: stampede order list shows their orders")
	}
	return userDetails{*file.Account, file.Devices}, nil
}

func (c *userShow) Run(e *env) error {
	return e.read(c.readFlags, func(api *client) error {
		u, err := api.details(c.Who)
		return e.show(c.JSON, err, u, func() error {
			fmt.Fprintf(e.out, "user    %s\ne-mail  %s\nname    %s\nrole    %s\nstate   %s\nsince   %s\n\n", u.ID, u.Email, u.Name,
				u.Role, u.State, e.localTime(u.CreatedAt))
			return list(e, false, nil, u.Devices, listing[privacy.ExportedDevice]{
				none: "no logged-in devices", head: "device\tname\tsince\tlast seen",
				columns: func(d privacy.ExportedDevice) []any {
					return []any{d.ID, d.Name, e.localTime(d.CreatedAt), e.localTime(d.LastSeenAt)}
				},
			})
		})
	})
}

func (c *userRole) Run(e *env) error {
	return e.operate(c.operationFlags, func(api *client) error {
		var u server.UserSummary
		_, err := api.postUser(c.Who, "role", map[string]any{"role": c.Role}, &u)
		return e.result(c.JSON, err, u, "user %s is %s", u.ID, u.Role)
	})
}

func (c *userRevoke) Run(e *env) error {
	return e.operate(c.operationFlags, func(api *client) error {
		var done struct {
			Revoked int `json:"revoked"`
		}
		_, err := api.postUser(c.Who, "revoke", nil, &done)
		return e.result(c.JSON, err, done, "logged out on %d devices", done.Revoked)
	})
}

func (c *userDelete) Run(e *env) error {
	if !c.Yes {
		return fmt.Errorf("%w: this cannot be undone; add --yes to confirm", errUsage)
	}
	return e.operate(c.operationFlags, func(api *client) error {
		id, err := api.postUser(c.Who, "delete", nil, nil)
		return e.result(c.JSON, err, []shop.ID{id}, "deleted user %s", id)
	})
}
