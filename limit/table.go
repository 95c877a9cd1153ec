package limit

// table is a hash table: what is known of keys lies in a row without holes, and
// places says where, by open addressing with linear probing. (A Go map would hash
// every key once more, and its values cannot be changed in place.)
type table struct {
	slots  []slot
	places []int32 // 0: empty, otherwise one more than the slot
}

type slot struct {
	hash uint64
	key  string
	cell cell
}

// firstPlaces is how many places a table begins with: a power of two, as always.
const firstPlaces = 16

// find returns the slot of a key, or -1.
func (t *table) find(hash uint64, key string) int {
	if len(t.places) == 0 {
		return -1
	}
	mask := uint64(len(t.places) - 1)
	for at := hash & mask; t.places[at] != 0; at = (at + 1) & mask {
		i := int(t.places[at]) - 1
		if s := &t.slots[i]; s.hash == hash && s.key == key {
			return i
		}
	}
	return -1
}

// add adds a key that is not there.
func (t *table) add(hash uint64, key string, c cell) {
	if 4*(len(t.slots)+1) > 3*len(t.places) {
		t.grow()
	}
	t.slots = append(t.slots, slot{hash, key, c})
	t.place(hash, len(t.slots)-1)
}

// place writes down where the slot of a hash is.
func (t *table) place(hash uint64, slot int) {
	mask := uint64(len(t.places) - 1)
	at := hash & mask
	for t.places[at] != 0 {
		at = (at + 1) & mask
	}
	t.places[at] = int32(slot + 1)
}

func (t *table) grow() {
	t.places = make([]int32, max(firstPlaces, 2*len(t.places)))
	for i := range t.slots {
		t.place(t.slots[i].hash, i)
	}
}

// drop forgets a slot. The last one takes its place.
func (t *table) drop(i int) {
	t.empty(t.where(i))
	end := len(t.slots) - 1
	if i != end {
		t.places[t.where(end)] = int32(i + 1)
		t.slots[i] = t.slots[end]
	}
	t.slots[end] = slot{}
	t.slots = t.slots[:end]
}

// where returns the place of a slot.
func (t *table) where(i int) uint64 {
	mask := uint64(len(t.places) - 1)
	at := t.slots[i].hash & mask
	for t.places[at] != int32(i+1) {
		at = (at + 1) & mask
	}
	return at
}

// empty empties a place, and moves those behind it that would not be found any
// more (Knuth, The Art of Computer Programming 3, 6.4, algorithm R).
func (t *table) empty(hole uint64) {
	mask := uint64(len(t.places) - 1)
	for at := (hole + 1) & mask; t.places[at] != 0; at = (at + 1) & mask {
		home := t.slots[t.places[at]-1].hash & mask
		if (at-home)&mask >= (at-hole)&mask {
			t.places[hole] = t.places[at]
			hole = at
		}
	}
	t.places[hole] = 0
}
