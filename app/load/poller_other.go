//go:build !linux

package load

import (
	"errors"
	"net"
	"time"
)

// poller needs epoll, which only Linux has.
type poller struct{ more bool }

var errNotLinux = errors.New("the load generator needs Linux")

func newPoller() (*poller, error)                      { return nil, errNotLinux }
func (*poller) add(int) error                          { return errNotLinux }
func (*poller) remove(int)                             {}
func (*poller) wait(time.Duration, func(fd int)) error { return errNotLinux }
func (*poller) close()                                 {}
func dialFrom([4]byte, *net.TCPAddr) (int, error)      { return -1, errNotLinux }
func readFrom(int, []byte) (int, error)                { return 0, errNotLinux }
func writeTo(int, []byte) error                        { return errNotLinux }
func closeSocket(int)                                  {}
