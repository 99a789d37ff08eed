package shop

import (
	"errors"
)

// unlessNoRow is nil for what just does not exist.
func UnlessNoRow(err error) error {
	if errors.Is(err, ErrNoRow) {
		return nil
	}
	return err
}
