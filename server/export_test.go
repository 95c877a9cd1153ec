package server

import (
	"fmt"
	"strings"
)

// What only tests need to see.

// RouteNames returns "METHOD /pattern" of every route.
func RouteNames() []string {
	var names []string
	for _, rt := range routes() {
		names = append(names, rt.method+" "+strings.TrimSuffix(rt.pattern, "{$}"))
	}
	return names
}

// ReadPlain reads an order by hand, and ReadStrictly with the strict decoder.
func ReadPlain(body string) (user, item string, quantity int64, ok bool) {
	o, ok := readPlainOrder(body)
	return o.user, o.item, o.quantity, ok
}

// ReadStrictly reads an order with the strict decoder.
func ReadStrictly(body string) (user, item string, quantity int64, err error) {
	var b orderBody
	if err := decodeStrictly([]byte(body), &b); err != nil {
		return "", "", 0, err
	}
	o, err := b.order()
	return o.user, o.item, o.quantity, err
}

// ReadPlainBatch reads a batch by hand, and shows it.
func ReadPlainBatch(body string) (text string, ok bool) {
	orders, ok := readPlainBatch(body)
	return fmt.Sprint(orders), ok
}

// ReadStrictBatch reads a batch with the strict decoder, and shows it.
func ReadStrictBatch(body string) (text string, err error) {
	orders, err := readStrictBatch([]byte(body))
	return fmt.Sprint(orders), err
}

// Text writes a JSON string.
func Text(s string) string { return string(appendText(nil, "", s)) }

// Span reads a duration and writes it.
func Span(text string) (string, error) {
	var s span
	err := s.UnmarshalText([]byte(text))
	return s.String(), err
}
