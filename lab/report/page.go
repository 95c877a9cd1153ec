package report

import (
	"bytes"
	"crypto/sha256"
	_ "embed" // the page, its style and its script
	"encoding/base64"
	"html/template"
	"io"
)

//go:embed page.html
var pageText string

//go:embed page.css
var pageStyle string

//go:embed page.js
var pageScript string

// WritePage writes the report for people: one HTML file in which everything is,
// that asks no network and can be sent to somebody. Charts are drawn here, so
// that they are there without the script, which only shows values, chooses lines
// and changes colours. Nothing is written unless the whole page is right.
func (r *Report) WritePage(w io.Writer) error {
	t, err := template.New("page").Parse(pageText)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	if err := t.Execute(&b, r.page()); err != nil {
		return err
	}
	_, err = b.WriteTo(w)
	return err
}

// page is what the template shows.
type page struct {
	*Report
	Policy string
	Style  template.CSS
	Script template.JS

	Checks   []check
	Families []family
	Tally    []pile
	Speed    chart
	Cost     chart
	Plots    []plot
}

func (r *Report) page() *page {
	p := &page{
		Report: r, Policy: policy(),
		Style: template.CSS(pageStyle), Script: template.JS(pageScript), // ours, and nobody else's
		Checks: r.checks(),
	}
	ways := r.ways(p.Checks)
	p.Families = families(ways)
	p.Tally = tally(ways)
	p.Speed = speedChart(p.Families)
	p.Cost = costChart(p.Families)
	p.Plots = plots(ways)
	return p
}

// policy is the page's Content-Security-Policy: this very style and this very
// script, a picture within the page, and nothing from anywhere.
func policy() string {
	return "default-src 'none'; img-src data:; style-src " + digest(pageStyle) + "; script-src " + digest(pageScript) +
		"; base-uri 'none'; form-action 'none'"
}

func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// Columns is how many the matrix has.
func (p *page) Columns() int { return len(p.Checks) + 2 }
