package api

import (
	"strings"

	"github.com/gofiber/fiber/v2"
)

const (
	consolePath   = "console"
	consoleFile   = "console.html"
	consoleAssets = consolePath + "/assets/"
)

// inConsole reports whether the path is one of the operators' console. Which page of it is meant, it reads itself, so
// that a link leads to the very page; files of the build are no pages.
func inConsole(name string) bool {
	return name == consolePath || strings.HasPrefix(name, consolePath+"/") && !strings.HasPrefix(name, consoleAssets)
}

// console answers the console under a policy of its own; nil when it was not built.
func (p *page) console(c *fiber.Ctx) *file {
	f := p.files[consoleFile]
	if f != nil {
		c.Set(fiber.HeaderContentSecurityPolicy, consolePolicy(c.Get(fiber.HeaderHost)))
		c.Set("X-Robots-Tag", "noindex")
	}
	return f
}

// consolePolicy is the page's policy, and stricter: text becomes HTML nowhere but in the framework's own templates.
// Who works here may do anything to the shop, and sees what strangers wrote.
func consolePolicy(host string) string {
	return policy(host) + "; require-trusted-types-for 'script'; trusted-types vue"
}
