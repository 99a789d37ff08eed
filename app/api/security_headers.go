package api

import (
	"strings"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"
)

// setSecurityHeaders sets the security headers of every response, including responses to unreadable requests. They
// allow only scripts and styles of this server, and forbid framing and MIME sniffing.
func setSecurityHeaders(ctx *fasthttp.RequestCtx) {
	h := &ctx.Response.Header
	h.Set(fiber.HeaderContentSecurityPolicy, policy(string(ctx.Request.Header.Host())))
	h.Set(fiber.HeaderXContentTypeOptions, "nosniff")
	h.Set(fiber.HeaderReferrerPolicy, "same-origin")
	h.Set(fiber.HeaderXFrameOptions, "DENY")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set(fiber.HeaderPermissionsPolicy, "camera=(), microphone=(), geolocation=()")
}

const basePolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' https: data:; " +
	"font-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; connect-src 'self'"

// policy returns the Content-Security-Policy. It contains the socket URL of this host, because not all browsers include
// it in 'self'.
func policy(host string) string {
	if host == "" || strings.Trim(host, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.:-[]") != "" {
		return basePolicy
	}
	return basePolicy + " ws://" + host + " wss://" + host
}
