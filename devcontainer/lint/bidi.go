package lint

import (
	"bytes"
	"fmt"
	"unicode/utf8"

	"github.com/org/claude-sandbox/devcontainer/rights"
	"github.com/org/claude-sandbox/devcontainer/rule"
)

// hiddenOrder reports characters that change the order in which an editor shows a line, so that
// a person reads another command than the one that runs (CVE-2021-42574). One of a line is
// enough.
func hiddenOrder(v *rule.View) (out []rule.Finding) {
	for _, doc := range v.Documents() {
		said := 0 // the end of the last line with a finding
		for at := 0; ; {
			next := bytes.IndexByte(doc.Src[at:], 0xe2) // all of them begin with it
			if next < 0 {
				break
			}
			at += next
			r, size := utf8.DecodeRune(doc.Src[at:])
			if reorders := r >= '\u202a' && r <= '\u202e' || r >= '\u2066' && r <= '\u2069'; reorders && at >= said {
				said = at + max(bytes.IndexByte(doc.Src[at:], '\n'), 0)
				if said == at {
					said = len(doc.Src)
				}
				out = append(out, rule.Finding{Place: rights.Place{Doc: doc, Start: at, End: at + size},
					Message: fmt.Sprintf("U+%04X changes the order in which this line is shown", r),
					Hint:    "remove it: people read another text than programs do"})
			}
			at += size
		}
	}
	return out
}
