package server

import (
	"net/url"
	"slices"
	"strings"
)

// query returns the parameters of a call, strictly: one that is unknown,
// written wrongly or there twice is refused. A filter that is dropped in
// silence would answer with what was not asked for.
func (c *call) query(known ...string) (url.Values, error) {
	values := url.Values{}
	for pair := range strings.SplitSeq(c.r.URL.RawQuery, "&") {
		if pair == "" {
			continue
		}
		rawName, rawValue, _ := strings.Cut(pair, "=")
		name, err := url.QueryUnescape(rawName)
		if err != nil {
			return nil, invalid(clip(rawName), "is not written as a URL asks: %%XX is one byte")
		}
		if !slices.Contains(known, name) {
			return nil, invalid(clip(strings.ToValidUTF8(name, "�")), "there is no such parameter; there are %s", strings.Join(known, ", "))
		}
		value, err := url.QueryUnescape(rawValue)
		switch {
		case err != nil:
			return nil, invalid(name, "is not written as a URL asks: %%XX is one byte")
		case strings.Contains(rawValue, ";"):
			return nil, invalid(name, "parameters are separated by &; a semicolon in a value is %%3B")
		case values.Has(name):
			return nil, invalid(name, "is there twice")
		}
		values.Set(name, value)
	}
	return values, nil
}
