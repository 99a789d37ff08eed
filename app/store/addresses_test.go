package store_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"stampede/app/shop"
	"stampede/app/store"
	"stampede/app/test/kit"
)

func savedAddress(text string, isDefault bool) shop.SavedAddress {
	return shop.SavedAddress{ID: nextID(), Address: shop.Address{Name: "王小明", Phone: "138", Text: text}, Default: isDefault}
}

// addressTexts reads a user's addresses as texts, the default in brackets. If there are addresses, it checks that
// exactly one is the default.
func addressTexts(t *testing.T, s *store.Store, user shop.ID) (texts []string) {
	t.Helper()
	all, err := s.Addresses().AddressesOf(kit.Context(t), user)
	must(t, err)
	defaults := 0
	for _, a := range all {
		if a.Default {
			defaults++
			a.Text = "[" + a.Text + "]"
		}
		texts = append(texts, a.Text)
	}
	if defaults != min(1, len(all)) {
		t.Fatalf("got %d defaults among %v, want one", defaults, texts)
	}
	return texts
}

// A non-empty address book always has one default, after each addition, change and removal. Adding an address again
// returns the existing entry.
func TestAddressBookAlwaysHasOneDefault(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store.Store) {
		ctx, user := kit.Context(t), nextID()
		must := func(a shop.SavedAddress, err error) shop.SavedAddress {
			t.Helper()
			must(t, err)
			return a
		}
		want := func(texts ...string) {
			t.Helper()
			if diff := cmp.Diff(texts, addressTexts(t, s, user)); diff != "" {
				t.Fatal(diff)
			}
		}
		want()
		one := must(s.Addresses().AddAddress(ctx, user, savedAddress("one", false), 3))
		if !one.Default || one.Name != "王小明" {
			t.Errorf("first address: got %+v, want the default of 王小明", one)
		}
		two := must(s.Addresses().AddAddress(ctx, user, savedAddress("two", false), 3))
		want("[one]", "two")
		three := must(s.Addresses().AddAddress(ctx, user, savedAddress("three", true), 3))
		want("[three]", "two", "one")
		wantErr(t, "a fourth address with a limit of three", errOf(s.Addresses().AddAddress(ctx, user, savedAddress("four", false), 3)), shop.ErrNoRow)
		again := must(s.Addresses().AddAddress(ctx, user, savedAddress("two", true), 3))
		if again.ID != two.ID || !again.Default {
			t.Errorf("second address added again: got %+v, want the same id as the default", again)
		}
		want("[two]", "three", "one")
		one.Text, one.Default = "uno", false
		must(s.Addresses().ChangeAddress(ctx, user, one))
		two.Text, two.Default = "dos", false
		if changed := must(s.Addresses().ChangeAddress(ctx, user, two)); !changed.Default {
			t.Errorf("got %+v after a change of the default address, want the default", changed)
		}
		want("[dos]", "three", "uno")
		one.Default = true
		must(s.Addresses().ChangeAddress(ctx, user, one))
		want("[uno]", "three", "dos")
		for _, unknown := range []struct{ user, id shop.ID }{{nextID(), one.ID}, {user, nextID()}} {
			a := one
			a.ID = unknown.id
			_, err := s.Addresses().ChangeAddress(ctx, unknown.user, a)
			wantErr(t, fmt.Sprintf("change %v", unknown), err, shop.ErrNoRow)
			err = s.Addresses().RemoveAddress(ctx, unknown.user, unknown.id)
			wantErr(t, fmt.Sprintf("remove %v", unknown), err, shop.ErrNoRow)
		}
		must(shop.SavedAddress{}, s.Addresses().RemoveAddress(ctx, user, one.ID))
		want("[three]", "dos")
		must(shop.SavedAddress{}, s.Addresses().RemoveAddress(ctx, user, two.ID))
		must(shop.SavedAddress{}, s.Addresses().RemoveAddress(ctx, user, three.ID))
		want()
	})
}

// Concurrent changes by several devices of one user keep one default and the limit of entries.
func TestConcurrentAddressChangesKeepOneDefault(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store.Store) {
		ctx := kit.Context(t)
		for range 2 {
			user := nextID()
			var devices sync.WaitGroup
			for device := range 6 {
				devices.Go(func() {
					for i := range 3 {
						named := savedAddress(fmt.Sprintf("%d.%d", device, i), i == 1)
						a, err := s.Addresses().AddAddress(ctx, user, named, 10)
						if err != nil && !errors.Is(err, shop.ErrNoRow) {
							t.Error(err)
						}
						if err != nil || i != device%3 {
							continue
						}
						if err := s.Addresses().RemoveAddress(ctx, user, a.ID); err != nil {
							t.Error(err)
						}
					}
				})
			}
			devices.Wait()
			if n := len(addressTexts(t, s, user)); n > 10 || n < 6 {
				t.Errorf("got %d entries, want 6 to 10", n)
			}
		}
	})
}
