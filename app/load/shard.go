package load

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// maxShards is how many processes may press together.
const maxShards = 64

// Shard is one of several processes that press together as one crowd. No two of a run have a shopper in common: the
// user ids of shard i of n leave the rest i − 1 when divided by n. The zero value is a crowd of its own, 1/1.
type Shard struct {
	Number int // from 1 to Of
	Of     int
}

var errShard = fmt.Errorf("want i/n with n at most %d, such as 1/2 and 2/2 for two processes", maxShards)

// UnmarshalText reads i/n.
func (s *Shard) UnmarshalText(text []byte) error {
	number, of, _ := strings.Cut(string(text), "/")
	i, err := strconv.Atoi(number)
	n, nErr := strconv.Atoi(of)
	if errors.Join(err, nErr) != nil || n < 1 || n > maxShards || i < 1 || i > n {
		return errShard
	}
	*s = Shard{i, n}
	return nil
}

// MarshalText writes i/n.
func (s Shard) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

func (s Shard) String() string {
	s = s.whole()
	return fmt.Sprintf("%d/%d", s.Number, s.Of)
}

// whole is the shard itself, or 1/1 for the zero value.
func (s Shard) whole() Shard {
	if s.Of == 0 {
		return Shard{1, 1}
	}
	return s
}

// user is the id of a shopper by their number in this process; first is any id from which all of them lie.
func (s Shard) user(first int64, index int) int64 {
	s = s.whole()
	of := int64(s.Of)
	return first - first%of + int64(index)*of + int64(s.Number-1)
}
