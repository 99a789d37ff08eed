package server

import "testing"

// The preset strict is the figures of the field; each figure that is set itself wins over a preset.
func TestPresetsOfLimits(t *testing.T) {
	t.Parallel()
	load := func(lines ...string) Config {
		t.Helper()
		c, err := Load(lines)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	usual, strict := load(), load("STAMPEDE_LIMITS=strict")
	if usual.BuyRate != 100 || usual.BuyUserRate != 5 || usual.BuyAllRate != 100_000 {
		t.Errorf("default: %+v", usual.buyPaces())
	}
	if strict.BuyAllRate != 1000 || strict.BuyRate != 10 || strict.BuyUserRate != 1 || strict.BuyUserBurst != 1 {
		t.Errorf("strict: %+v", strict.buyPaces())
	}
	own := load("STAMPEDE_LIMITS=strict", "STAMPEDE_BUY_RATE=77", "STAMPEDE_BUY_USER_RATE=0")
	if own.BuyRate != 77 || own.BuyUserRate != 0 || own.BuyAllRate != 1000 {
		t.Errorf("strict with own figures: %+v", own.buyPaces())
	}
	figures := 0
	for _, v := range Variables() {
		if v.Strict != "" {
			figures++
			if v.Strict == v.Default {
				t.Errorf("%s is no stricter in the preset strict", v.Name)
			}
		}
	}
	if figures < 14 {
		t.Errorf("the preset strict sets %d figures", figures)
	}
}
