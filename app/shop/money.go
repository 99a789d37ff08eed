package shop

import (
	"fmt"
	"strconv"
	"strings"
)

// Money is integer fen everywhere. Yuan exist only as text, for the payment gateway and in documents. FormatFen and
// ParseFen convert between the two without floating-point numbers.

// maxYuanDigits is the maximum number of digits before the point. Longer amounts are invalid as prices; 14 digits fit
// into int64 fen.
const maxYuanDigits = 14

// FormatFen writes fen as yuan with two decimals: 1234 is "12.34", -5 is "-0.05".
func FormatFen(fen int64) string {
	sign, amount := "", uint64(fen)
	if fen < 0 {
		sign, amount = "-", -amount
	}
	return fmt.Sprintf("%s%d.%02d", sign, amount/100, amount%100)
}

// ParseFen reads yuan as fen: "12.34", "12.3" and "12" are 1234, 1230 and 1200. It rejects signs, a leading zero
// ("012"), a point without digits on one side, more than two decimals, more than 14 digits before the point, and all
// other characters.
func ParseFen(text string) (int64, error) {
	yuan, decimals, hasPoint := strings.Cut(text, ".")
	if !hasPoint {
		decimals = "00"
	}
	if len(decimals) == 1 {
		decimals += "0"
	}
	leadingZero := len(yuan) > 1 && yuan[0] == '0'
	if len(yuan) == 0 || len(yuan) > maxYuanDigits || len(decimals) != 2 || leadingZero || !Digits(yuan) ||
		!Digits(decimals) {
		return 0, fmt.Errorf("amount %q: want yuan with at most two decimals", Clip(text, 24))
	}
	return strconv.ParseInt(yuan+decimals, 10, 64)
}

// Digits reports whether s has only decimal digits. It is true for "".
func Digits(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return true
}
