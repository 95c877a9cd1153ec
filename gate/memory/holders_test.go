package memory

import (
	"fmt"
	"testing"

	"rushgate"
)

// Whatever order claims come and go in, nothing stays behind.
func TestPeopleLeaveNothingBehind(t *testing.T) {
	const n = 40
	seeds := newSeeds()
	for _, step := range []int{1, 7, 39} { // each visits all slots, in another order
		p := newPeople(0)
		for i := range n {
			for _, name := range []string{"u", "v"} {
				user := seeds.mark(name)
				slot := p.add(user, p.has(user), holding{id: id(name, i), quantity: 2})
				if slot != int32(i) {
					t.Fatalf("slot %d, want %d", slot, i)
				}
			}
		}
		for i := range n {
			for _, name := range []string{"v", "u"} {
				if _, ok := p.remove(seeds.mark(name), id(name, i*step%n)); !ok {
					t.Fatalf("claim %d of %s is gone", i*step%n, name)
				}
			}
			if has := p.has(seeds.mark("u")); has.claims != int32(n-1-i) || has.units != int64(2*(n-1-i)) {
				t.Fatalf("after %d returns: %+v", i+1, has)
			}
		}
		if left := fmt.Sprint(len(p.held), len(p.many), len(p.slots)); left != "0 0 0" {
			t.Errorf("step %d left %s", step, left)
		}
	}
}

func id(user string, n int) rushgate.ID { return rushgate.ID(1 + int(user[0])*1000 + n) }
