package shop

import (
	"errors"
	"fmt"
)

// unsettled keeps errors for people and turns every other one into "busy": the outcome is unknown. nil stays nil.
func Unsettled(doing string, err error) error {
	var known *Error
	if err == nil || errors.As(err, &known) {
		return err
	}
	return fmt.Errorf("%s: %w", doing, errors.Join(err, FailBusy("the outcome is unknown; try again", BusyRetry)))
}
