package account

import (
	"errors"
	"strings"
	"unicode"

	"golang.org/x/net/idna"

	"stampede/app/shop"
)

// Maximum lengths of an e-mail address and its parts, in bytes (RFC 5321).
const (
	maxEmail = 254
	maxLocal = 64
	maxLabel = 63
)

// ParseEmail validates an e-mail address and returns its stored form: lower case, domain in DNS form. It rejects
// ambiguous addresses and texts that could add e-mail headers. It rejects non-ASCII characters before the @, because
// some mail servers reject them.
func ParseEmail(s string) (string, error) {
	s = strings.TrimSpace(s)
	local, domain, found := strings.Cut(s, "@")
	if isASCII(local) && !isASCII(domain) && len(s) <= maxEmail {
		var err error
		if domain, err = dnsForm(domain); err != nil {
			return "", shop.Fail(shop.BadRequest, "the e-mail has a domain that cannot exist")
		}
		s = local + "@" + domain
	}
	switch {
	case s == "":
		return "", shop.Fail(shop.BadRequest, "the e-mail is missing")
	case len(s) > maxEmail:
		return "", shop.Fail(shop.BadRequest, "the e-mail is longer than 254 characters")
	case !isASCII(s):
		return "", shop.Fail(shop.BadRequest, "the e-mail has characters outside ASCII before the @, which are not supported")
	case !found || !isPlainLocal(local) || !isPlainDomain(domain):
		return "", shop.Fail(shop.BadRequest, "the e-mail is not valid: want name@example.com")
	}
	return strings.ToLower(s), nil
}

// dnsForm returns the DNS form (xn--…) of a domain in other scripts. The standard drops invisible characters; dnsForm
// rejects them, because the input is probably a mistake.
func dnsForm(domain string) (string, error) {
	if strings.ContainsFunc(domain, isInvisible) {
		return "", errInvisible
	}
	return idna.Lookup.ToASCII(domain)
}

var errInvisible = errors.New("characters that are neither letters nor digits")

func isInvisible(r rune) bool {
	return r >= 0x80 && !unicode.In(r, unicode.L, unicode.M, unicode.Nd) && !strings.ContainsRune("。．｡", r)
}

func isASCII(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r >= 0x80 })
}

// isPlainLocal accepts dot-separated words without characters that require quotes.
func isPlainLocal(s string) bool {
	if len(s) > maxLocal {
		return false
	}
	for word := range strings.SplitSeq(s, ".") {
		if word == "" || strings.Trim(word, lettersAndDigits+"!#$%&'*+-/=?^_`{|}~") != "" {
			return false
		}
	}
	return true
}

const lettersAndDigits = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"

// isPlainDomain accepts names with a dot that do not end in a number, and localhost. It rejects IP addresses.
func isPlainDomain(s string) bool {
	labels := strings.Split(s, ".")
	for _, label := range labels {
		if label == "" || len(label) > maxLabel || strings.Trim(label, lettersAndDigits+"-") != "" ||
			label[0] == '-' || label[len(label)-1] == '-' {
			return false
		}
	}
	last := labels[len(labels)-1]
	return strings.EqualFold(s, "localhost") || len(labels) > 1 && strings.Trim(last, "0123456789") != ""
}
