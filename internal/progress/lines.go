package progress

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// lines are the last lines of a terminal, which are drawn again in place. The cursor
// stays at the end of the last one.
type lines struct {
	out     io.Writer
	columns int // of the terminal
	drawn   int // lines that are there now
}

// show replaces what was drawn by texts, one a line, cut to the terminal's width. It is
// one write, so that nothing flickers.
func (l *lines) show(texts ...string) {
	var b strings.Builder
	if l.drawn > 1 {
		fmt.Fprintf(&b, "\x1b[%dA", l.drawn-1)
	}
	if l.drawn > 0 {
		b.WriteString("\r\x1b[J")
	}
	for i, text := range texts {
		if i > 0 {
			b.WriteByte('\n')
		}
		if runes := []rune(text); len(runes) >= l.columns {
			text = string(runes[:l.columns-1])
		}
		b.WriteString(text)
	}
	l.drawn = len(texts)
	if b.Len() > 0 {
		_, _ = io.WriteString(l.out, b.String())
	}
}

// seconds prints a duration as people read it.
func seconds(d time.Duration) string {
	if d < 10*time.Second {
		return fmt.Sprintf("%.1f s", d.Seconds())
	}
	return fmt.Sprintf("%d s", int(d.Seconds()))
}

// Size writes a number of bytes for people, in powers of 1000.
func Size(n int64) string {
	switch {
	case n >= 1_000_000_000:
		return fmt.Sprintf("%.1f GB", float64(n)/1e9)
	case n >= 1_000_000:
		return fmt.Sprintf("%.1f MB", float64(n)/1e6)
	case n >= 1_000:
		return fmt.Sprintf("%.1f kB", float64(n)/1e3)
	}
	return fmt.Sprintf("%d B", n)
}
