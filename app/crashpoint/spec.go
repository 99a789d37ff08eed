//go:build crashpoints

package crashpoint

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// parse reads NAME or NAME#n, n ≥ 1.
func parse(spec string) (name string, pass int64, err error) {
	name, times, counted := strings.Cut(spec, "#")
	pass = 1
	if counted {
		if pass, err = strconv.ParseInt(times, 10, 64); err != nil || pass < 1 {
			return "", 0, fmt.Errorf("pass %q of crash point %s: want a number from 1 on", times, name)
		}
	}
	if known := slices.Concat(Names, MoneyNames); !slices.Contains(known, name) {
		return "", 0, fmt.Errorf("no crash point %q; there are: %s", name, strings.Join(known, ", "))
	}
	return name, pass, nil
}
