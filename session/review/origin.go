package review

import (
	"bytes"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/org/claude-sandbox/agent"
	"github.com/org/claude-sandbox/firewall"
)

// Origin is where a hunk comes from.
type Origin struct {
	Tool    string    `json:"tool"`              // the call that wrote it, such as "Edit"; "unknown"
	Command string    `json:"command,omitempty"` // of Bash, the beginning
	Time    time.Time `json:"time,omitzero"`     // of the call
	// ByTime says that the call does not name the file: it is a command that ran when the
	// file changed last.
	ByTime bool `json:"byTime,omitempty"`
	// Read are the hosts that were read from the network before it, the last one first;
	// at most maxRead. Nil and ReadUnknown: they were not recorded.
	Read        []string `json:"read,omitempty"`
	ReadMore    int      `json:"readMore,omitempty"`
	ReadUnknown bool     `json:"readUnknown,omitempty"`
}

const (
	unknown = "unknown"
	maxRead = 5 // hosts of one hunk
	// maxCallsOfPath and maxCompared bound the search for the call that wrote a hunk, in
	// calls of one path and in bytes of all.
	maxCallsOfPath = 50
	maxCompared    = 512 << 20
)

// origins knows which call wrote what, and when which host was read first.
type origins struct {
	calls   []agent.Call
	byPath  map[string][]int
	byWord  map[string]int // the last command that names a word
	ran     []int          // commands with a beginning and an end
	hosts   []string       // the last one first
	times   []int64        // when each was read first, in nanoseconds since 1970
	noAudit bool
	left    int // bytes that may still be compared
}

func newOrigins(in Input) *origins {
	o := &origins{calls: in.Calls, byPath: map[string][]int{}, byWord: map[string]int{}, noAudit: in.NoAudit, left: maxCompared}
	root := strings.TrimSuffix(in.WorkDir, "/")
	if root == "" {
		root = "/workspace"
	}
	for i, c := range in.Calls {
		if c.Path != "" {
			rel := strings.TrimPrefix(path.Clean(c.Path), root+"/")
			o.byPath[rel] = append(o.byPath[rel], i)
			continue
		}
		if !c.Time.IsZero() && !c.Ended.IsZero() {
			o.ran = append(o.ran, i)
		}
		for word := range strings.FieldsFuncSeq(c.Command, func(r rune) bool { return strings.ContainsRune(" \t\n;&|()<>\"'`=,{}", r) }) {
			o.byWord[strings.TrimPrefix(strings.TrimPrefix(word, root+"/"), "./")] = i
		}
	}
	slices.SortStableFunc(o.ran, func(a, b int) int { return in.Calls[a].Time.Compare(in.Calls[b].Time) })
	first := map[string]int64{}
	for _, r := range in.Audit {
		if r.Verdict == firewall.Allow && r.Name != "" {
			if at, ok := first[r.Name]; !ok || r.Time.UnixNano() < at {
				first[r.Name] = r.Time.UnixNano()
			}
		}
	}
	for host := range first {
		o.hosts = append(o.hosts, host)
	}
	slices.SortFunc(o.hosts, func(a, b string) int {
		if first[a] != first[b] {
			return int(min(1, max(-1, first[b]-first[a])))
		}
		return strings.Compare(a, b)
	})
	for _, h := range o.hosts {
		o.times = append(o.times, first[h])
	}
	return o
}

// fill says of each hunk where it comes from.
func (o *origins) fill(f *File) {
	read := o.before(f.Change.When)
	for i := range f.Hunks {
		at := read
		at.Tool = unknown
		c := o.call(f.Path, &f.Hunks[i])
		if c == nil {
			c = o.running(f.Change.When)
			at.ByTime = c != nil
		}
		if c != nil {
			at.Tool, at.Time, at.Command = c.Name, c.Time, shortened([]byte(c.Command))
		}
		f.Hunks[i].Origin = at
	}
}

// before lists the hosts that were read until a file was written last; when that is
// not known, all of them.
func (o *origins) before(when int64) Origin {
	if o.noAudit {
		return Origin{ReadUnknown: true}
	}
	from := 0
	for when > 0 && from < len(o.times) && o.times[from] > when {
		from++
	}
	hosts := o.hosts[from:]
	shown := min(len(hosts), maxRead)
	return Origin{Read: hosts[:shown:shown], ReadMore: len(hosts) - shown}
}

// call is the last call that wrote a hunk: one that names the file and whose text has
// the hunk's longest line, or else a command that names it.
func (o *origins) call(rel string, h *Hunk) *agent.Call {
	calls := o.byPath[rel]
	added := longestAdded(h.Text)
	for n, i := range slices.Backward(calls) {
		c := &o.calls[i]
		if len(calls)-n > maxCallsOfPath || o.left < 0 {
			break
		}
		if len(added) == 0 || c.Name == "NotebookEdit" {
			return c
		}
		for _, text := range c.Wrote {
			o.left -= len(text)
			if strings.Contains(text, string(added)) {
				return c
			}
		}
	}
	for _, word := range []string{rel, path.Base(rel)} {
		if i, ok := o.byWord[word]; ok {
			return &o.calls[i]
		}
	}
	return nil
}

// running is the command that began last of those that ran at a time, in nanoseconds since
// 1970; 0 = unknown. A user who works in the folder as well can write then, too.
func (o *origins) running(when int64) *agent.Call {
	after, _ := slices.BinarySearchFunc(o.ran, when, func(i int, when int64) int {
		if o.calls[i].Time.UnixNano() > when {
			return 1
		}
		return -1
	})
	for _, i := range slices.Backward(o.ran[max(0, after-maxCallsOfPath):after]) {
		if o.calls[i].Ended.UnixNano() >= when {
			return &o.calls[i]
		}
	}
	return nil
}

// longestAdded is the longest new line, without the blanks around it.
func longestAdded(text []byte) (longest []byte) {
	for len(text) > 0 {
		var line []byte
		if line, text = cutLine(text); line[0] == '+' {
			if line = bytes.TrimSpace(line[1:]); len(line) > len(longest) {
				longest = line
			}
		}
	}
	return longest
}
