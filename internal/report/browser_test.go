package report

import (
	"context"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
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

	"github.com/loadstone-perf/loadstone/internal/analyse"
)

// browser starts a headless Chromium, which must be there when CI is set.
func browser(t *testing.T) context.Context {
	t.Helper()
	path := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "chrome", "headless-shell"} {
		if p, err := exec.LookPath(name); err == nil {
			path = p
			break
		}
	}
	if path == "" {
		if os.Getenv("CI") == "true" {
			t.Fatal("no Chromium in PATH, and CI=true")
		}
		t.Skip("no Chromium in PATH: the page was not opened in a browser")
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(path), chromedp.UserDataDir(t.TempDir()), chromedp.DisableGPU, chromedp.NoSandbox,
		chromedp.Flag("disable-background-networking", true), chromedp.Flag("disable-component-update", true),
		chromedp.WSURLReadTimeout(60*time.Second))
	ctx, stop := chromedp.NewExecAllocator(t.Context(), options...)
	t.Cleanup(stop)
	ctx, stop = chromedp.NewContext(ctx)
	t.Cleanup(stop)
	must(t, chromedp.Do(ctx))
	return ctx
}

// heard gathers what a page complains of and what it asks for.
type heard struct {
	mu       sync.Mutex
	messages []string
	requests []string
}

func listen(t *testing.T, tab context.Context) *heard {
	t.Helper()
	h := &heard{}
	must(t, chromedp.Listen(tab, func(event any) {
		h.mu.Lock()
		defer h.mu.Unlock()
		switch e := event.(type) {
		case *runtime.EventExceptionThrown:
			h.messages = append(h.messages, e.ExceptionDetails.Text)
		case *runtime.EventConsoleAPICalled:
			h.messages = append(h.messages, "console."+string(e.Type))
		case *log.EventEntryAdded:
			h.messages = append(h.messages, e.Entry.Text)
		case *network.EventRequestWillBeSent:
			h.requests = append(h.requests, e.Request.URL)
		}
	}))
	call(t, tab, network.Enable, network.EnableParams{})
	call(t, tab, log.Enable, cdp.Empty{})
	call(t, tab, runtime.Enable, cdp.Empty{})
	return h
}

// open shows path in a window of the given width.
func open(t *testing.T, ctx context.Context, path string, width int64) (context.Context, *heard) {
	t.Helper()
	tab, stop := chromedp.NewContext(ctx)
	t.Cleanup(stop)
	h := listen(t, tab)
	emulate(t, tab, "", "light")
	resize(t, tab, width)
	must(t, chromedp.Do(tab, chromedp.Navigate(fileURL(path)), chromedp.WaitReady(chromedp.CSS("#report"))))
	return tab, h
}

func call[P, R any](t *testing.T, tab context.Context, c cdp.Command[P, R], params P) {
	t.Helper()
	_, err := chromedp.Call(tab, c, params)
	must(t, err)
}

func fileURL(path string) string { return (&url.URL{Scheme: "file", Path: path}).String() }

// emulate sets the medium ("print", "" for the screen) and the colours that
// the system prefers.
func emulate(t *testing.T, tab context.Context, medium, scheme string) {
	t.Helper()
	call(t, tab, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Media: medium, Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}})
}

func resize(t *testing.T, tab context.Context, width int64) {
	t.Helper()
	call(t, tab, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{
		Width: width, Height: 800, DeviceScaleFactor: 1, Mobile: width < 500})
}

func TestPageInABrowser(t *testing.T) {
	ctx := browser(t)
	for name, s := range map[string]*analyse.Study{"ordinary": quickstart(), "invalid": invalid(), "empty": empty(), "hostile": hostile(), "scaled": scaled()} {
		t.Run(name, func(t *testing.T) {
			index, err := Write(s, t.TempDir())
			must(t, err)
			tab, h := open(t, ctx, index, 1280)
			checkTree(t, tab, index)
			checkLinks(t, tab, index)
			checkThemes(t, tab)
			checkNarrow(t, tab)
			if name == "ordinary" || name == "invalid" || name == "scaled" {
				checkMiddling(t, tab, name != "invalid")
			}
			if name == "ordinary" {
				checkCrosshair(t, tab)
				checkPrint(t, tab)
			}
			if evaluate[bool](t, tab, `"owned" in window`) {
				t.Error("a text of the study was run as script")
			}
			h.check(t, fileURL(index))
		})
	}
}

// check sees that the page asked for itself alone and complained of nothing.
func (h *heard) check(t *testing.T, page string) {
	t.Helper()
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.messages) > 0 {
		t.Errorf("the page complained: %q", h.messages)
	}
	for _, r := range h.requests {
		if r != page && !strings.HasPrefix(r, "data:") {
			t.Errorf("the page asked for %s", r)
		}
	}
	if len(h.requests) == 0 {
		t.Error("no request was seen at all, not even the page's")
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// evaluate runs script in tab and returns its result.
func evaluate[T any](t *testing.T, tab context.Context, script string) T {
	t.Helper()
	out, err := chromedp.Run(tab, chromedp.Evaluate[T](script))
	must(t, err)
	return out
}

// checkTree sees that the browser built the tree that the page's tags say: it
// had nothing to repair.
func checkTree(t *testing.T, tab context.Context, index string) {
	t.Helper()
	page, err := os.ReadFile(index)
	must(t, err)
	// Style and script, which parse leaves out, are two more.
	want := len(parse(t, page)) + 2
	if got := evaluate[int](t, tab, `document.querySelectorAll("*").length`); got != want {
		t.Errorf("the browser made %d elements of %d", got, want)
	}
}

var a4 = regexp.MustCompile(`/MediaBox \[0 0 59[45][0-9.]* 84[12][0-9.]*\]`)

// checkPrint sees A4 sheets, and that figures and rows are kept whole.
func checkPrint(t *testing.T, tab context.Context) {
	t.Helper()
	pdf, err := chromedp.Run(tab, chromedp.PrintToPDF(chromedp.PDFPreferCSSPageSize()))
	must(t, err)
	if n := len(a4.FindAll(pdf, -1)); n < 5 || n > 40 {
		t.Errorf("%d sheets of A4", n)
	}
	emulate(t, tab, "print", "light")
	cut := evaluate[[]string](t, tab, `[...document.querySelectorAll("figure, tr, .panel")]
		.filter(e => !e.querySelector(".panels") && getComputedStyle(e).breakInside !== "avoid").map(e => e.outerHTML.slice(0, 80))`)
	if len(cut) > 0 {
		t.Errorf("may be cut by the end of a sheet: %q", cut)
	}
	if hidden := evaluate[bool](t, tab, `getComputedStyle(document.querySelector(".contents")).display !== "none"`); hidden {
		t.Error("the list of contents is printed")
	}
	emulate(t, tab, "", "light")
}

func checkLinks(t *testing.T, tab context.Context, index string) {
	t.Helper()
	links := evaluate[[]string](t, tab, `[...document.querySelectorAll("a")].map(a => a.getAttribute("href"))`)
	for _, l := range links {
		if id, inside := strings.CutPrefix(l, "#"); inside {
			if !evaluate[bool](t, tab, `document.getElementById("`+id+`") !== null`) {
				t.Errorf("link to %s leads nowhere", l)
			}
			continue
		}
		if _, err := os.Stat(filepath.Join(filepath.Dir(index), filepath.FromSlash(l))); err != nil {
			t.Errorf("link to %s leads nowhere: %v", l, err)
		}
	}
	if len(links) < 5 {
		t.Errorf("only %d links", len(links))
	}
}

// checkThemes sees the background follow the system's colours, and the
// reader's choice go before them; print is always light.
func checkThemes(t *testing.T, tab context.Context) {
	t.Helper()
	const light, dark = "rgb(255, 255, 255)", "rgb(21, 24, 28)"
	for _, step := range []struct{ medium, scheme, choose, want string }{
		{"", "light", "theme-auto", light},
		{"", "dark", "theme-auto", dark},
		{"", "dark", "theme-light", light},
		{"", "light", "theme-dark", dark},
		{"print", "dark", "theme-dark", light},
		{"print", "dark", "theme-auto", light},
	} {
		emulate(t, tab, step.medium, step.scheme)
		evaluate[bool](t, tab, `document.getElementById("`+step.choose+`").click(), true`)
		if got := evaluate[string](t, tab, `getComputedStyle(document.body).backgroundColor`); got != step.want {
			t.Errorf("%+v: the background is %s", step, got)
		}
	}
	emulate(t, tab, "", "light")
}

// checkNarrow sees that nothing is wider than a small telephone, and that
// figures are those made for it.
func checkNarrow(t *testing.T, tab context.Context) {
	t.Helper()
	resize(t, tab, 360)
	if width := evaluate[int](t, tab, `document.documentElement.scrollWidth`); width > 360 {
		t.Errorf("the page is %d px wide on a screen of 360", width)
	}
	if wide := evaluate[int](t, tab, `[...document.querySelectorAll(".wide")].filter(e => e.offsetParent).length`); wide > 0 {
		t.Errorf("%d wide figures on a narrow screen", wide)
	}
	resize(t, tab, 1280)
}

// checkMiddling sees, in a window of 1100 by 800, that tables need no
// scrolling to the side, and that what decides is on the first screen.
func checkMiddling(t *testing.T, tab context.Context, valid bool) {
	t.Helper()
	resize(t, tab, 1100)
	over := evaluate[[]string](t, tab, `[...document.querySelectorAll(".scroll")].filter(e => e.scrollWidth > e.clientWidth).map(e => e.querySelector("caption").textContent)`)
	if len(over) > 0 {
		t.Errorf("wider than a window of 1100: %q", over)
	}
	what := ".answer"
	if valid {
		what = ".key"
	}
	if bottom := evaluate[int](t, tab, `Math.ceil(document.querySelector("`+what+`").getBoundingClientRect().bottom + scrollY)`); bottom > 800 {
		t.Errorf("%s ends at %d px: not on the first screen", what, bottom)
	}
	resize(t, tab, 1280)
}

// checkCrosshair moves a pointer over the load curve and reads the values.
func checkCrosshair(t *testing.T, tab context.Context) {
	t.Helper()
	tip := evaluate[string](t, tab, `(() => {
		const svg = document.querySelector("#curve .wide svg"), r = svg.getBoundingClientRect();
		svg.dispatchEvent(new PointerEvent("pointermove", {clientX: r.left + r.width * 0.98, clientY: r.top + 50}));
		return document.querySelector("#curve .tip").textContent;
	})()`)
	if !strings.HasPrefix(tip, "users8") || !strings.Contains(tip, "measured16,0") {
		t.Errorf("at 8 users the cross-hair reads %q, want about 16,030 orders a minute", tip)
	}
}
