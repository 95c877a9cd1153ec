package server

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"rushgate"
)

// decode reads the JSON body of a call into v, strictly: unknown and repeated
// fields, other letter case, wrong types, broken UTF-8 and anything after the
// end are refused (RFC 8259, RFC 7493).
func (c *call) decode(v any, limit int64) error {
	if err := checkRequestType(c.r); err != nil {
		return err
	}
	var err error
	if c.in, err = readBody(c.r, c.in, limit); err != nil {
		return err
	}
	return decodeStrictly(c.in, v)
}

// decodeNothing is for calls that need no body: none, or an empty object.
func (c *call) decodeNothing() error {
	var err error
	if c.in, err = readBody(c.r, c.in, MaxBody); err != nil {
		return err
	}
	if len(bytes.TrimSpace(c.in)) == 0 {
		return nil
	}
	if err := checkRequestType(c.r); err != nil {
		return err
	}
	return decodeStrictly(c.in, &struct{}{})
}

func decodeStrictly(in []byte, v any) error {
	if len(bytes.TrimSpace(in)) == 0 {
		return invalid("", "the body is empty; it must be a JSON object")
	}
	if err := json.Unmarshal(in, v, json.RejectUnknownMembers(true)); err != nil {
		return malformed(err)
	}
	return nil
}

// malformed words an error of the decoder, without its Go names.
func malformed(err error) *rushgate.Error {
	var own *rushgate.Error
	var syntax *jsontext.SyntacticError
	var semantic *json.SemanticError
	switch {
	case errors.As(err, &syntax):
		return invalid(fieldAt(syntax.JSONPointer), "not well-formed JSON at byte %d: %s", syntax.ByteOffset, plain(syntax.Err))
	case errors.As(err, &semantic):
		field := fieldAt(semantic.JSONPointer)
		switch {
		case errors.As(semantic.Err, &own):
			own.Field = field
			return own
		case errors.Is(semantic.Err, json.ErrUnknownName):
			return invalid(field, "there is no such field")
		case errors.Is(semantic.Err, strconv.ErrRange):
			return invalid(field, "the number is too large")
		}
		return invalid(field, "must be %s", expected(semantic.GoType))
	}
	return invalid("", "the body cannot be read as JSON")
}

// expected names what a field of a type is in JSON.
func expected(t reflect.Type) string {
	if t == nil {
		return "something else"
	}
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch t {
	case reflect.TypeFor[instant]():
		return instantLike
	case reflect.TypeFor[span]():
		return spanLike
	case reflect.TypeFor[amount]():
		return wholeNumber
	}
	switch t.Kind() {
	case reflect.String:
		return "a string"
	case reflect.Int64:
		return wholeNumber
	case reflect.Slice:
		return "an array"
	}
	return "an object"
}

// What a field must be, in the words of a refusal.
const (
	instantLike = "a time like 2026-11-11T00:00:00Z"
	spanLike    = `a string like "15m", "90s" or "0"`
	wholeNumber = "a whole number"
)

func plain(err error) string {
	if err == nil {
		return "something unexpected"
	}
	return strings.TrimPrefix(err.Error(), "jsontext: ")
}

// fieldAt turns a JSON pointer into the way the API names fields:
// /items/0/stock is items[0].stock.
func fieldAt(p jsontext.Pointer) string {
	var b strings.Builder
	for token := range p.Tokens() {
		if _, err := strconv.ParseUint(token, 10, 32); err == nil {
			fmt.Fprintf(&b, "[%s]", token)
			continue
		}
		if b.Len() > 0 {
			b.WriteByte('.')
		}
		b.WriteString(clip(strings.ToValidUTF8(token, "�")))
	}
	return clip(b.String())
}

// optional tells a field that was left out from one that is null.
type optional[T any] struct {
	given bool
	value T // the zero value for null
}

// UnmarshalJSONFrom implements json.UnmarshalerFrom.
func (o *optional[T]) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	o.given = true
	return json.UnmarshalDecode(d, &o.value)
}

// ptr returns the value, or nil when the field was left out.
func (o *optional[T]) ptr() *T {
	if !o.given {
		return nil
	}
	return &o.value
}

// instant is a moment as the API reads it, in UTC. One that is given is never
// Go's zero time, which stands for a side of the window that is open.
type instant time.Time

// UnmarshalText implements encoding.TextUnmarshaler.
func (i *instant) UnmarshalText(text []byte) error {
	var t time.Time
	if err := t.UnmarshalText(text); err != nil {
		return &rushgate.Error{Code: rushgate.Invalid, Message: "must be " + instantLike}
	}
	t = t.UTC()
	if t.Year() < 1970 || t.Year() > 9999 {
		return &rushgate.Error{Code: rushgate.Invalid, Message: "must be in the years 1970 to 9999, in UTC"}
	}
	*i = instant(t)
	return nil
}

// span is a duration as the API writes it: "15m", "90s", "0".
type span time.Duration

// UnmarshalText implements encoding.TextUnmarshaler.
func (s *span) UnmarshalText(text []byte) error {
	d, err := time.ParseDuration(string(text))
	if err != nil {
		return &rushgate.Error{Code: rushgate.Invalid, Message: "must be " + spanLike}
	}
	*s = span(d)
	return nil
}

// String writes the shortest form: 15m and not 15m0s.
func (s span) String() string {
	if s == 0 {
		return "0"
	}
	text := time.Duration(s).String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

// MarshalText implements encoding.TextMarshaler.
func (s span) MarshalText() ([]byte, error) { return []byte(s.String()), nil }
