package review

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/org/claude-sandbox/agent/structured"
)

// Schema is the JSON Schema of an answer that Parse takes.
//
//go:embed review.schema.json
var Schema []byte

// Review is what an agent says about a pull request.
type Review struct {
	Summary string   `json:"summary"`
	Remarks []Remark `json:"comments"`
}

// Remark is about one line.
type Remark struct {
	Path string `json:"path"` // in the repository, slash-separated
	Line int    `json:"line"` // of the file as the pull request has it, from 1
	Body string `json:"body"`
}

// Parse reads an answer. It errs on one that does not fit Schema.
func Parse(answer []byte) (r Review, err error) {
	schema, err := structured.Parse(Schema)
	if err == nil {
		err = schema.Check(answer)
	}
	if err == nil {
		err = json.Unmarshal(answer, &r)
	}
	return r, err
}

// File is a file that a pull request changes.
type File struct {
	Path  string `json:"filename"`
	Patch string `json:"patch"` // its hunks, as GitHub shows them; "" for a large or binary file
}

// Place parts the remarks into those on lines that the changes show, of which GitHub takes
// no more than most, and the others, both in their order.
func (r Review) Place(files []File, most int) (shown, others []Remark) {
	for _, remark := range r.Remarks {
		i := slices.IndexFunc(files, func(f File) bool { return f.Path == remark.Path })
		if i >= 0 && len(shown) < most && shows(files[i].Patch, remark.Line) {
			shown = append(shown, remark)
		} else {
			others = append(others, remark)
		}
	}
	return shown, others
}

// shows reports whether a patch's hunks have a line of the new file.
func shows(patch string, line int) bool {
	for text := range strings.SplitSeq(patch, "\n") {
		var begin, length int
		if first, count, ok := newSide(text); ok {
			begin, length = first, count
		}
		if length > 0 && line >= begin && line-begin < length {
			return true
		}
	}
	return false
}

// newSide reads the second half of "@@ -1,2 +3,4 @@".
func newSide(line string) (first, count int, ok bool) {
	fields := strings.Fields(line)
	if len(fields) < 4 || fields[0] != "@@" || fields[3] != "@@" || !strings.HasPrefix(fields[2], "+") {
		return 0, 0, false
	}
	begin, length, given := strings.Cut(fields[2][1:], ",")
	first, err := strconv.Atoi(begin)
	if err != nil || first < 0 {
		return 0, 0, false
	}
	if count = 1; given {
		if count, err = strconv.Atoi(length); err != nil {
			return 0, 0, false
		}
	}
	return first, count, true
}

// Place is where a remark is, for people.
func (r Remark) Place() string { return fmt.Sprintf("%s:%d", r.Path, r.Line) }
