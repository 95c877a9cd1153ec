package load

import (
	"testing"

	"pgregory.net/rapid"
)

func TestNamesNeverComeTwice(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		u := newUsers(rapid.SampledFrom([]Names{Sequential, Random}).Draw(t, "kind"), rapid.Uint64().Draw(t, "seed"))
		u.next.Store(uint64(rapid.Uint32().Draw(t, "from")) / 2)
		seen := map[string]bool{}
		var name [nameBytes]byte
		for range 1000 {
			u.write(name[:], u.take(1))
			if seen[string(name[:])] {
				t.Fatalf("%s came twice", name)
			}
			seen[string(name[:])] = true
		}
	})
}

func TestSequentialNamesAreInOrder(t *testing.T) {
	u := newUsers(Sequential, 9)
	var last, name [nameBytes]byte
	for range 1000 {
		u.write(name[:], u.take(1))
		if string(name[:]) <= string(last[:]) {
			t.Fatalf("%s after %s", name, last)
		}
		last = name
	}
}
