package main

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/org/claude-sandbox/imagebuild/registry"
)

// bars shows a push: on a terminal one bar for each blob under way, elsewhere
// one line for each blob that is done.
type bars struct {
	mu      sync.Mutex
	w       io.Writer
	width   int // of the terminal; 0 = none
	active  []registry.Progress
	lines   int // drawn last time
	drawn   time.Time
	started time.Time
}

// barTick is how often bars are drawn at most.
const barTick = 100 * time.Millisecond

func (a *app) newBars() *bars {
	return &bars{w: a.stderr, started: time.Now(), width: a.columns()}
}

// update takes the state of one blob.
func (b *bars) update(p registry.Progress) {
	b.mu.Lock()
	defer b.mu.Unlock()
	kept := b.active[:0]
	for _, have := range b.active {
		if have.Digest != p.Digest {
			kept = append(kept, have)
		}
	}
	b.active = kept
	if p.Done {
		if p.How != registry.Exists {
			b.clear()
			fmt.Fprintf(b.w, "sbx-devc: %s %s, %s\n", p.How, p.What, size(p.Size))
		}
	} else {
		b.active = append(b.active, p)
	}
	if b.width > 0 && (p.Done || time.Since(b.drawn) >= barTick) {
		b.clear()
		b.draw()
	}
}

// end takes the bars away.
func (b *bars) end() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.clear()
}

// clear moves up over what was drawn and erases it.
func (b *bars) clear() {
	if b.lines > 0 {
		fmt.Fprintf(b.w, "\x1b[%dA\x1b[J", b.lines)
		b.lines = 0
	}
}

func (b *bars) draw() {
	const barWidth = 24
	for _, p := range b.active {
		if p.Size == 0 || p.Sent == 0 {
			continue // nothing to see yet
		}
		full := int(p.Sent * barWidth / p.Size)
		line := fmt.Sprintf("  [%s%s] %9s of %9s  %s", strings.Repeat("=", full), strings.Repeat(" ", barWidth-full),
			size(p.Sent), size(p.Size), p.What)
		if len(line) >= b.width {
			line = line[:b.width-1]
		}
		fmt.Fprintln(b.w, line)
		b.lines++
	}
	b.drawn = time.Now()
}
