package report_test

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"rushgate/internal/testenv"
	"rushgate/lab/report"
)

// reader is somebody who has a page open, and hears what the browser complains
// about.
type reader struct {
	t   *testing.T
	ctx context.Context
	url string

	mu         sync.Mutex // guards the rest
	complaints []string
}

// patience bounds the start of a browser, and all that one reader does: it only
// matters when something hangs. On a machine that is busy with other tests the
// browser has taken most of a minute for what it does in five seconds alone.
const patience = 4 * time.Minute

// openPage opens a report from a file in a browser that ends with the test.
func openPage(t *testing.T, r *report.Report) *reader {
	t.Helper()
	file := filepath.Join(t.TempDir(), "lab.html")
	if err := os.WriteFile(file, []byte(write(t, r)), 0o600); err != nil {
		t.Fatal(err)
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], // it has --disable-background-networking
		chromedp.ExecPath(testenv.Chromium(t)), chromedp.WSURLReadTimeout(patience),
		chromedp.NoSandbox) // for root; it only opens our page
	ctx, end := chromedp.NewExecAllocator(context.Background(), options...)
	t.Cleanup(end)
	ctx, end = chromedp.NewContext(ctx)
	t.Cleanup(func() {
		_ = chromedp.Cancel(ctx) // waits for the browser
		end()
	})
	p := &reader{t: t, ctx: ctx, url: (&url.URL{Scheme: "file", Path: file}).String()}
	if err := chromedp.Do(ctx); err != nil { // starts it
		t.Fatal(err)
	}
	limited, giveUp := context.WithTimeout(ctx, patience)
	t.Cleanup(giveUp)
	p.ctx = limited
	if err := chromedp.Listen(ctx, p.hear); err != nil {
		t.Fatal(err)
	}
	tell(p, emulation.SetFocusEmulationEnabled, emulation.SetFocusEmulationEnabledParams{Enabled: true})
	tell(p, network.Enable, network.EnableParams{})
	return p
}

// hear notes everything that a page that is right does not do.
func (p *reader) hear(event any) {
	said := ""
	switch e := event.(type) {
	case *log.EventEntryAdded:
		said = e.Entry.Text
	case *runtime.EventConsoleAPICalled:
		said = fmt.Sprintf("console.%s", e.Type)
	case *runtime.EventExceptionThrown:
		said = e.ExceptionDetails.Text
		if e.ExceptionDetails.Exception != nil {
			said = e.ExceptionDetails.Exception.Description
		}
	case *network.EventRequestWillBeSent:
		if u := e.Request.URL; u != p.url && !strings.HasPrefix(u, "data:image/svg+xml,") {
			said = "asked for " + u
		}
	}
	if said != "" {
		p.mu.Lock()
		p.complaints = append(p.complaints, said)
		p.mu.Unlock()
	}
}

func (p *reader) content() {
	p.t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.complaints {
		p.t.Errorf("the browser complains: %s", c)
	}
}

func (p *reader) do(steps ...chromedp.Action[chromedp.Void]) {
	p.t.Helper()
	if err := chromedp.Do(p.ctx, steps...); err != nil {
		p.t.Fatal(err)
	}
}

// tell gives the browser a command.
func tell[P, R any](p *reader, command cdp.Command[P, R], params P) {
	p.t.Helper()
	if _, err := chromedp.Call(p.ctx, command, params); err != nil {
		p.t.Fatal(err)
	}
}

// ask evaluates an expression, and waits for it if it is a promise.
func ask[T any](p *reader, expression string) T {
	p.t.Helper()
	v, err := chromedp.Run(p.ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		p.t.Fatalf("%s: %v", expression, err)
	}
	return v
}

// visit opens the page on a screen of this width, in these colours.
func (p *reader) visit(width int64, scheme string) {
	p.t.Helper()
	tell(p, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{
			{Name: "prefers-color-scheme", Value: scheme},
			{Name: "prefers-reduced-motion", Value: "reduce"}, // what still moves is not where it is clicked
		},
	})
	p.do(chromedp.EmulateViewport(width, 800), chromedp.Navigate(p.url))
}
