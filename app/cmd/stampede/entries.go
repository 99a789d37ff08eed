package main

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"

	"stampede/app/shop"
)

// maxEntries requests the largest page.
var maxEntries = url.Values{"limit": {strconv.Itoa(maxPage)}}

// noteMore prints a note if the list is incomplete.
func (e *env) noteMore(incomplete bool) {
	if incomplete {
		fmt.Fprintf(e.err, "only the oldest %d are listed\n", maxPage)
	}
}

// entryKind is a kind of quarantined messages that can be sent again.
type entryKind struct {
	collection
	action, result string // action is the end of the URL of the operation, result is the printed text
}

// resend sends the entries with the given ids again; without ids, all entries. Text is printed after each entry, JSON
// at the end. Without ids, an entry that cannot be sent does not stop the others.
func (e *env) resend(o operationFlags, kind entryKind, ids []string) error {
	return e.operate(o, func(c *client) error {
		sent := []string{}
		send := func(id string) error {
			err := c.change(http.MethodPost, kind.path+"/"+url.PathEscape(id)+"/"+kind.action, nil, nil)
			if err == nil {
				sent = append(sent, id)
				if !o.JSON {
					fmt.Fprintln(e.out, id, kind.result)
				}
			}
			return err
		}
		var err error
		if len(ids) == 0 {
			err = c.eachEntry(kind, send)
		}
		for _, id := range ids {
			if err = send(id); err != nil {
				return err
			}
		}
		if o.JSON && err == nil {
			err = e.json(sent)
		}
		return err
	})
}

// eachEntry calls the function `handle` for every entry, until a page contains no new entry.
func (c *client) eachEntry(kind entryKind, handle func(id string) error) error {
	var failed []error
	handled := make(map[string]bool)
	for {
		found, err := pages[struct {
			ID string `json:"id"`
		}](c, kind.collection, url.Values{}, maxPage, nil)
		if err != nil {
			return err
		}
		newEntries := 0
		for _, entry := range found {
			if handled[entry.ID] {
				continue
			}
			newEntries++
			handled[entry.ID] = true
			switch err := handle(entry.ID); {
			case err == nil, errors.Is(err, &shop.Error{Code: shop.NotFound}): // sent or dropped by another caller
			case errors.Is(err, &shop.Error{Code: shop.WrongState}): // the entry can only be dropped
				failed = append(failed, err)
			default:
				return err
			}
		}
		if newEntries == 0 {
			return errors.Join(failed...)
		}
	}
}

// dropEntry deletes an entry and prints its id.
func (e *env) dropEntry(o operationFlags, path, id string) error {
	return e.operate(o, func(c *client) error {
		err := c.change(http.MethodPost, path+url.PathEscape(id)+"/drop", nil, nil)
		return e.result(o.JSON, err, []string{id}, "dropped %s", id)
	})
}
