package oncehttp

import (
	"errors"
	"net/http"
	"strings"

	"rushgate/once"
)

// Header is the name of the field that carries the key.
const Header = "Idempotency-Key"

var errKey = errors.New(`the Idempotency-Key must be one string of 1 to 255 visible characters, as in "8e03978e-40d5-43dd-bc93-6894a57f9324"`)

// keyOf reads the key of a request; it is empty when there is none. The field is
// a string of RFC 9651 (in quotes, with \" and \\); as most clients of today send
// it without quotes, that is taken, too, and is the same key.
func keyOf(h http.Header) (string, error) {
	values := h.Values(Header)
	if len(values) == 0 {
		return "", nil
	}
	text := strings.Trim(values[0], " \t")
	if len(values) > 1 || text == "" {
		return "", errKey
	}
	if text[0] == '"' {
		var ok bool
		if text, ok = unquote(text); !ok {
			return "", errKey
		}
	} else if strings.ContainsAny(text, " ,;\"\\") {
		return "", errKey
	}
	if text == "" || len(text) > once.MaxName {
		return "", errKey
	}
	for i := range len(text) {
		if text[i] < 0x20 || text[i] > 0x7e {
			return "", errKey
		}
	}
	return text, nil
}

// unquote reads an sf-string (RFC 9651, 4.2.5) without parameters.
func unquote(text string) (string, bool) {
	var b strings.Builder
	for i := 1; i < len(text); i++ {
		switch c := text[i]; c {
		case '"':
			return b.String(), i == len(text)-1
		case '\\':
			i++
			if i == len(text) || text[i] != '"' && text[i] != '\\' {
				return "", false
			}
			b.WriteByte(text[i])
		default:
			b.WriteByte(c)
		}
	}
	return "", false
}
