package report_test

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"
	"pgregory.net/rapid"

	"rushgate/lab"
	"rushgate/lab/report"
	"rushgate/lab/trial"
)

func TestEveryWayIsOnThePage(t *testing.T) {
	for name, r := range reports() {
		t.Run(name, func(t *testing.T) {
			root := parse(t, write(t, r))
			seen := text(root)
			rows, cards := []string{}, 0
			for _, tr := range elements(root, "tr") {
				if way, ok := attribute(tr, "data-way"); ok {
					rows = append(rows, way)
				}
			}
			for _, d := range elements(root, "details") {
				if class, _ := attribute(d, "class"); class == "way" {
					cards++
				}
			}
			if len(rows) != len(r.Ways) || cards != len(r.Ways) {
				t.Errorf("%d rows and %d cards for %d ways", len(rows), cards, len(r.Ways))
			}
			for _, o := range r.Ways {
				if !slices.Contains(rows, o.Name) {
					t.Errorf("%s is not in the matrix", o.Name)
				}
				for _, said := range []string{o.Title, o.Why, o.Verdict, o.Problem} {
					if !strings.Contains(seen, said) {
						t.Errorf("%s: %q is not on the page", o.Name, said)
					}
				}
			}
			for _, said := range append(r.Notes, r.Version, r.Hardware, r.Command()) {
				if !strings.Contains(seen, said) {
					t.Errorf("%q is not on the page", said)
				}
			}
			if strings.Contains(seen, "This report is not complete") != r.Partial {
				t.Errorf("partial is %v, and the page says otherwise", r.Partial)
			}
		})
	}
}

func TestEveryPageIsWhole(t *testing.T) {
	for name, r := range reports() {
		t.Run(name, func(t *testing.T) { whole(t, write(t, r)) })
	}
}

// Whatever a lab reports, the page is whole and nobody's words become markup.
func TestAnyReportIsAWholePage(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := sample()
		r.Ways = r.Ways[:2]
		word := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"</script><script>alert(1)</script>", `" onload="alert(1)`, "<!--", "{{.}}", "]]>"}))
		n := rapid.IntRange(-3, 2_000_000)
		rate := rapid.Float64Range(0, 1e7)
		for i := range r.Ways {
			o := &r.Ways[i]
			o.Name, o.Family, o.Title, o.Why = word.Draw(t, "name"), lab.Family(word.Draw(t, "family")), word.Draw(t, "title"), word.Draw(t, "why")
			o.Granted, o.Oversold, o.Left, o.Total = n.Draw(t, "granted"), n.Draw(t, "oversold"), n.Draw(t, "left"), n.Draw(t, "total")
			o.ClaimsPerSecond, o.P999 = rate.Draw(t, "rate"), rate.Draw(t, "p999")
			for k := range o.Curve {
				o.Curve[k].Ms = rate.Draw(t, "ms")
			}
			o.Finished = rapid.Bool().Draw(t, "finished")
		}
		page, err := render(r)
		if err != nil {
			t.Fatal(err)
		}
		whole(t, page)
	})
}

func render(r *report.Report) (string, error) {
	var b strings.Builder
	err := r.WritePage(&b)
	return b.String(), err
}

type failing interface {
	Helper()
	Errorf(string, ...any)
}

// void elements have no end.
var void = []string{"meta", "link", "input", "br"}

// whole: what is opened is closed, every id is there once and every reference
// leads somewhere, and no number is one that is not.
func whole(t failing, page string) {
	t.Helper()
	var open []string
	ids := map[string]int{}
	var wanted []string
	z := html.NewTokenizer(strings.NewReader(page))
	for kind := z.Next(); kind != html.ErrorToken; kind = z.Next() {
		token := z.Token()
		switch kind {
		case html.StartTagToken:
			if !slices.Contains(void, token.Data) {
				open = append(open, token.Data)
			}
			fallthrough
		case html.SelfClosingTagToken:
			checkAttributes(t, &token, ids, &wanted)
		case html.EndTagToken:
			if len(open) == 0 || open[len(open)-1] != token.Data {
				t.Errorf("</%s> closes %v", token.Data, open)
				return
			}
			open = open[:len(open)-1]
		}
	}
	if len(open) > 0 {
		t.Errorf("never closed: %v", open)
	}
	for id, n := range ids {
		if n > 1 {
			t.Errorf("id %q is there %d times", id, n)
		}
	}
	for _, id := range wanted {
		if ids[id] == 0 {
			t.Errorf("nothing has the id %q", id)
		}
	}
	if strings.Count(page, "<script") != 1 || strings.Count(page, "<style") != 1 {
		t.Errorf("more than one script or style")
	}
}

var wrongNumber = regexp.MustCompile(`NaN|Inf|%!|<nil>`)

// drawn are attributes that hold numbers.
var drawn = []string{"d", "x", "y", "x1", "x2", "y1", "y2", "width", "height", "viewbox", "data-points"}

func checkAttributes(t failing, token *html.Token, ids map[string]int, wanted *[]string) {
	for _, a := range token.Attr {
		switch {
		case a.Key == "id":
			ids[a.Val]++
		case a.Key == "aria-labelledby":
			*wanted = append(*wanted, a.Val)
		case a.Key == "href" && strings.HasPrefix(a.Val, "#"):
			*wanted = append(*wanted, a.Val[1:])
		case a.Key == "style" || strings.HasPrefix(a.Key, "on") || a.Key == "src":
			t.Errorf("<%s %s=%q>: neither style, nor script, nor source may stand in an attribute", token.Data, a.Key, a.Val)
		case slices.Contains(drawn, a.Key) && wrongNumber.MatchString(a.Val):
			t.Errorf("<%s %s=%q> is not a number", token.Data, a.Key, a.Val)
		}
	}
}

func TestNothingCanBeInjected(t *testing.T) {
	const evil = `</title></style></script><script>alert(1)</script><img src=x onerror=alert(1)><a href="javascript:alert(1)">"'`
	r := sample()
	r.Version, r.Hardware, r.Notes = evil, evil, []string{evil}
	for i := range r.Ways {
		o := &r.Ways[i]
		o.Name, o.Family, o.Title, o.Why, o.Problem, o.Verdict = evil, evil, evil, evil, evil, evil
	}
	page := write(t, r)
	whole(t, page)
	root := parse(t, page)
	if found := elements(root, "img", "iframe", "object", "embed", "base"); len(found) > 0 {
		t.Errorf("there is a <%s>", found[0].Data)
	}
	if n := strings.Count(text(root), evil); n < 6*len(r.Ways) {
		t.Errorf("the words themselves are there only %d times", n)
	}
}

func TestThePageAsksNoNetwork(t *testing.T) {
	page := write(t, sample())
	root := parse(t, page)
	for _, n := range elements(root) {
		href, ok := attribute(n, "href")
		switch {
		case !ok:
		case n.Data == "link" && strings.HasPrefix(href, "data:image/svg+xml,"):
		case !strings.HasPrefix(href, "#"):
			t.Errorf("<%s href=%q> leads away", n.Data, href)
		}
	}
	for _, away := range []string{"@import", "fetch(", "XMLHttpRequest", "WebSocket", "EventSource", "sendBeacon", "import("} {
		if strings.Contains(page, away) {
			t.Errorf("the page has %s", away)
		}
	}
	for _, url := range regexp.MustCompile(`url\(([^)]*)\)`).FindAllStringSubmatch(page, -1) {
		if !strings.HasPrefix(url[1], "#") {
			t.Errorf("the style asks for %s", url[1])
		}
	}
}

func TestThePolicyAllowsWhatIsInThePageAndNothingElse(t *testing.T) {
	root := parse(t, write(t, sample()))
	policy := ""
	for _, m := range elements(root, "meta") {
		if kind, _ := attribute(m, "http-equiv"); kind == "Content-Security-Policy" {
			policy, _ = attribute(m, "content")
		}
	}
	hash := func(element string) string {
		all := elements(root, element)
		if len(all) != 1 {
			t.Fatalf("%d <%s>", len(all), element)
		}
		sum := sha256.Sum256([]byte(all[0].FirstChild.Data))
		return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
	}
	want := fmt.Sprintf("default-src 'none'; img-src data:; style-src %s; script-src %s; base-uri 'none'; form-action 'none'", hash("style"), hash("script"))
	if policy != want {
		t.Errorf("the policy is\n%s\nand not\n%s", policy, want)
	}
}

func TestMemoryAndDiskAreToldApart(t *testing.T) {
	root := parse(t, write(t, sample()))
	for _, table := range elements(root, "table") {
		if class, _ := attribute(table, "class"); class != "bars" {
			continue
		}
		for _, tr := range elements(table, "tr") {
			for _, rect := range elements(tr, "rect") {
				class, _ := attribute(rect, "class")
				word := map[string]string{"disk": "on disk", "memory": "in memory"}[class]
				if word == "" || !strings.Contains(text(tr), word) {
					t.Errorf("a bar of class %q in the row %q", class, text(tr))
				}
			}
		}
	}
}

func TestTheCommandRepeatsTheRun(t *testing.T) {
	r := &report.Report{Plan: trial.Plan{Stock: 1000, Buyers: 5000, Connections: 64, Duration: 3 * time.Second, Crash: true, Pause: true, Failover: true, Admin: true}}
	if got, want := r.Command(), "rushgate lab --stock 1000 --buyers 5000 --connections 64 --think 0s --duration 3s --out lab.html"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	r.Ways = append(sample().Ways[:2:2], trial.Outcome{Name: "$(reboot)"}) // in nobody's shell
	r.Plan.Crash, r.Plan.Admin = false, false
	if got, want := r.Command(), "rushgate lab --strategy redis-lua,redis-watch --stock 1000 --buyers 5000 --connections 64 --think 0s --duration 3s --no-crash --no-admin --out lab.html"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
