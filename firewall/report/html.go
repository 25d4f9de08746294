package report

import (
	"cmp"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strconv"
	"time"

	"github.com/org/claude-sandbox/firewall"
)

// The page is one file: style and script are in it, and nothing is loaded.
var (
	//go:embed page/page.html
	pageText string
	//go:embed page/page.css
	pageStyle string
	//go:embed page/page.js
	pageScript string

	page = template.Must(template.New("page").Parse(pageText))
)

// Bounds of the page, so that a browser opens it also when an agent asked for
// a hundred thousand names. The page says how many are left out.
const (
	maxHosts        = 1000
	maxDestinations = 20 // of one host
	histogramBars   = 96
	stripBars       = 48
)

// pageData is what the template shows. Every text in it has passed printable.
type pageData struct {
	Title                  string
	Policy                 string
	Style, Script          template.HTML // whole elements
	Period                 string
	From, Middle, To       string // of the time axis; "" = no time is known
	DeniedHosts, AllowedBy int
	Decisions              int
	DeniedDecisions        int
	AllowedDecisions       int
	Bars                   []bar
	Pastes                 []paste
	Hosts                  []pageHost
	Keys                   []pageKey
	Empty                  string // what stands there without hosts
	MoreHosts              int
}

// pageHost is one line of the table.
type pageHost struct {
	Name         string
	Denied       bool
	Count        int
	First        string
	Process      *Process
	By           string // the process in short
	Destinations []destination
	More         int
	Strip        []bar
	When         string // the drawing in words
	Search       string // what the filter box looks at
}

// pageKey is what one key did.
type pageKey struct {
	Head  string
	Lines []string
}

// destination is one row of a host.
type destination struct {
	Target, Because string
	Denied          bool
	Count           int
	Fix, List       string
	NoFix           bool // denied, and no entry would help
	Suspicion       string
}

// bar is a part of the time with its decisions, in the units of its drawing.
type bar struct {
	X, Width                float64
	AllowedY, AllowedHeight float64
	DeniedY, DeniedHeight   float64
	Title                   string
	allowed, denied         int
}

// WriteHTML prints the report as one HTML page that needs nothing else. title
// says what it is about, such as the run's name; "" leaves that out. A content
// security policy in it lets only its own style and script work.
func (r *Report) WriteHTML(w io.Writer, title string) error {
	data := pageData{
		Title: printable(title),
		Policy: "default-src 'none'; style-src " + hashOf(pageStyle) + "; script-src " + hashOf(pageScript) +
			"; base-uri 'none'; form-action 'none'",
		// Whole elements: the browser hashes exactly what stands between the tags.
		Style:  template.HTML("<style>" + pageStyle + "</style>"),
		Script: template.HTML("<script>" + pageScript + "</script>"),
		Pastes: r.pastes(),
		Empty:  sentence(r.empty()),
	}
	if !r.from.IsZero() {
		data.Period = r.from.UTC().Format(time.DateTime)
		if length := r.to.Sub(r.from).Round(time.Second); length > 0 {
			data.Period += " – " + r.clock(r.to) + " UTC (" + length.String() + ")"
			data.To, data.Middle = r.clock(r.to), r.clock(r.from.Add(r.to.Sub(r.from)/2))
		} else {
			data.Period += " UTC"
		}
		data.From = r.clock(r.from)
	}
	data.Bars = r.bars(r.Rows, histogramBars, 960, 96)
	for _, row := range r.Rows {
		data.Decisions += row.Count
		if row.Verdict == firewall.Deny {
			data.DeniedDecisions += row.Count
		}
	}
	data.AllowedDecisions = data.Decisions - data.DeniedDecisions
	hosts := r.hosts()
	for _, h := range hosts {
		if h.Denied {
			data.DeniedHosts++
		} else {
			data.AllowedBy++
		}
	}
	if len(hosts) > maxHosts {
		data.MoreHosts, hosts = len(hosts)-maxHosts, hosts[:maxHosts]
	}
	data.Hosts = hosts
	for _, k := range r.Keys {
		head, lines := k.lines()
		data.Keys = append(data.Keys, pageKey{head, lines})
	}
	if err := page.Execute(w, data); err != nil {
		return fmt.Errorf("writing the page: %w", err)
	}
	return nil
}

// hashOf is the source expression that allows exactly this inline text (CSP
// level 2, section 4.2.5).
func hashOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// clock writes a moment of the report, with the day if the report has several.
func (r *Report) clock(at time.Time) string {
	if r.from.UTC().Format(time.DateOnly) == r.to.UTC().Format(time.DateOnly) {
		return at.UTC().Format(time.TimeOnly)
	}
	return at.UTC().Format("01-02 15:04:05")
}

// hosts groups the rows by host, in their order: a host with a denied row
// stands among the denied.
func (r *Report) hosts() []pageHost {
	places := map[string]int{}
	var rows [][]Row
	for _, row := range r.Rows {
		at, ok := places[row.Host]
		if !ok {
			at = len(rows)
			places[row.Host] = at
			rows = append(rows, nil)
		}
		rows[at] = append(rows[at], row)
	}
	hosts := make([]pageHost, len(rows))
	for i := range rows {
		hosts[i] = r.host(rows[i], i < maxHosts)
	}
	return hosts
}

// host makes one line of the table; its drawing is left out unless it is shown.
func (r *Report) host(rows []Row, shown bool) pageHost {
	h := pageHost{Name: printable(cmp.Or(rows[0].Host, "(many)"))}
	var first time.Time
	for i, row := range rows {
		h.Count += row.Count
		h.Denied = h.Denied || row.Verdict == firewall.Deny
		if !row.First.IsZero() && (first.IsZero() || row.First.Before(first)) {
			first = row.First
		}
		if row.Process.before(h.Process) {
			h.Process = row.Process
		}
		if i >= maxDestinations {
			h.More++
			continue
		}
		d := destination{
			Target: printable(row.target()), Because: printable(row.because()), Count: row.Count,
			Denied: row.Verdict == firewall.Deny, List: row.FixList,
		}
		if row.Fix != "" {
			d.Fix = line(row.Fix)
		}
		if row.Suspect {
			d.Suspicion = "the name " + suspicion
		}
		d.NoFix = d.Denied && d.Fix == "" && row.offer
		h.Destinations = append(h.Destinations, d)
		h.Search += d.Target + " " + d.Because + " "
	}
	if !first.IsZero() {
		h.First = r.clock(first)
	}
	h.Search += verdictWord(rows[0].Verdict)
	if h.Process != nil {
		h.By = h.Process.short()
		h.Process = &Process{UID: h.Process.UID, PID: h.Process.PID, Exe: printable(h.Process.Exe), Cmd: printable(h.Process.Cmd)}
		h.Search += " " + h.Process.Exe + " " + h.Process.Cmd
	}
	if shown {
		h.Strip = r.bars(rows, stripBars, 192, 20)
		h.When = r.when(first, rows)
	}
	return h
}

// when says when the rows' decisions were.
func (r *Report) when(first time.Time, rows []Row) string {
	last := first
	for _, row := range rows {
		if row.Last.After(last) {
			last = row.Last
		}
	}
	if r.clock(first) == r.clock(last) {
		return "at " + r.clock(first)
	}
	return "from " + r.clock(first) + " to " + r.clock(last)
}

// bars draws when the rows' decisions were: n parts of the report's time, in a
// picture of width by height. A decision alone is still seen next to a thousand.
func (r *Report) bars(rows []Row, n int, width, height float64) []bar {
	span := r.to.Sub(r.from)
	parts := make([]bar, n)
	most := 0
	for _, row := range rows {
		for _, m := range row.marks {
			at := 0
			if span > 0 {
				at = min(n-1, int(int64(n)*int64(m.at.Sub(r.from))/int64(span)))
			}
			if row.Verdict == firewall.Deny {
				parts[at].denied += m.n
			} else {
				parts[at].allowed += m.n
			}
			most = max(most, parts[at].allowed+parts[at].denied)
		}
	}
	tall := func(count int) float64 {
		if count == 0 {
			return 0
		}
		return max(3, float64(count)/float64(most)*(height-3))
	}
	step := width / float64(n)
	var bars []bar
	for i, b := range parts {
		if b.allowed+b.denied == 0 {
			continue
		}
		b.X, b.Width = float64(i)*step, step*0.8
		b.DeniedHeight = tall(b.denied)
		b.AllowedHeight = min(tall(b.allowed), height-b.DeniedHeight)
		b.AllowedY = height - b.AllowedHeight
		b.DeniedY = b.AllowedY - b.DeniedHeight
		begin := r.clock(r.from.Add(span * time.Duration(i) / time.Duration(n)))
		b.Title = begin + ": " + strconv.Itoa(b.denied) + " denied, " + strconv.Itoa(b.allowed) + " allowed"
		bars = append(bars, b)
	}
	return slices.Clip(bars)
}
