package server

import (
	"bytes"
	"crypto/sha256"
	_ "embed" // openapi.json and the page
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html/template"
	"net/http"
	"strings"
)

//go:embed openapi.json
var openAPIDocument []byte

//go:embed docs.html.tmpl
var docsTemplate string

//go:embed docs.css
var docsStyle string

// pages are the documents for people. They are made once: nothing in them
// changes while the program runs.
type pages struct {
	docs, index []byte
	policy      string // Content-Security-Policy: nothing but this very style sheet
}

// newPages renders the OpenAPI document. It fails only if what is embedded is
// wrong, which a test finds.
func newPages() (*pages, error) {
	var spec specification
	if err := json.Unmarshal(openAPIDocument, &spec); err != nil {
		return nil, fmt.Errorf("openapi.json: %w", err)
	}
	t, err := template.New("docs").Funcs(template.FuncMap{"prose": prose}).Parse(docsTemplate)
	if err != nil {
		return nil, err
	}
	digest := sha256.Sum256([]byte(docsStyle))
	p := &pages{policy: "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(digest[:]) +
		"'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"}
	data := struct {
		Spec     *specification
		Sections []section
		Problems []problemText
		Style    template.CSS
	}{&spec, spec.sections(), spec.problems(), template.CSS(docsStyle)}
	if p.docs, err = render(t, "page", data); err != nil {
		return nil, err
	}
	p.index, err = render(t, "index", data)
	return p, err
}

// prose turns the `code` of a description into HTML; all else is escaped.
func prose(text string) template.HTML {
	var b strings.Builder
	for i, part := range strings.Split(text, "`") {
		part = template.HTMLEscapeString(part)
		if i%2 == 1 {
			part = "<code>" + part + "</code>"
		}
		b.WriteString(part)
	}
	return template.HTML(b.String())
}

func render(t *template.Template, name string, data any) ([]byte, error) {
	var b bytes.Buffer
	err := t.ExecuteTemplate(&b, name, data)
	return b.Bytes(), err
}

// openapi answers GET /openapi.json.
func (s *Server) openapi(c *call) (int, error) {
	c.w.Header()["Cache-Control"] = []string{"public, max-age=60"}
	c.out = append(c.out[:0], openAPIDocument...)
	return c.send(http.StatusOK)
}

// docs answers GET /docs.
func (s *Server) docs(c *call) (int, error) { return c.page(s.pages.policy, s.pages.docs) }

// index answers GET /.
func (s *Server) index(c *call) (int, error) { return c.page(s.pages.policy, s.pages.index) }

func (c *call) page(policy string, html []byte) (int, error) {
	h := c.w.Header()
	h["Content-Type"] = []string{"text/html; charset=utf-8"}
	h["Content-Security-Policy"] = []string{policy}
	c.out = append(c.out[:0], html...)
	return c.send(http.StatusOK)
}
