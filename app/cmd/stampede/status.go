package main

import (
	"encoding/json"
	"errors"
	"fmt"

	"stampede/app/board"
	"stampede/app/shop"
)

type status struct {
	Watch bool `help:"Refresh every second, until Ctrl-C."`
	readFlags
}

func (status) Help() string {
	return "Shows the live board of the console: buys per second and their results, the time from buy to order, open " +
		"and next sales, the lag of each partition, the nodes, and alarms with their remedies. While Redis is " +
		"unavailable, it shows only the data of the node that responds. The exit code is 3 while there is an " +
		"alarm, and 1 if no node responds. With --watch, --json prints one object per line.\n\n" +
		"Examples:\n\n    stampede status --watch\n" +
		"    stampede status --json"
}

// errAlarms sets exit status 3 for a status with alarms; they were already printed.
var errAlarms = errors.New("there are alarms")

// clearScreen moves the cursor to the upper left corner and clears the terminal.
const clearScreen = "\x1b[H\x1b[2J"

// Run shows the board once, or repeatedly until it is interrupted.
func (s *status) Run(e *env) error {
	return e.read(s.readFlags, func(c *client) error {
		for {
			var b board.Board
			err := c.get("/board", nil, &b)
			switch {
			case e.ctx.Err() != nil:
				return nil
			case err != nil && !s.Watch:
				return err
			}
			if err := s.show(e, &b, err); err != nil {
				return err
			}
			if !s.Watch {
				if len(b.Alarms) > 0 {
					return errAlarms
				}
				return nil
			}
			if !shop.Sleep(e.ctx, board.UpdateInterval) {
				return nil
			}
		}
	})
}

// show prints the board, or the error if the board is not available.
func (s *status) show(e *env, b *board.Board, failed error) error {
	switch {
	case s.JSON && failed != nil:
		fmt.Fprintln(e.err, failed)
		return nil
	case s.JSON && s.Watch:
		return json.NewEncoder(e.out).Encode(b)
	case s.JSON:
		return e.json(b)
	}
	text := boardText(b, e.timeZone())
	if failed != nil {
		text = "stampede: " + failed.Error() + "\n"
	}
	if s.Watch {
		text = clearScreen + text
	}
	_, err := fmt.Fprint(e.out, text)
	return err
}
