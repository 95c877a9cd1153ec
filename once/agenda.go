package once

import "container/heap"

// agenda are the records that expire, so that the next one is found at once: a heap.
type agenda []*record

func (a agenda) Len() int           { return len(a) }
func (a agenda) Less(i, j int) bool { return a[i].expires.Before(a[j].expires) }
func (a agenda) Swap(i, j int) {
	a[i], a[j] = a[j], a[i]
	a[i].place, a[j].place = i, j
}

// Push implements heap.Interface.
func (a *agenda) Push(x any) {
	r := x.(*record)
	r.place = len(*a)
	*a = append(*a, r)
}

// Pop implements heap.Interface.
func (a *agenda) Pop() any {
	end := len(*a) - 1
	r := (*a)[end]
	(*a)[end] = nil
	*a = (*a)[:end]
	return r
}

func (a *agenda) add(r *record)    { heap.Push(a, r) }
func (a *agenda) moved(r *record)  { heap.Fix(a, r.place) }
func (a *agenda) remove(r *record) { heap.Remove(a, r.place) }

// next returns the record that expires first, or nil.
func (a agenda) next() *record {
	if len(a) == 0 {
		return nil
	}
	return a[0]
}
