package settings

import (
	"fmt"
	"iter"
	"math"
	"regexp"
	"strconv"
	"strings"

	"github.com/org/claude-sandbox/internal/diag"
)

// Values of settings are judged here, for files and for what is given one by one.

// problem is what is wrong with a value; where it stands is for the caller to say.
type problem struct{ message, hint string }

var variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// checkVariable judges the name of a variable, or the beginning of one. An empty
// beginning would pass on everything, keys included.
func checkVariable(name string) *problem {
	if variableName.MatchString(name) {
		return nil
	}
	return &problem{strconv.Quote(name) + " is not the name of a variable", "letters, digits and _, not starting with a digit"}
}

// checkPositive judges a limit. It is written so that a NaN is refused.
func checkPositive(n float64) *problem {
	if n > 0 && !math.IsInf(n, 0) {
		return nil
	}
	return &problem{fmt.Sprintf("%g is not a number greater than 0", n), "leave it out for no limit"}
}

// The least of each limit that a container's first process, which is ours, works with, and
// the kernel's own limit of processes (PID_MAX_LIMIT on 64 bits).
const (
	leastMemory = 64 << 20
	leastPIDs   = 32
	mostPIDs    = 1 << 22
	leastCPUs   = 0.01 // of the engines, too
	leastDisk   = 16 << 20
)

// Usable errs for a limit with which no agent works, or which no machine has.
func (l Limits) Usable() error {
	switch {
	case l.Memory > 0 && l.Memory < leastMemory:
		return diag.WithHint(fmt.Errorf("no agent works in %d bytes of memory", l.Memory), "give 64m or more; Claude Code itself needs some 500m")
	case l.PIDs > 0 && l.PIDs < leastPIDs:
		return diag.WithHint(fmt.Errorf("no agent works with %d processes and threads", l.PIDs), "give %d or more", leastPIDs)
	case l.PIDs > mostPIDs:
		return diag.WithHint(fmt.Errorf("no machine has %d processes and threads", l.PIDs), "give %d or less", mostPIDs)
	case l.CPUs > 0 && l.CPUs < leastCPUs:
		return diag.WithHint(fmt.Errorf("no agent works with %g of a processor", l.CPUs), "give %g or more", leastCPUs)
	case l.Disk > 0 && l.Disk < leastDisk:
		return diag.WithHint(fmt.Errorf("no agent works in %d bytes of disk", l.Disk), "give 16m or more")
	}
	return nil
}

// parseSize reads "512m" or "4g" as the container engines do: powers of 1024. It
// returns bytes.
func parseSize(text string) (int64, *problem) {
	digits := strings.TrimRight(text, "bkmgtBKMGTiI")
	shift, ok := map[string]uint{"": 0, "b": 0, "k": 10, "kb": 10, "kib": 10, "m": 20, "mb": 20, "mib": 20,
		"g": 30, "gb": 30, "gib": 30, "t": 40, "tb": 40, "tib": 40}[strings.ToLower(text[len(digits):])]
	v, err := strconv.ParseFloat(digits, 64)
	bytes := v * float64(int64(1)<<shift)
	// Written so that a NaN, which ParseFloat accepts, is refused.
	if !ok || err != nil || !(bytes >= 1 && bytes <= 1<<62) {
		return 0, &problem{fmt.Sprintf("%q is not a size", text), `accepted: a number and b, k, m, g or t, as in "512m" or "4g"`}
	}
	return int64(bytes), nil
}

// listFile returns the file that an entry of a list names; ok is false for an
// entry that is one itself.
func listFile(entry string) (name string, ok bool) { return strings.CutPrefix(entry, "@") }

// maxLines bounds the entries that list files bring, all together: a list may
// name a file more than once.
const maxLines = 100_000

func tooManyLines() *problem {
	return &problem{fmt.Sprintf("the lists hold more than %d lines", maxLines), "name each list once, and use wildcards"}
}

// listLines yields the entries of a list file, each with its offset in bytes. A #
// starts a comment, blank lines count for nothing, and entries are not expanded
// again.
func listLines(content []byte) iter.Seq2[int, string] {
	return func(yield func(int, string) bool) {
		start := 0
		for line := range strings.Lines(string(content)) {
			text, _, _ := strings.Cut(line, "#")
			if text = strings.TrimSpace(text); text != "" && !yield(start+strings.Index(line, text), text) {
				return
			}
			start += len(line)
		}
	}
}
