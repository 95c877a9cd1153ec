package load

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/url"
)

// template is a whole request as bytes, and where in it the users stand.
type template struct {
	bytes []byte
	slots []int
}

// newTemplate builds the request of a plan.
func newTemplate(p *Plan, addr string) *template {
	body := claimsBody(p)
	path := "/v1/sales/" + url.PathEscape(p.Sale) + "/claims"
	if p.PerRequest > 1 {
		path += ":batch"
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "POST %s HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\n", path, addr)
	if p.Token != "" {
		fmt.Fprintf(&b, "Authorization: Bearer %s\r\n", p.Token)
	}
	fmt.Fprintf(&b, "Content-Length: %d\r\n\r\n", len(body))
	b.Write(body)
	t := &template{bytes: b.Bytes()}
	for at := 0; ; {
		i := bytes.Index(t.bytes[at:], placeholder)
		if i < 0 {
			return t
		}
		t.slots = append(t.slots, at+i)
		at += i + nameBytes
	}
}

// placeholder stands where a name goes. No URL, token or JSON text contains it.
var placeholder = bytes.Repeat([]byte{0x01}, nameBytes)

func claimsBody(p *Plan) []byte {
	item := ""
	if p.Item != "" {
		quoted, _ := json.Marshal(p.Item) // a string always marshals
		item = `,"item":` + string(quoted)
	}
	claim := `{"user":"` + string(placeholder) + `"` + item + `}`
	if p.PerRequest == 1 {
		return []byte(claim)
	}
	var b bytes.Buffer
	b.WriteString(`{"claims":[`)
	for i := range p.PerRequest {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(claim)
	}
	b.WriteString(`]}`)
	return b.Bytes()
}

// copy returns a template that shares nothing with t.
func (t *template) copy() *template {
	return &template{bytes: bytes.Clone(t.bytes), slots: t.slots}
}

// fill writes the next users into the request.
func (t *template) fill(u *users) {
	first := u.take(len(t.slots))
	for i, at := range t.slots {
		u.write(t.bytes[at:at+nameBytes], first+uint64(i))
	}
}
