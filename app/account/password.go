package account

import (
	_ "embed"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"stampede/app/shop"
)

// Limits of a password, in characters.
const (
	minPassword = 8
	maxPassword = 128
)

// normalized composes the letters of a password (NFC), because some keyboards send composed letters and others
// decomposed letters. It does not truncate, fold case or trim.
func normalized(password string) string { return norm.NFC.String(password) }

// CheckPassword validates a new password.
func CheckPassword(password, email string) error {
	password = normalized(password)
	n := utf8.RuneCountInString(password)
	folded := strings.ToLower(password)
	local, _, _ := strings.Cut(email, "@")
	switch {
	case !utf8.ValidString(password):
		return shop.Fail(shop.BadRequest, "the password has invalid characters")
	case n < minPassword:
		return shop.Fail(shop.BadRequest, "the password is too short: want at least 8 characters")
	case n > maxPassword:
		return shop.Fail(shop.BadRequest, "the password is too long: want at most 128 characters")
	case folded == email, folded == local:
		return shop.Fail(shop.BadRequest, "the password must not be the e-mail address")
	case commonPasswordSet[folded], repeatsOneCharacter(password):
		return shop.Fail(shop.BadRequest, "the password is too common: choose another one")
	}
	return nil
}

func repeatsOneCharacter(s string) bool {
	first, _ := utf8.DecodeRuneInString(s)
	return !strings.ContainsFunc(s, func(r rune) bool { return r != first })
}

// commonPasswords lists the most common passwords of data leaks with at least eight characters.
//
//go:embed common_passwords.txt
var commonPasswords string

var commonPasswordSet = func() map[string]bool {
	set := make(map[string]bool)
	for word := range strings.FieldsSeq(commonPasswords) {
		set[word] = true
	}
	return set
}()
