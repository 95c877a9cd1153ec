package server

import (
	"encoding/json"
	"strconv"
	"time"
	"unicode/utf8"

	"rushgate"
)

// scratch is the memory that one request reads into and writes from, again and
// again.
type scratch struct {
	in, out []byte
}

// maxKept bounds the buffers that are kept for the next request, in bytes.
const maxKept = 64 << 10

func newScratch() *scratch {
	return &scratch{in: make([]byte, 0, 1024), out: make([]byte, 0, 1024)}
}

func (s *Server) take() *scratch { return s.scratch.Get().(*scratch) }

func (s *Server) put(b *scratch) {
	if cap(b.in) <= maxKept && cap(b.out) <= maxKept {
		s.scratch.Put(b)
	}
}

// send answers with what was written to c.out.
func (c *call) send(status int) (int, error) {
	h := c.w.Header()
	if h["Content-Type"] == nil {
		h["Content-Type"] = typeJSON
	}
	h["Content-Length"] = []string{strconv.Itoa(len(c.out))}
	c.w.WriteHeader(status)
	_, _ = c.w.Write(c.out) // who has left does not read
	return status, nil
}

// sendValue answers with a value as JSON.
func (c *call) sendValue(status int, v any) (int, error) {
	if err := c.encode(v); err != nil {
		return 0, err
	}
	return c.send(status)
}

// encode writes a value as JSON to c.out.
func (c *call) encode(v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	c.out = append(append(c.out[:0], b...), '\n')
	return nil
}

// appendClaim writes a claim as the API shows it.
func appendClaim(b []byte, r *rushgate.Receipt) []byte {
	c := &r.Claim
	b = appendID(append(b, `{"id":`...), c.ID)
	b = appendText(b, `,"sale":`, c.Sale)
	b = appendText(b, `,"item":`, c.Item)
	b = appendText(b, `,"user":`, c.User)
	b = strconv.AppendInt(append(b, `,"quantity":`...), c.Quantity, 10)
	b = append(b, `,"state":"`...)
	b = append(b, c.State...)
	b = append(b, '"')
	if !c.ExpiresAt.IsZero() {
		b = appendTime(append(b, `,"expires_at":`...), c.ExpiresAt)
	}
	b = appendTime(append(b, `,"created_at":`...), c.CreatedAt)
	if !c.EndedAt.IsZero() {
		b = appendTime(append(b, `,"ended_at":`...), c.EndedAt)
	}
	if r.Replayed {
		b = append(b, `,"replayed":true`...)
	}
	return append(b, '}')
}

func appendID(b []byte, id rushgate.ID) []byte {
	b = strconv.AppendInt(append(b, '"'), int64(id), 10)
	return append(b, '"')
}

// appendTime writes a moment as the API does: UTC, to the millisecond.
func appendTime(b []byte, t time.Time) []byte {
	b = t.UTC().AppendFormat(append(b, '"'), timeLayout)
	return append(b, '"')
}

const timeLayout = "2006-01-02T15:04:05.000Z"

// appendText writes a name, which is JSON already, and a string.
func appendText(b []byte, name, s string) []byte {
	b = append(append(b, name...), '"')
	for i := 0; i < len(s); i++ {
		if c := s[i]; c < ' ' || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&' || c >= 0x7f {
			return appendEscaped(append(b, s[:i]...), s[i:])
		}
	}
	return append(append(b, s...), '"')
}

// appendEscaped writes the rest of a string and its quote. What is dangerous
// inside HTML is escaped too, as encoding/json does.
func appendEscaped(b []byte, s string) []byte {
	const hex = "0123456789abcdef"
	for i := 0; i < len(s); {
		c := s[i]
		if c < utf8.RuneSelf {
			switch {
			case c == '"' || c == '\\':
				b = append(b, '\\', c)
			case c < ' ' || c == '<' || c == '>' || c == '&' || c == 0x7f:
				b = append(b, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
			default:
				b = append(b, c)
			}
			i++
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			b = append(b, `\ufffd`...)
		case r == '\u2028' || r == '\u2029':
			b = append(b, `\u202`...)
			b = append(b, hex[r&15])
		default:
			b = append(b, s[i:i+n]...)
		}
		i += n
	}
	return append(b, '"')
}
