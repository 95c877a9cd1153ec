package server

import (
	"errors"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"rushgate"
)

// order is what the body of a claim says.
type order struct {
	user     string
	item     string
	quantity int64 // 0 when left out
	key      string
	wrong    error // in a batch: why this one is refused
}

// orderBody is an order as JSON. The pointer tells 0, which is wrong, from a
// quantity that was left out.
type orderBody struct {
	User     string  `json:"user"`
	Item     string  `json:"item"`
	Quantity *amount `json:"quantity"`
}

// amount is any number. That it is one is a matter of the document; whether it
// can be a quantity is a matter of the one claim that it stands in.
type amount string

// UnmarshalJSONFrom implements json.UnmarshalerFrom.
func (a *amount) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	if d.PeekKind() != '0' {
		return &rushgate.Error{Code: rushgate.Invalid, Message: "must be " + wholeNumber}
	}
	raw, err := d.ReadValue()
	*a = amount(raw)
	return err
}

func (b *orderBody) order() (order, error) {
	o := order{user: b.User, item: b.Item}
	if b.Quantity == nil {
		return o, nil
	}
	n, err := strconv.ParseInt(string(*b.Quantity), 10, 64)
	switch {
	case errors.Is(err, strconv.ErrSyntax):
		return order{}, invalid("quantity", "must be %s", wholeNumber)
	case err != nil || n < 1 || n > rushgate.MaxQuantity:
		return order{}, invalid("quantity", "must be 1 to %d", rushgate.MaxQuantity)
	}
	o.quantity = n
	return o, nil
}

// readOrder reads the body of one claim: the plain shape by hand, everything
// else by the strict decoder, which also says what is wrong.
func readOrder(body []byte) (order, error) {
	text := string(body) // the one copy: the order's strings are parts of it
	if o, ok := readPlainOrder(text); ok {
		return o, nil
	}
	var b orderBody
	if err := decodeStrictly(body, &b); err != nil {
		return order{}, err
	}
	return b.order()
}

// readPlainOrder reads {"user":"…","item":"…","quantity":N} with any of the
// fields, in any order, if the strings are printable ASCII without escapes and
// the number is 1 to 999999. For everything else it returns false: that does
// not mean that it is wrong.
func readPlainOrder(s string) (o order, ok bool) {
	p := plainReader{s: s}
	p.open()
	return o, p.order(&o) && p.end()
}

// plainReader walks through the text of plain JSON. Once something is not
// plain, at points past the end and nothing matches any more.
type plainReader struct {
	s    string
	at   int
	keys bool // orders may have an idempotency_key
}

func (p *plainReader) fail() bool { p.at = len(p.s) + 1; return false }

func (p *plainReader) space() {
	for p.at < len(p.s) {
		switch p.s[p.at] {
		case ' ', '\n', '\t', '\r':
			p.at++
		default:
			return
		}
	}
}

// open skips to where a value begins.
func (p *plainReader) open() { p.space() }

// eat takes one character, after white space.
func (p *plainReader) eat(c byte) bool {
	p.space()
	if p.at < len(p.s) && p.s[p.at] == c {
		p.at++
		return true
	}
	return false
}

// end says that nothing is left.
func (p *plainReader) end() bool {
	p.space()
	return p.at == len(p.s)
}

// text takes a string of plain characters.
func (p *plainReader) text() (string, bool) {
	if !p.eat('"') {
		return "", p.fail()
	}
	for i := p.at; i < len(p.s); i++ {
		switch c := p.s[i]; {
		case c == '"':
			text := p.s[p.at:i]
			p.at = i + 1
			return text, true
		case c < ' ' || c >= 0x7f || c == '\\':
			return "", p.fail()
		}
	}
	return "", p.fail()
}

// count takes a number from 1 to 999999.
func (p *plainReader) count() (int64, bool) {
	p.space()
	var n int64
	first := p.at
	for p.at < len(p.s) && p.s[p.at] >= '0' && p.s[p.at] <= '9' {
		n = n*10 + int64(p.s[p.at]-'0')
		if p.at++; p.at-first > 6 {
			return 0, p.fail()
		}
	}
	if p.at == first || p.s[first] == '0' {
		return 0, p.fail()
	}
	return n, true
}

// order takes an order's object.
func (p *plainReader) order(o *order) bool {
	if !p.eat('{') {
		return p.fail()
	}
	const user, item, quantity, key = 1, 2, 4, 8
	seen := 0
	for {
		name, ok := p.text()
		if !ok || !p.eat(':') {
			return p.fail()
		}
		field := 0
		switch name {
		case "user":
			field = user
			o.user, ok = p.text()
		case "item":
			field = item
			o.item, ok = p.text()
		case "quantity":
			field = quantity
			o.quantity, ok = p.count()
		case "idempotency_key":
			field = key
			o.key, ok = p.text()
			ok = ok && p.keys && o.key != "" // an empty one is a mistake
		}
		if field == 0 || !ok || seen&field != 0 {
			return p.fail()
		}
		seen |= field
		if p.eat('}') {
			return true
		}
		if !p.eat(',') {
			return p.fail()
		}
	}
}
