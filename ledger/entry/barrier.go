package entry

import (
	"fmt"

	"rushgate"
)

// NoSale is a step on a sale that is not there.
func NoSale(sale string) error {
	return &rushgate.BarrierError{Barrier: rushgate.BarrierExists, Sale: sale, Detail: "there is no such sale"}
}

// NoItem is a step on an item that is not there.
func NoItem(sale, item string) error {
	return &rushgate.BarrierError{Barrier: rushgate.BarrierExists, Sale: sale,
		Detail: fmt.Sprintf("it has no item %q", item)}
}

// OtherEpoch is a batch that was fenced off.
func OtherEpoch(sale string, had, has int64) error {
	return &rushgate.BarrierError{Barrier: rushgate.BarrierEpoch, Sale: sale,
		Detail: fmt.Sprintf("the change has epoch %d, the sale %d", had, has)}
}
