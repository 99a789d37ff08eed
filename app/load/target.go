package load

import (
	"fmt"
	"net"
	"time"

	"stampede/app/wsclient"
)

// target is the server under load.
type target struct {
	address   *net.TCPAddr
	handshake []byte
	sources   int // number of source addresses in 127.0.0.0/8; 0: the kernel chooses
}

// newTarget resolves host:port. It accepts only loopback addresses, unless own is set.
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
			return nil, fmt.Errorf("%s is not this machine: add --i-own-this-host to load it anyway", to.IP)
		}
		sources = 0
	}
	return &target{address: to, handshake: wsclient.Handshake(address), sources: sources}, nil
}

// source returns the source address of a shopper, from 127.0.0.2 on. One address would not have enough ports for the
// whole crowd.
func (t *target) source(index int) [4]byte {
	if t.sources == 0 {
		return [4]byte{}
	}
	return [4]byte{127, 0, 0, byte(2 + index%t.sources)}
}

// floodSource returns a source address of a flood. The crowd uses the lower half of 127.0.0.0/8, and floods use the
// upper half.
// Floods of different seconds do not share addresses.
func (t *target) floodSource(at time.Time, index int) [4]byte {
	if t.sources == 0 {
		return [4]byte{}
	}
	host := uint32(at.Unix())<<8 + uint32(index)
	return [4]byte{127, 128 | byte(host>>16), byte(host >> 8), byte(host)}
}
