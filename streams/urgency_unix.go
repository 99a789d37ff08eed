//go:build unix

package streams

import "syscall"

// readNow reads what has come; again: nothing yet, but something may. 0 and not again: the connection knows why.
func readNow(raw syscall.RawConn, into []byte) (n int, again bool) {
	_ = raw.Read(func(fd uintptr) bool {
		var err error
		n, err = syscall.Read(int(fd), into)
		again = err == syscall.EAGAIN || err == syscall.EINTR
		return true
	})
	return n, again
}
