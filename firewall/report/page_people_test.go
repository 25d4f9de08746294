package report

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/org/claude-sandbox/firewall"
	"github.com/org/claude-sandbox/firewall/audit"
	"github.com/org/claude-sandbox/internal/test/browsertest"
)

// many is a run with more denied hosts than the box to paste from shows at once.
func many() []audit.Record {
	records := run()
	for c := 'a'; c <= 'z'; c++ {
		r := records[0]
		r.Verdict, r.Rule, r.Name = firewall.Deny, "", string(c)+".example.net"
		r.Reason = "no allowlist entry matches " + r.Name
		records = append(records, r)
	}
	return records
}

// On paper nothing can be scrolled to, clicked or hovered over, and ink is dark.
func TestPageOnPaper(t *testing.T) {
	p := browsertest.Start(t).Open(writePage(t, many()), browsertest.View{Width: 800, Height: 1000, Dark: true, Print: true})
	if kept := os.Getenv("SBX_TEST_PAGES"); kept != "" {
		p.Screenshot(filepath.Join(kept, "paper.png"))
	}
	var hidden, buttons []string
	p.Eval(
		`[...document.querySelectorAll("main *")].filter(e => e.getClientRects().length && getComputedStyle(e).overflow !== "visible" && `+
			`!e.closest("thead") && !e.closest("svg") && (e.scrollHeight > e.clientHeight + 1 || e.scrollWidth > e.clientWidth + 1)).map(e => `+
			`e.outerHTML.slice(0, 80))`, &hidden)
	p.Eval(`[...document.querySelectorAll("button, input")].filter(e => e.getClientRects().length).map(e => e.outerHTML)`, &buttons)
	if len(hidden)+len(buttons) > 0 {
		t.Errorf("cut off: %q, of no use: %q", hidden, buttons)
	}
	var ink string
	p.Eval(`getComputedStyle(document.body).color`, &ink)
	if ink != "rgb(29, 31, 33)" {
		t.Errorf("the ink is %s", ink)
	}
}

// Whoever hears the page is told what every control does, and that hosts are a
// table, also where it looks like none.
func TestPageForScreenReaders(t *testing.T) {
	b := browsertest.Start(t)
	file := writePage(t, many())
	for _, v := range []browsertest.View{{Width: 360, Height: 740}, {Width: 1280, Height: 900}} {
		p := b.Open(file, v)
		count, names := map[string]int{}, map[string]int{}
		for _, n := range p.Nodes() {
			count[n.Role]++
			if n.Role == "button" || n.Role == "searchbox" || n.Role == "image" {
				names[n.Role+" "+n.Name]++
			}
		}
		var rows int
		p.Eval(`document.querySelectorAll("tbody tr").length`, &rows)
		if count["table"] != 1 || count["row"] != rows+1 || count["columnheader"] != 5 || count["heading"] != 4 {
			t.Errorf("%d wide: %v, with %d rows", v.Width, count, rows)
		}
		for name, n := range names {
			if n > 1 && strings.HasPrefix(name, "button ") || strings.HasSuffix(name, " ") {
				t.Errorf("%d wide: %d of %q", v.Width, n, name)
			}
		}
		if names["searchbox Filter"] != 1 || names[`button Copy "telemetry.example.com",`] != 1 {
			t.Errorf("%d wide: %v", v.Width, names)
		}
	}
}

// Everything that can be clicked can be reached by Tab, is seen to have the
// focus, and is large enough for a finger (WCAG 2.2, 2.5.8).
func TestPageByKeyboardAndFinger(t *testing.T) {
	p := browsertest.Start(t).Open(writePage(t, many()), browsertest.View{Width: 360, Height: 740})
	var want int
	p.Eval(`document.querySelectorAll("button, input, pre").length`, &want)
	seen := map[string]bool{}
	for range want {
		p.Press("Tab", 9)
		var at struct{ Which, Outline string }
		p.Eval(
			`(() => { const e = document.activeElement; return {which: e.outerHTML.slice(0, 150), outline: `+
				`getComputedStyle(e).outlineStyle} })()`, &at)
		seen[at.Which] = true
		if at.Outline != "solid" {
			t.Errorf("the focus is not seen at %s", at.Which)
		}
	}
	if len(seen) != want {
		t.Errorf("Tab reaches %d of %d", len(seen), want)
	}
	var small []string
	p.Eval(
		`[...document.querySelectorAll("button, input")].filter(e => { const r = e.getBoundingClientRect(); `+
			`return r.width < 24 || r.height < 24 }).map(e => e.outerHTML)`, &small)
	if len(small) > 0 {
		t.Errorf("smaller than 24 pixels: %d, such as %s", len(small), small[0])
	}
}

// The button copies lines, which TestLinesOfAReportCanBePasted pastes.
func TestPageOffersALineForEachEntry(t *testing.T) {
	p := browsertest.Start(t).Open(writePage(t, many()), browsertest.View{Width: 1280, Height: 900})
	var box string
	p.Eval(`document.getElementById("paste-allow").textContent`, &box)
	if lines := strings.Split(strings.TrimSpace(box), "\n"); len(lines) != 29 || !slices.Contains(lines, `"z.example.net",`) {
		t.Errorf("to paste: %q", lines)
	}
	// Whether or not a browser lets a local file have the clipboard, one key is enough then.
	for button, want := range map[string]string{`[data-copy]`: box, `.fix button`: `"telemetry.example.com",`} {
		var said, selected string
		p.Eval(`(async () => { const b = document.querySelector("`+button+
			`"); getSelection().removeAllRanges(); b.click(); while (b.textContent === "Copy") await new Promise(r => setTimeout(r, 5)); `+
			`return b.textContent })()`, &said)
		p.Eval(`getSelection().toString()`, &selected)
		if said != "Copied" && strings.TrimSpace(selected) != strings.TrimSpace(want) {
			t.Errorf("%s: %q, selected %q", button, said, selected)
		}
	}
}

func TestPageOfARunOverMidnight(t *testing.T) {
	at := time.Date(2026, 1, 2, 23, 59, 0, 0, time.UTC)
	one := audit.Record{Time: at, Verdict: firewall.Deny, Layer: audit.LayerDNS, Name: "a.example", Reason: "r"}
	two := one
	two.Time = at.Add(2 * time.Minute)
	for _, c := range []struct {
		records []audit.Record
		want    []string
	}{
		{[]audit.Record{one}, []string{"<span>2026-01-02 23:59:00 UTC</span>", "<span>23:59:00</span></p>"}},
		{[]audit.Record{one, two},
			[]string{"2026-01-02 23:59:00 – 01-03 00:01:00 UTC (2m0s)",
				"<span>01-02 23:59:00</span><span>01-03 00:00:00</span><span>01-03 00:01:00</span>"}},
	} {
		text, err := os.ReadFile(writePage(t, c.records))
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range c.want {
			if !strings.Contains(string(text), want) {
				t.Errorf("the page lacks %q", want)
			}
		}
	}
}

// The process beside a host is who was there first, and not of the destination
// that was asked for most.
func TestPageNamesTheFirstProcessOfAHost(t *testing.T) {
	at := time.Date(2026, 1, 2, 10, 0, 0, 0, time.UTC)
	rec := func(minute int, port uint16, pid int, exe string, count int) audit.Record {
		return audit.Record{Time: at.Add(time.Duration(minute) * time.Minute), Verdict: firewall.Allow, Layer: audit.LayerSNI,
			Name: "a.example", Dst: "203.0.113.7",
			Port: port, Proto: firewall.TCP, PID: pid, Exe: exe, Cmd: exe, Reason: "r", Count: count}
	}
	r := newReport([]audit.Record{rec(0, 80, 0, "", 1), rec(1, 80, 7, "/usr/bin/curl", 1), rec(5, 443, 9, "/usr/bin/node", 50)})
	if hosts := r.hosts(); len(hosts) != 1 || hosts[0].By != "curl, pid 7" || hosts[0].First != "10:00:00" {
		t.Errorf("%+v", hosts)
	}
}
