package report_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

const (
	phone = 360
	desk  = 1280
)

// The page in a real browser, opened from a file. One browser reads it all: to
// start one takes longer than everything else.
func TestInABrowser(t *testing.T) {
	p := openPage(t, reports()["many"])
	for _, part := range []struct {
		name string
		read func(*reader)
	}{
		{"fits", fits}, {"colours", colours}, {"filters", filters}, {"pointer", pointer}, {"keyboard", keyboard}, {"links", links},
		{"without script", withoutScript},
	} {
		t.Run(part.name, func(t *testing.T) {
			reading := &reader{t: t, ctx: p.ctx, url: p.url}
			part.read(reading)
		})
	}
	p.content()
}

func TestAnIncompleteReportInABrowser(t *testing.T) {
	p := openPage(t, sample())
	fits(p)
	p.content()
}

// fits: nothing makes the page itself wider than the screen, not even with
// everything opened, and the colours are those of the system.
func fits(p *reader) {
	papers := map[string]string{}
	for _, scheme := range []string{"light", "dark"} {
		for _, width := range []int64{phone, desk} {
			p.visit(width, scheme)
			ask[any](p, `document.querySelectorAll("details").forEach((d) => { d.open = true; }), 0`)
			if wide := ask[int64](p, `document.documentElement.scrollWidth`); wide > width {
				p.t.Errorf("on a screen of %d the page is %d wide", width, wide)
			}
			if n := ask[int](p, `[...document.querySelectorAll(".plot")].filter((s) => s.getBoundingClientRect().width > 0).length`); n != 1 {
				p.t.Errorf("on a screen of %d there are %d drawings of the curves, not one", width, n)
			}
		}
		papers[scheme] = paper(p)
	}
	if papers["light"] != "rgb(252, 252, 250)" || papers["dark"] != "rgb(21, 23, 27)" {
		p.t.Errorf("the paper is %v", papers)
	}
}

func paper(p *reader) string {
	return ask[string](p, `getComputedStyle(document.body).backgroundColor`)
}

// colours: a reader's choice wins over the system's, and is kept.
func colours(p *reader) {
	p.visit(desk, "dark")
	dark := paper(p)
	p.do(chromedp.Click(chromedp.CSS("#theme")))
	light := paper(p)
	if light == dark {
		p.t.Errorf("the paper is %s in both schemes", light)
	}
	p.visit(desk, "dark")
	if kept := paper(p); kept != light {
		p.t.Errorf("the choice was forgotten: %s, not %s", kept, light)
	}
	p.do(chromedp.Click(chromedp.CSS("#theme"))) // dark
	p.do(chromedp.Click(chromedp.CSS("#theme"))) // as the system
	if said := ask[string](p, `document.querySelector("#theme").textContent`); paper(p) != dark || !strings.Contains(said, "system") {
		p.t.Errorf("the button says %q on %s", said, paper(p))
	}
}

const shown = `[...document.querySelectorAll(".plot.wide path[data-line]")].filter((l) => getComputedStyle(l).display !== "none").length`

// filters: what is not ticked is not drawn, nor listed.
func filters(p *reader) {
	p.visit(desk, "light")
	all := ask[int](p, shown)
	p.do(chromedp.Click(chromedp.CSS(`[name=family][value="0"]`)))
	fewer := ask[int](p, shown)
	if all != 30 || fewer != 22 {
		p.t.Errorf("%d lines, and %d without the first family", all, fewer)
	}
	if rows := ask[int](p, `[...document.querySelectorAll("tr[data-line]")].filter((r) => r.offsetHeight > 0).length`); rows != fewer {
		p.t.Errorf("%d lines and %d rows", fewer, rows)
	}
	p.do(chromedp.Click(chromedp.CSS(`[name=disk]`)))
	if disk := ask[int](p, shown); disk != 7 {
		p.t.Errorf("%d lines of ways on the disk, not 7", disk)
	}
}

// pointer: what is pointed at says what it is.
func pointer(p *reader) {
	for _, width := range []int64{phone, desk} {
		p.visit(width, "light")
		at := ask[[]float64](p, `(() => {
			const svg = [...document.querySelectorAll(".plot")].find((s) => s.getBoundingClientRect().width > 0);
			svg.scrollIntoView({ block: "center", behavior: "instant" });
			const point = svg.querySelector('path[data-line="0"]').dataset.points.split(";")[7].split("|");
			const box = svg.getBoundingClientRect(), scale = box.width / svg.viewBox.baseVal.width;
			return [box.left + point[0] * scale, box.top + point[1] * scale];
		})()`)
		p.do(chromedp.MouseEvent(chromedp.MouseMoved, at[0], at[1]))
		if said := ask[string](p, `document.querySelector(".tip").innerText`); !strings.Contains(said, "way-0") || !strings.Contains(said, "99 % waited at most") {
			p.t.Errorf("on a screen of %d, pointing at 99 %% of the first line says %q", width, said)
		}
		if hot := ask[string](p, `document.querySelector("path.hot").dataset.line + document.querySelector("tr.hot").dataset.line`); hot != "00" {
			p.t.Errorf("marked are line and row %s", hot)
		}
		p.do(chromedp.MouseEvent(chromedp.MouseMoved, 1, 1))
		if ask[bool](p, `document.querySelector(".tip").hidden`) != true {
			p.t.Error("the value stays when the pointer has gone")
		}
	}
}

// keyboard: the arrows go along a line, and what is there is said.
func keyboard(p *reader) {
	p.visit(desk, "light")
	p.do(chromedp.Focus(chromedp.CSS(`tr[data-line="3"] button`)))
	if said := ask[string](p, `document.querySelector(".tip").innerText`); !strings.Contains(said, "way-3") {
		p.t.Errorf("in focus: %q", said)
	}
	for _, want := range []string{"99.5 %", "99.9 %", "slowest", "slowest"} {
		p.do(chromedp.KeyEvent(kb.ArrowRight))
		if heard := ask[string](p, `document.querySelector("#heard").textContent`); !strings.Contains(heard, "way-3") || !strings.Contains(heard, want) {
			p.t.Errorf("heard %q, not %s", heard, want)
		}
	}
}

// links: who follows a way from the matrix finds it opened.
func links(p *reader) {
	p.visit(desk, "light")
	opened := ask[string](p, `new Promise((found) => {
		const way = document.querySelector("#way-4");
		way.addEventListener("toggle", () => found(way.id + " " + way.open));
		document.querySelector('.matrix a[href="#way-4"]').click();
	})`)
	if opened != "way-4 true" {
		p.t.Errorf("the link led to %s", opened)
	}
	for _, want := range []int{30, 0} {
		p.do(chromedp.Click(chromedp.CSS("#open")))
		if n := ask[int](p, `document.querySelectorAll("details[open]").length`); n != want {
			p.t.Errorf("%d are opened, not %d", n, want)
		}
	}
	p.do(chromedp.Navigate(p.url + "#way-6"))
	// The page hears of its new address later than the browser has it.
	ask[bool](p, `new Promise((found) => {
		const way = document.querySelector("#way-6");
		const look = () => { if (way.open) found(true); };
		way.addEventListener("toggle", look);
		look();
	})`)
}

// withoutScript everything is there but what needs it.
func withoutScript(p *reader) {
	tell(p, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
	p.visit(desk, "light")
	if n := ask[int](p, shown); n != 30 {
		p.t.Errorf("%d lines are drawn", n)
	}
	if n := ask[int](p, `[...document.querySelectorAll("#theme, #open, .filters, .tip")].filter((e) => e.getClientRects().length > 0).length`); n != 0 {
		p.t.Error(fmt.Sprint(n, " things are shown that do nothing"))
	}
}
