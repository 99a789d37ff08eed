package load

import (
	"fmt"
	"net"
	"os"
	"syscall"
	"time"
)

// poller waits for many sockets with epoll.
type poller struct {
	fd     int
	events []syscall.EpollEvent
	more   bool // the last wait filled the list events, so more sockets may be ready
}

func newPoller() (*poller, error) {
	fd, err := syscall.EpollCreate1(syscall.EPOLL_CLOEXEC)
	if err != nil {
		return nil, os.NewSyscallError("epoll_create1", err)
	}
	return &poller{fd: fd, events: make([]syscall.EpollEvent, 512)}, nil
}

func (p *poller) add(fd int) error {
	event := syscall.EpollEvent{Events: syscall.EPOLLIN, Fd: int32(fd)}
	return os.NewSyscallError("epoll_ctl", syscall.EpollCtl(p.fd, syscall.EPOLL_CTL_ADD, fd, &event))
}

func (p *poller) remove(fd int) {
	_ = syscall.EpollCtl(p.fd, syscall.EPOLL_CTL_DEL, fd, nil) // the kernel has already removed a closed socket
}

// wait calls ready for each readable socket. It waits at most d, rounded up to a millisecond.
func (p *poller) wait(d time.Duration, ready func(fd int)) error {
	n, err := syscall.EpollWait(p.fd, p.events, int((d+time.Millisecond-1)/time.Millisecond))
	if err != nil && err != syscall.EINTR {
		return os.NewSyscallError("epoll_wait", err)
	}
	p.more = n == len(p.events)
	for i := range max(n, 0) {
		ready(int(p.events[i].Fd))
	}
	return nil
}

func (p *poller) close() { _ = syscall.Close(p.fd) }

// dialFrom connects from a local address and returns a non-blocking socket.
func dialFrom(source [4]byte, target *net.TCPAddr) (int, error) {
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1, os.NewSyscallError("socket", err)
	}
	err = os.NewSyscallError("setsockopt", syscall.SetsockoptInt(fd, syscall.IPPROTO_TCP, syscall.TCP_NODELAY, 1))
	if err == nil && source != [4]byte{} {
		err = os.NewSyscallError("bind", syscall.Bind(fd, &syscall.SockaddrInet4{Addr: source}))
	}
	if err == nil {
		to := &syscall.SockaddrInet4{Port: target.Port}
		copy(to.Addr[:], target.IP.To4())
		err = os.NewSyscallError("connect", syscall.Connect(fd, to))
	}
	if err == nil {
		err = os.NewSyscallError("fcntl", syscall.SetNonblock(fd, true))
	}
	if err != nil {
		_ = syscall.Close(fd)
		return -1, fmt.Errorf("dial %s: %w", target, err)
	}
	return fd, nil
}

// readFrom reads the available data. It returns 0 when there is no data yet, and an error when the connection has
// ended.
func readFrom(fd int, into []byte) (int, error) {
	n, err := syscall.Read(fd, into)
	switch {
	case err == syscall.EAGAIN || err == syscall.EINTR:
		return 0, nil
	case err != nil:
		return 0, os.NewSyscallError("read", err)
	case n == 0:
		return 0, errPeerClosed
	}
	return n, nil
}

// writeTo writes the whole frame or fails: frames are small, and a full send buffer means that the server is too slow.
func writeTo(fd int, frame []byte) error {
	n, err := syscall.Write(fd, frame)
	if err != nil {
		return os.NewSyscallError("write", err)
	}
	if n < len(frame) {
		return errSendBufferFull
	}
	return nil
}

func closeSocket(fd int) { _ = syscall.Close(fd) }
