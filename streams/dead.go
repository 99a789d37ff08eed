package streams

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"stampede/app/shop"
)

// deadPage is the number of dead letters per read.
const deadPage = 500

// letterFields are the fields that dead_letter.lua adds to those of an entry.
var letterFields = []string{"reason", "stream", "deliveries", "at"}

// DeadLetters lists the dead letters of all partitions, oldest first. With the error PartitionsUnreachable, dead
// letters of the unreachable partitions are missing.
func (q Queue) DeadLetters(ctx context.Context) ([]shop.DeadLetter, error) {
	groups, err := readPartitions(ctx, q.connection, q.all(), readReplyWait, q.deadLettersOf)
	letters := slices.Concat(groups...)
	slices.SortStableFunc(letters, func(a, b shop.DeadLetter) int {
		return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(a.Partition, b.Partition))
	})
	return letters, wrapped(err, "read dead letters")
}

// deadLettersOf lists the dead letters of some partitions.
func (q Queue) deadLettersOf(ctx context.Context, partitions []int) (letters []shop.DeadLetter, err error) {
	for _, p := range partitions {
		err := eachPage(ctx, q.client, q.parts[p].keys.dead, deadPage, func(page []redis.XMessage) error {
			for _, m := range page {
				letters = append(letters, parseLetter(p, m))
			}
			return nil
		})
		if err != nil {
			return nil, fmt.Errorf("partition %d: %w", p, err)
		}
	}
	return letters, nil
}

// DeadLetter reads one dead letter. ErrNoRow: it does not exist.
func (q Queue) DeadLetter(ctx context.Context, id string) (shop.DeadLetter, error) {
	partition, entry, err := q.letterID(id)
	if err != nil {
		return shop.DeadLetter{}, err
	}
	found, err := q.client.XRange(ctx, q.parts[partition].keys.dead, entry, entry).Result()
	if err != nil {
		return shop.DeadLetter{}, fmt.Errorf("read dead letter %s: %w", id, transient(err))
	}
	if len(found) == 0 {
		return shop.DeadLetter{}, fmt.Errorf("dead letter %s: %w", id, shop.ErrNoRow)
	}
	return parseLetter(partition, found[0]), nil
}

// RemoveDeadLetter deletes a dead letter; false: the dead letter does not exist.
func (q Queue) RemoveDeadLetter(ctx context.Context, id string) (bool, error) {
	partition, entry, err := q.letterID(id)
	if err != nil {
		return false, nil // no dead letter can have this id
	}
	n, err := q.client.XDel(ctx, q.parts[partition].keys.dead, entry).Result()
	return n == 1, wrapped(transient(err), "remove dead letter %s", id)
}

// letterID parses an id such as "3-1767225600000-0". ErrNoRow: no dead letter can have this id.
func (q Queue) letterID(id string) (partition int, entry string, err error) {
	head, entry, ok := strings.Cut(id, "-")
	partition, err = strconv.Atoi(head)
	_, valid := entryID(entry)
	if err != nil || !ok || partition < 0 || partition >= len(q.parts) || !valid {
		return 0, "", fmt.Errorf("dead letter %.40q: %w", id, shop.ErrNoRow)
	}
	return partition, entry, nil
}

func parseLetter(partition int, m redis.XMessage) shop.DeadLetter {
	field := func(name string) string { return text(m.Values[name]) }
	entry := parseEntry(partition, m) // unreadable fields stay 0: the letter can be dropped, not replayed
	letter := shop.DeadLetter{
		ID: strconv.Itoa(partition) + "-" + m.ID, Partition: partition,
		Order: entry.Order, Sale: entry.Sale, User: entry.User,
		Reason: field("reason"), Deliveries: int(number(field("deliveries"))), At: shop.Millis(number(field("at"))),
		Fields: make(map[string]string, len(m.Values)+len(termNames)),
	}
	for name := range m.Values {
		if !slices.Contains(letterFields, name) {
			letter.Fields[name] = field(name)
		}
	}
	if terms, ok := splitTerms(field("terms")); ok {
		delete(letter.Fields, "terms")
		for i, name := range termNames {
			letter.Fields[name] = terms[i]
		}
	}
	return letter
}
