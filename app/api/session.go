package api

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"

	"stampede/app/account"
	"stampede/app/shop"
)

// Browsers store the refresh token in a cookie. Scripts cannot read the cookie, and browsers send it only to the routes
// under refreshPath. Pages of this shop identify themselves by a header that no form can send (shopPageHeader). Apps
// store the token themselves and log in with client "app".
const (
	refreshCookie = "stampede_refresh"
	refreshPath   = "/api/v1/auth"
	// cookieLife must be at least the lifetime of the token in the cookie.
	cookieLife     = 30 * 24 * time.Hour
	shopPageHeader = "X-Stampede"
	appClient      = "app"
)

type (
	refreshBody struct {
		Refresh string `json:"refresh"`
	}
	logOutBody struct {
		Refresh    string `json:"refresh"`
		Everywhere bool   `json:"everywhere"`
	}
)

// refresh returns new tokens. The new refresh token is sent in the same way as the current token: in the body or in the
// cookie.
func (h *accountHandlers) refresh(c *fiber.Ctx) error {
	var b refreshBody
	if err := decodeOptional(c, &b); err != nil {
		return err
	}
	token, inBody := b.Refresh, b.Refresh != ""
	if !inBody {
		var err error
		if token, err = cookieOf(c); err != nil {
			return err
		}
		if token == "" {
			return shop.Fail(shop.Unauthorized, "you are not logged in")
		}
	}
	client := browserName(c.Get(fiber.HeaderUserAgent))
	if inBody {
		client += appClient
	}
	return respond(c, func(ctx context.Context) (account.Session, error) {
		session, err := h.Accounts.Refresh(ctx, token, client)
		if !inBody && errors.Is(err, &shop.Error{Code: shop.Unauthorized}) {
			h.setRefresh(c, "")
		}
		return h.placeRefreshToken(c, session, inBody), err
	})
}

// logOut ends the session of one token, and removes the cookie unless the body has a token. The token is taken from the
// body, otherwise from the Authorization header, otherwise from the cookie.
func (h *accountHandlers) logOut(c *fiber.Ctx) error {
	var b logOutBody
	if err := decodeOptional(c, &b); err != nil {
		return err
	}
	o := account.LogOut{Refresh: b.Refresh, Everywhere: b.Everywhere}
	var err error
	switch {
	case o.Refresh != "":
	case bearer(c) != "":
		if o.Caller, err = h.identity(c); err != nil {
			return err
		}
	default:
		if o.Refresh, err = cookieOf(c); err != nil {
			return err
		}
		if o.Refresh == "" {
			return shop.Fail(shop.Unauthorized, "you are not logged in")
		}
	}
	return respond(c, func(ctx context.Context) (emptyResult, error) {
		err := h.Accounts.LogOut(ctx, o)
		if code := shop.AsError(err).Code; b.Refresh == "" && (err == nil || code == shop.Unauthorized) {
			h.setRefresh(c, "")
		}
		return emptyResult{}, err
	})
}

// decodeOptional is decode for an optional body.
func decodeOptional(c *fiber.Ctx, target any) error {
	if len(raw(c)) == 0 {
		return nil
	}
	return decode(raw(c), target)
}

// cookieOf returns the refresh token in the cookie, if a page of this shop sent the request.
func cookieOf(c *fiber.Ctx) (string, error) {
	token := c.Cookies(refreshCookie)
	if token != "" && c.Get(shopPageHeader) != "1" {
		return "", shop.Fail(shop.Forbidden, "the header "+shopPageHeader+": 1 is missing")
	}
	return token, nil
}

// placeRefreshToken leaves the refresh token in the response to an app, and moves a browser's token into the cookie.
func (h *accountHandlers) placeRefreshToken(c *fiber.Ctx, s account.Session, isApp bool) account.Session {
	if isApp || s.Refresh == "" {
		return s
	}
	h.setRefresh(c, s.Refresh)
	s.Refresh = ""
	return s
}

// setRefresh sets the cookie; "" removes it. The cookie is Secure if the public URL uses https, even if a proxy does
// not send X-Forwarded-Proto.
func (f *front) setRefresh(c *fiber.Ctx, token string) {
	cookie := fiber.Cookie{
		Name: refreshCookie, Value: token, Path: refreshPath, MaxAge: int(cookieLife.Seconds()),
		HTTPOnly: true, SameSite: fiber.CookieSameSiteStrictMode, Secure: c.Secure() || f.Public.Scheme == "https",
	}
	if token == "" {
		cookie.MaxAge, cookie.Expires = 0, fasthttp.CookieExpireDelete
	}
	c.Cookie(&cookie)
}

// browserName returns a short description of a browser, by which users recognise a device.
func browserName(agent string) string {
	name := firstIn(agent, [][2]string{
		{"MicroMessenger", "WeChat"},
		{"Edg", "Edge"},
		{"OPR", "Opera"},
		{"Firefox", "Firefox"},
		{"FxiOS", "Firefox"},
		{"Chrome", "Chrome"},
		{"CriOS", "Chrome"},
		{"Safari", "Safari"},
		{"curl", "curl"},
	})
	system := firstIn(agent, [][2]string{
		{"Android", "Android"},
		{"iPhone", "iPhone"},
		{"iPad", "iPad"},
		{"Windows", "Windows"},
		{"Mac OS", "Mac"},
		{"Linux", "Linux"},
	})
	if name == "" || system == "" {
		return name + system
	}
	return name + ", " + system
}

// firstIn returns the name for the first mark that the text contains. An element of marks is a mark and its name.
func firstIn(text string, marks [][2]string) string {
	for _, m := range marks {
		if strings.Contains(text, m[0]) {
			return m[1]
		}
	}
	return ""
}
