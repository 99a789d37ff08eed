package account

import (
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

// typed composes the letters of a password (NFC), because keyboards differ in that. It does not cut, fold or trim.
func typed(password string) string { return norm.NFC.String(password) }

// CheckPassword validates a new password.
func CheckPassword(password, email string) error {
	password = typed(password)
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
		return shop.Fail(shop.BadRequest, "the password must not be the e-mail")
	case mostUsed[folded], oneCharacter(password):
		return shop.Fail(shop.BadRequest, "the password is too common: choose another one")
	}
	return nil
}

func oneCharacter(s string) bool {
	first, _ := utf8.DecodeRuneInString(s)
	return !strings.ContainsFunc(s, func(r rune) bool { return r != first })
}

// mostUsed contains the most frequent stolen passwords with at least eight characters.
var mostUsed = func() map[string]bool {
	set := make(map[string]bool)
	for word := range strings.FieldsSeq(`
		12345678 123456789 1234567890 0123456789 987654321 87654321 0987654321 1234567891 12345678910 123123123 123321123
		1234512345 12341234 11223344 112233445566 11112222 147258369 159357123 741852963 789456123 789654123 135792468
		password password1 password12 password123 password1234 password! passw0rd p@ssw0rd p@ssword pa55word passwort
		qwertyui qwertyuiop qwerty12 qwerty123 qwerty1234 qwerty12345 qwertyuiop123 1q2w3e4r 1q2w3e4r5t 1qaz2wsx 1qazxsw2
		q1w2e3r4 q1w2e3r4t5 qazwsxedc asdfghjk asdfghjkl asdf1234 zxcvbnm1 zxcvbnm123 qweasdzxc abcd1234 abc12345
		abcdefgh abcdefg1 a1234567 a12345678 a123456789 aa123456 aa12345678 woaini123 woaini520 woaini1314 5201314520
		wang1234 1314520520 iloveyou iloveyou1 sunshine princess football baseball basketball superman starwars computer
		trustno1 whatever welcome1 welcome123 letmein1 letmein123 changeme changeme1 admin123 admin1234 administrator
		administrator1 root1234 test1234 testtest default1 master123 shadow123 dragon123 monkey123 michelle jennifer
		jonathan samantha maverick mercedes corvette internet liverpool chelsea1 arsenal1 charlie1 pokemon1 freedom1
		blink182 rockyou1 babygirl butterfly chocolate 1111111111 88888888 66666666 00000000 99999999 stampede stampede1
		correcthorsebatterystaple google123 facebook1 facebook123 secret123 mypassword mypassword1 nothing1 hello123 hello1234
	`) {
		set[word] = true
	}
	return set
}()
