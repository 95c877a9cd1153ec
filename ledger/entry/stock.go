package entry

// Units is what a step does to the stock row of one item.
type Units struct {
	Item             string
	Taken, Confirmed int64
}

// Tally adds up the units of a batch by item, so that the lines of one batch
// take from each other. Sales have few items: a list is faster than a map.
func Tally(list []Units, item string, taken, confirmed int64) []Units {
	for i := range list {
		if list[i].Item == item {
			list[i].Taken += taken
			list[i].Confirmed += confirmed
			return list
		}
	}
	return append(list, Units{item, taken, confirmed})
}
