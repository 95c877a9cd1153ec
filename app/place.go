package app

import "strings"

// place names where a URL leads, for logs and errors: without user, password
// and settings. It trusts nobody to have escaped anything.
func place(url string) string {
	kind, rest, ok := strings.Cut(url, "://")
	if !ok {
		return url
	}
	if i := strings.LastIndexByte(rest, '@'); i >= 0 {
		rest = rest[i+1:]
	}
	if i := strings.IndexAny(rest, "?#"); i >= 0 {
		rest = rest[:i]
	}
	return kind + "://" + rest
}

// kindOf is what stands before the :// of a URL, or the word that stands for one.
func kindOf(url string) string {
	kind, _, _ := strings.Cut(url, "://")
	return kind
}
