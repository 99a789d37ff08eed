package server

import (
	"errors"
	"fmt"
	"net"
	"syscall"
)

// listen takes the address at once, so that a taken port is found before anything else is begun.
func listen(address, variable string) (net.Listener, error) {
	flag := "" // of the demo, for the variable
	if variable == "LISTEN" {
		flag = " (demo: --listen)"
	}
	l, err := net.Listen("tcp", address)
	switch {
	case err == nil:
		return l, nil
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, fmt.Errorf("the address %s is in use: stop whoever has it, or choose another with %s%s%s", address,
			prefix, variable, flag)
	case errors.Is(err, syscall.EACCES):
		return nil, fmt.Errorf("this user may not listen on %s: choose a port above 1023 with %s%s", address, prefix, variable)
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return nil, fmt.Errorf("this machine has no address %s: choose another with %s%s", address, prefix, variable)
	}
	return nil, fmt.Errorf("listen on %s (%s%s): %w", address, prefix, variable, err)
}
