package gatetest

import (
	"fmt"
	"time"

	"rushgate"
)

// hintsFollow: the second node refuses by itself soon after the first has sold
// the last unit, and soon after a restock it does not.
func hintsFollow(d *duo) {
	for _, limit := range []int64{0, 1} {
		sale := fmt.Sprint("sale-", limit)
		d.open(sale, limit, 2)
		d.other.grant(d.other.ask(sale, "theirs", 1))
		stranger := d.other.keyed(sale, "stranger", 1, "stranger's")
		at := func(g rushgate.Shared, code rushgate.Code) func() bool {
			return func() bool { return g.Peek(time.Now(), &stranger) == code }
		}
		peeks := func(code rushgate.Code) func() bool { return at(d.there, code) }
		ours := d.grant(d.keyed(sale, "ours", 1, "k"))
		for range 3 {
			d.soon("the other node refuses what is sold out", peeks(rushgate.SoldOut))
			d.restock(sale, 1, true)
			d.soon("the other node goes on after a restock", peeks(rushgate.Granted))
			d.restock(sale, -1, true)
			d.soon("the other node refuses again", peeks(rushgate.SoldOut))
			d.giveBack(ours)
			d.soon("the other node goes on when a unit came back", peeks(rushgate.Granted))
			d.soon("so does the one that gave it back, also if the answer got lost", at(d.here, rushgate.Granted))
			ours = d.grant(d.keyed(sale, "ours", 1, fmt.Sprint("k", d.last)))
		}
	}
}

// hintsNeverHideAClaim: whoever has something is let through to hear of it, on
// whichever node he comes.
func hintsNeverHideAClaim(d *duo) {
	d.other.open("sale", 1, 50) // who loads a sale knows everybody, until others grant
	var asks []rushgate.Ask
	for i := range 50 {
		asks = append(asks, d.keyed("sale", fmt.Sprint("u", i), 1, fmt.Sprint("k", i)))
	}
	d.claim(asks...)
	stranger := d.ask("sale", "stranger", 1)
	d.soon("the other node refuses strangers", func() bool { return d.there.Peek(time.Now(), &stranger) == rushgate.SoldOut })
	for i, a := range asks {
		again := d.other.ask("sale", a.User, 1)
		byKey := d.other.keyed("sale", fmt.Sprint("somebody ", i), 1, a.Key)
		for _, g := range []rushgate.Shared{d.here, d.there} {
			if g.Peek(time.Now(), &again) != rushgate.Granted || g.Peek(time.Now(), &byKey) != rushgate.Granted {
				d.t.Fatalf("a claim of %s is hidden", a.User)
			}
		}
	}
}

func listenHears(d *duo) {
	heard := make(chan string, 1000)
	d.there.Listen(func(sale string) {
		select {
		case heard <- sale:
		default:
		}
	})
	sale := d.open("sale", 1, 9)
	d.other.grant(d.other.ask("sale", "u", 1))
	for name, change := range map[string]func(){
		"a put": func() { d.put(sale) }, "a restock": func() { d.restock("sale", 1, true) },
		"a load": func() { d.load(sale, nil, rushgate.Stock{Item: "a", Total: 9}) },
	} {
		for len(heard) > 0 {
			<-heard
		}
		change()
		select {
		case got := <-heard:
			if got != "sale" {
				d.t.Fatalf("heard of %q", got)
			}
		case <-time.After(patience):
			d.t.Fatalf("%s was not heard of", name)
		}
	}
}
