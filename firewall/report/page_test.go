package report

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"

	"github.com/org/claude-sandbox/firewall"
	"github.com/org/claude-sandbox/firewall/audit"
	"github.com/org/claude-sandbox/internal/test/browsertest"
)

// run is the audit log of a run of some minutes, with hostile words in it.
func run() []audit.Record {
	begin := time.Date(2026, 1, 2, 22, 0, 3, 0, time.UTC)
	uid := 1000
	var records []audit.Record
	add := func(second int, r audit.Record) {
		r.Time, r.UID = begin.Add(time.Duration(second)*time.Second), &uid
		r.Reason = cmp.Or(r.Reason, "no allowlist entry matches "+cmp.Or(r.Name, r.Dst))
		if r.Verdict == firewall.Allow {
			r.Rule, r.Reason = "preset:github *.github.com", r.Name+" is on the allowlist"
		}
		records = append(records, r)
	}
	for s := 0; s < 240; s += 7 {
		add(s, audit.Record{Verdict: firewall.Allow, Layer: audit.LayerDNS, Name: "api.github.com"})
		add(s, audit.Record{Verdict: firewall.Allow, Layer: audit.LayerSNI, Name: "api.github.com", Dst: "203.0.113.9", Port: 443,
			Proto: firewall.TCP, PID: 412, Exe: "/usr/bin/git", Cmd: "git fetch --all --prune", Count: 1 + s/40})
	}
	add(31, audit.Record{Verdict: firewall.Deny, Layer: audit.LayerDNS, Name: "telemetry.example.com", PID: 512, Exe: "/usr/bin/node",
		Cmd: "node /workspace/node_modules/.bin/next build --profile --debug-prerender"})
	add(90, audit.Record{Verdict: firewall.Deny, Layer: audit.LayerDNS, Name: "telemetry.example.com", Count: 37})
	add(95, audit.Record{Verdict: firewall.Deny, Layer: audit.LayerIP, Name: "git.example.net", Dst: "203.0.113.7", Port: 22,
		Proto: firewall.TCP, Reason: "the allowlist opens 443/tcp there, not 22/tcp"})
	add(96, audit.Record{Verdict: firewall.Deny, Layer: audit.LayerIP, Dst: "169.254.169.254", Port: 80, Proto: firewall.TCP,
		Rule: "no special address", Reason: "no allowlist entry matches 169.254.169.254, which is a cloud metadata address"})
	add(97, audit.Record{Verdict: firewall.Deny, Layer: audit.LayerIP, Dst: "2001:db8:1234:5678:9abc:def0:1234:5678",
		Port: 8443, Proto: firewall.TCP})
	add(160,
		audit.Record{Verdict: firewall.Deny, Layer: audit.LayerDNS,
			Name: strings.Repeat("q9x7", 15) + "." + strings.Repeat("a0b1", 15) + ".exfil.example.org", Count: 4})
	for _, words := range hostile {
		add(200, audit.Record{Verdict: firewall.Deny, Layer: audit.LayerDNS, Name: words, Reason: "refused: " + words, Rule: words, PID: 666,
			Exe: words, Cmd: words})
	}
	return records
}

// hostile are words with which an agent would leave its place on the page.
var hostile = []string{
	`<script>alert(1)</script>`,
	`</script><script>alert(2)</script>`,
	`"><img src=x onerror=alert(3)>`,
	"' onmouseover='alert(4)",
	"</style><style>*{display:none}</style>",
	"{{.Policy}}<!-- --> ]]> &lt;b&gt;",
	"evil\u202egnp.example\u2066\u200b\u0000\x1b[2J\r\n\u2028",
	"javascript:alert(5)//.example",
	"\xff\xfe.example",
}

func writePage(t *testing.T, records []audit.Record) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "report.html")
	if kept := os.Getenv("SBX_TEST_PAGES"); kept != "" { // a folder, to look at what the tests saw
		file = filepath.Join(kept, t.Name()+".html")
	}
	f, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := New(records, nil).WriteHTML(f, "20260102-220003-ab12cd"); err != nil {
		t.Fatal(err)
	}
	return file
}

// A name of the agent's can be no element and no attribute of the page, by the
// parser that browsers agree on, and no character that is not seen as it is.
func TestAttackWordsThatLeaveTheirPlaceOnThePage(t *testing.T) {
	text, err := os.ReadFile(writePage(t, run()))
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range string(text) {
		if r > 0x7e && !strings.ContainsRune("–…×’", r) || r < ' ' && r != '\n' {
			t.Errorf("character %U is on the page", r)
		}
	}
	doc, err := html.Parse(strings.NewReader(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	count := map[string]int{}
	for n := range doc.Descendants() {
		if n.Type != html.ElementNode {
			continue
		}
		count[n.Data]++
		for _, a := range n.Attr {
			if strings.HasPrefix(a.Key, "on") || slices.Contains([]string{"src", "href", "style", "action"}, a.Key) {
				t.Errorf("<%s> has an attribute %s=%q", n.Data, a.Key, a.Val)
			}
		}
	}
	if count["script"] != 1 || count["style"] != 1 || count["img"] != 0 || count["link"] != 0 {
		t.Errorf("elements: %v", count)
	}
}

// Whatever an agent calls a host or itself, every form keeps its shape: the
// page its elements, the table of Markdown its cells, the text its lines.
func FuzzForms(f *testing.F) {
	for _, words := range hostile {
		f.Add(words, words)
	}
	f.Fuzz(func(t *testing.T, name, exe string) {
		shape := func(name, exe string) string {
			rec := deny("x.example", "", "no entry")
			rec.PID, rec.Time = 7, time.Unix(1_700_000_000, 0)
			if name != "" {
				rec.Name, rec.Rule, rec.Reason, rec.Exe, rec.Cmd = name, "rule "+name, "because "+name, "/bin/"+exe, "x "+exe
			} else {
				rec.Rule, rec.Exe, rec.Cmd = "rule", "/bin/x", "x"
			}
			r := newReport([]audit.Record{rec})
			var page, md, text strings.Builder
			for _, err := range []error{r.WriteHTML(&page, name), r.WriteMarkdown(&md), r.WriteText(&text)} {
				if err != nil {
					t.Fatal(err)
				}
			}
			doc, err := html.Parse(strings.NewReader(page.String()))
			if err != nil {
				t.Fatal(err)
			}
			var shape strings.Builder
			for n := range doc.Descendants() {
				if n.Type == html.ElementNode && n.DataAtom.String() != "span" { // the run's name and suspicion have one each
					shape.WriteString("<" + n.Data)
					for _, a := range n.Attr {
						shape.WriteString(" " + a.Key)
					}
				}
			}
			cells := strings.Count(strings.ReplaceAll(md.String(), `\|`, ""), "|")
			fmt.Fprintf(&shape, " %d lines, %d cells, %d lines", strings.Count(md.String(), "\n"), cells, strings.Count(text.String(), "\n"))
			for _, c := range page.String() + md.String() + text.String() {
				if c > 0x7e && !strings.ContainsRune("–…×’", c) || c < ' ' && c != '\n' {
					t.Fatalf("character %U came through from %q", c, name)
				}
			}
			return shape.String()
		}
		if name == "" {
			return
		}
		if got, want := shape(name, exe), shape("", ""); got != want {
			t.Fatalf("%q, %q: shape\n%s\nwant\n%s", name, exe, got, want)
		}
	})
}

func TestPageInABrowser(t *testing.T) {
	file := writePage(t, run())
	b := browsertest.Start(t)
	for _, v := range []browsertest.View{{Width: 360, Height: 740}, {Width: 360, Height: 740, Dark: true}, {Width: 1280, Height: 900},
		{Width: 1280, Height: 900, Dark: true}} {
		t.Run(fmt.Sprintf("%d wide, dark %v", v.Width, v.Dark), func(t *testing.T) {
			p := b.Open(file, v)
			if kept := os.Getenv("SBX_TEST_PAGES"); kept != "" {
				p.Screenshot(filepath.Join(kept, fmt.Sprintf("%d-%v.png", v.Width, v.Dark)))
			}
			var wide int
			p.Eval("document.documentElement.scrollWidth", &wide)
			if wide > v.Width {
				t.Errorf("the page is %d pixels wide and scrolls sideways", wide)
			}
			// Text beyond the edge would be cut off in silence.
			var beyond []string
			p.Eval(
				`[...document.querySelectorAll("main *")].filter(e => e.getBoundingClientRect().right > innerWidth + 1 && !e.closest("thead")).map(e `+
					`=> e.outerHTML.slice(0, 80))`, &beyond)
			if len(beyond) > 0 {
				t.Errorf("beyond the edge: %q", beyond)
			}
			var luminance float64
			p.Eval(
				`(() => { const [r, g, b] = getComputedStyle(document.body).backgroundColor.match(/\d+/g).map(Number); return (r + g + b) / 765 })()`,
				&luminance)
			if v.Dark != (luminance < 0.3) {
				t.Errorf("dark %v, and the background has brightness %.2f", v.Dark, luminance)
			}
			var faint []string
			p.Eval(contrast, &faint)
			if len(faint) > 0 {
				t.Errorf("less than 4.5:1 between text and background (WCAG 2.1, 1.4.3): %q", faint)
			}
			if got := p.Complaints(); len(got) > 0 {
				t.Errorf("the browser says: %q", got)
			}
		})
	}
}

// contrast returns the texts whose colour is too near to what is behind them.
const contrast = `(() => {
  const parse = (c) => { const n = c.match(/[\d.]+/g).map(Number); return n.length < 4 ? [...n, 1] : n };
  const light = ([r, g, b]) => [r, g, b].map(v => (v /= 255) <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4).reduce((s, v, ` +
	`i) => s + v * [0.2126, 0.7152, 0.0722][i], 0);
  const behind = (e) => { for (; e; e = e.parentElement) { const c = parse(getComputedStyle(e).backgroundColor); if (c[3] ` +
	`=== 1) return c } return [255, 255, 255, 1] };
  return [...document.querySelectorAll("body *")].filter(e => [...e.childNodes].some(n => n.nodeType === 3 && n.data.trim()) && ` +
	`!["SCRIPT", "STYLE", "title"].includes(e.tagName)).filter(e => {
    const a = light(parse(getComputedStyle(e).color)), b = light(behind(e));
    return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05) < 4.5;
  }).map(e => e.outerHTML.slice(0, 100));
})()`

func TestFilterOfThePage(t *testing.T) {
	p := browsertest.Start(t).Open(writePage(t, run()), browsertest.View{Width: 1280, Height: 900})
	shown := func() (names []string) {
		p.Eval(
			`[...document.querySelectorAll("tbody tr")].filter(r => r.getBoundingClientRect().height > 0).map(r => `+
				`r.querySelector(".name").textContent)`, &names)
		return names
	}
	all := shown()
	if len(all) < 10 || all[0] != "telemetry.example.com" || all[len(all)-1] != "api.github.com" {
		t.Fatalf("the table holds %q, want the denied first", all)
	}
	search := func(text string) []string {
		p.Eval(`document.getElementById("filter").value = ""; document.getElementById("filter").focus()`, nil)
		p.Type(text)
		return shown()
	}
	for text, want := range map[string][]string{
		"telemetry":          {"telemetry.example.com"},
		"NEXT node":          {"telemetry.example.com"},
		"22/tcp":             {"git.example.net"},
		"git fetch":          {"api.github.com"},
		"metadata":           {"169.254.169.254"},
		"nobody.has.this":    nil,
		"<script>alert(1)</": {"<script>alert(1)</script>", "</script><script>alert(2)</script>"},
	} {
		if text == "<script>alert(1)</" {
			want = want[:1]
		}
		if got := search(text); !slices.Equal(got, want) {
			t.Errorf("%q shows %q, want %q", text, got, want)
		}
		var nothing bool
		p.Eval(`!document.getElementById("nothing").hidden`, &nothing)
		if nothing != (want == nil) {
			t.Errorf("%q: the page says that nothing matches: %v", text, nothing)
		}
	}
	p.Eval(`document.getElementById("filter").value = ""; document.querySelector("[data-verdict=allowed]").click()`, nil)
	if got := shown(); !slices.Equal(got, []string{"api.github.com"}) {
		t.Errorf("allowed shows %q", got)
	}
	p.Eval(`document.querySelector("[data-verdict='']").click()`, nil)
	if got := shown(); len(got) != len(all) {
		t.Errorf("all shows %q", got)
	}
	if got := p.Complaints(); len(got) > 0 {
		t.Errorf("the browser says: %q", got)
	}
}

// Script that should have got onto the page is not run: the browser must say
// so, or the test above would prove nothing.
func TestPageLetsNoOtherScriptRun(t *testing.T) {
	file := writePage(t, run())
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	forged := strings.Replace(string(text), "<main>", `<main><script>document.title = "forged"</script><img src="http://192.0.2.1/x.png">`, 1)
	if err := os.WriteFile(file, []byte(forged), 0o644); err != nil {
		t.Fatal(err)
	}
	p := browsertest.Start(t).Open(file, browsertest.View{Width: 800, Height: 600})
	var title string
	p.Eval("document.title", &title)
	if title == "forged" || len(p.Complaints()) < 2 {
		t.Errorf("title %q, the browser says %q", title, p.Complaints())
	}
}

// A browser must open the report of an agent that asked for names in a loop.
func TestPageOfAFloodStaysSmall(t *testing.T) {
	begin := time.Date(2026, 1, 2, 22, 0, 0, 0, time.UTC)
	var records []audit.Record
	for i := range 50_000 {
		records = append(records,
			audit.Record{Time: begin.Add(time.Duration(i) * time.Millisecond), Verdict: firewall.Deny, Layer: audit.LayerDNS,
				Name: fmt.Sprintf("n%d.example", i), Reason: "r"})
		records = append(records, audit.Record{Time: begin, Verdict: firewall.Deny, Layer: audit.LayerIP, Dst: "203.0.113.7", Port: uint16(i),
			Proto: firewall.TCP, Reason: "r"})
	}
	info, err := os.Stat(writePage(t, records))
	if err != nil {
		t.Fatal(err)
	}
	if info.Size() > 6<<20 {
		t.Errorf("the page has %d bytes", info.Size())
	}
}
