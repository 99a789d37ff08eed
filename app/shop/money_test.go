package shop

import (
	"math"
	"math/big"
	"strings"
	"testing"
)

func TestAmountsAreReadAndWrittenExactly(t *testing.T) {
	t.Parallel()
	for fen, text := range map[int64]string{
		0: "0.00", 1: "0.01", 10: "0.10", 99: "0.99", 100: "1.00", 1234: "12.34", 1_0000_0000_00: "100000000.00",
		9_999_999_999_999_999: "99999999999999.99", // above 2^53: float64 cannot represent it
	} {
		if got := FormatFen(fen); got != text {
			t.Errorf("FormatFen(%d) = %q, want %q", fen, got, text)
		}
		if got, err := ParseFen(text); err != nil || got != fen {
			t.Errorf("ParseFen(%q) = %d, %v, want %d", text, got, err, fen)
		}
	}
	for text, fen := range map[string]int64{"12": 1200, "12.3": 1230, "0": 0, "0.1": 10} {
		if got, err := ParseFen(text); err != nil || got != fen {
			t.Errorf("ParseFen(%q) = %d, %v, want %d", text, got, err, fen)
		}
	}
	for fen, text := range map[int64]string{-5: "-0.05", -1234: "-12.34", math.MinInt64: "-92233720368547758.08"} {
		if got := FormatFen(fen); got != text {
			t.Errorf("FormatFen(%d) = %q, want %q", fen, got, text)
		}
	}
}

func TestInvalidAmountsAreRejected(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"", ".", "1.", ".5", "-1", "+1", "1.234", "1,00", "1e2", " 1", "1 ", "0x1", "01", "00", "１", "1.2.3",
		"NaN", "100000000000000", "1.-1", "1.2\n",
	} {
		if fen, err := ParseFen(text); err == nil {
			t.Errorf("ParseFen(%q) = %d, want an error", text, fen)
		}
	}
}

// An accepted text has exactly the returned value, and the formatted value reads back as the same amount.
func FuzzParseFen(f *testing.F) {
	for _, text := range []string{"12.34", "12.3", "12", "0.01", "99999999999999.99", "1e2", "-1", "1.234"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		fen, err := ParseFen(text)
		if err != nil {
			return
		}
		value, ok := new(big.Rat).SetString(text)
		if !ok || value.Cmp(big.NewRat(fen, 100)) != 0 {
			t.Fatalf("ParseFen(%q) = %d, want the exact value", text, fen)
		}
		if again, err := ParseFen(FormatFen(fen)); err != nil || again != fen || !strings.HasPrefix(FormatFen(fen),
			text) {
			t.Fatalf("FormatFen of %q = %q, which ParseFen reads as %d (%v)", text, FormatFen(fen), again, err)
		}
	})
}

// FormatFen is exact for every int64.
func FuzzFormatFen(f *testing.F) {
	for _, fen := range []int64{0, 1, -1, 1234, math.MaxInt64, math.MinInt64} {
		f.Add(fen)
	}
	f.Fuzz(func(t *testing.T, fen int64) {
		value, ok := new(big.Rat).SetString(FormatFen(fen))
		if !ok || value.Cmp(big.NewRat(fen, 100)) != 0 {
			t.Fatalf("FormatFen(%d) = %q, want the exact value", fen, FormatFen(fen))
		}
	})
}
