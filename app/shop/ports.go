package shop

import (
	"errors"
)

var (
	// ErrArchived means that the order is in the archive, where no order holds units again.
	ErrArchived = errors.New("the order is in the archive")
)
