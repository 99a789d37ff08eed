package load

import (
	"fmt"
	"net"
	"time"

	"stampede/app/wsclient"
)

// target is the server that is pressed on.
type target struct {
	address   *net.TCPAddr
	handshake []byte
	sources   int // how many addresses of 127.0.0.0/8 the crowd comes from; 0: whatever the kernel picks
}

// newTarget resolves host:port. Anything but loopback is refused unless the host is said to be one's own.
func newTarget(address string, sources int, own bool) (*target, error) {
	to, err := net.ResolveTCPAddr("tcp4", address)
	if err != nil {
		return nil, fmt.Errorf("address of the server: %w", err)
	}
	if to.IP == nil {
		to.IP = net.IPv4(127, 0, 0, 1)
	}
	if !to.IP.IsLoopback() {
		if !own {
			return nil, fmt.Errorf("%s is not this machine: say --i-own-this-host to press on it all the same", to.IP)
		}
		sources = 0
	}
	return &target{address: to, handshake: wsclient.Handshake(address), sources: sources}, nil
}

// source assigns the crowd addresses from 127.0.0.2 on, so that no address runs out of ports.
func (t *target) source(index int) [4]byte {
	if t.sources == 0 {
		return [4]byte{}
	}
	return [4]byte{127, 0, 0, byte(2 + index%t.sources)}
}

// stranger is an address that is not among those of the crowd, and that no stranger of another second has: the crowd's
// are in the lower half of 127.0.0.0/8, these in the upper one.
func (t *target) stranger(at time.Time, index int) [4]byte {
	if t.sources == 0 {
		return [4]byte{}
	}
	host := uint32(at.Unix())<<8 + uint32(index)
	return [4]byte{127, 128 | byte(host>>16), byte(host >> 8), byte(host)}
}
