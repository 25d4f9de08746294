package progress

import (
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/org/claude-sandbox/internal/visible"
)

// Transfer is the state of one piece of data under way.
type Transfer struct {
	ID         string // tells pieces apart
	Name       string // for people
	Size, Sent int64  // bytes
	Done       string // how it ended, in a word such as "uploaded"; "" = it is under way
	Quiet      bool   // with Done: there is nothing to tell
}

// Transfers are pieces of data that are under way at a time. It is safe for concurrent
// use.
type Transfers struct {
	r      *Reporter
	mu     sync.Mutex
	active []Transfer
	drawn  time.Time
	lines  lines
}

// Transfers begins to show pieces of data. End must follow.
func (r *Reporter) Transfers() *Transfers {
	return &Transfers{r: r, lines: lines{out: r.Out, columns: r.Columns}}
}

// Update takes the state of one piece.
func (t *Transfers) Update(now Transfer) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.active = slices.DeleteFunc(t.active, func(have Transfer) bool { return have.ID == now.ID })
	switch {
	case now.Done == "":
		t.active = append(t.active, now)
	case !now.Quiet:
		t.lines.show()
		text := visible.Line(fmt.Sprintf("%s %s, %s", now.Done, now.Name, Size(now.Size)))
		fmt.Fprintf(t.r.Out, "sbx-devc: %s\n", text)
		t.r.log(slog.LevelInfo, text)
	}
	if t.r.Columns > 0 && (now.Done != "" || time.Since(t.drawn) >= tick) {
		t.lines.show(t.bars()...)
		t.drawn = time.Now()
	}
}

// End takes the bars away.
func (t *Transfers) End() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.lines.show()
}

// bars has one line for each piece of which something was sent.
func (t *Transfers) bars() (bars []string) {
	const width = 24
	for _, p := range t.active {
		if p.Size == 0 || p.Sent == 0 {
			continue
		}
		full := int(min(p.Sent, p.Size) * width / p.Size)
		bars = append(bars, visible.Line(fmt.Sprintf("  [%s%s] %9s of %9s  %s", strings.Repeat("=", full), strings.Repeat(" ", width-full),
			Size(p.Sent), Size(p.Size), p.Name)))
	}
	return bars
}
