package decision

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/sandbox/changes"
	"github.com/org/claude-sandbox/session/runs"
	"github.com/org/claude-sandbox/workspace/gitdir"
)

// A person who asks for the changes of the last run is told when they are those of another one.
func TestTheNewestRunWithoutChangesIsNamed(t *testing.T) {
	state := t.TempDir()
	h := runs.HomeOf(func(string) string { return state }, func(string) {})
	for id, text := range map[string]string{
		"20260101-000000-aaaaaa": `{"folder":"/p"}`,
		"20260102-000000-aaaaaa": `{"folder":"/p","workspace":"ro"}`,
		"20260103-000000-aaaaaa": `{"folder":"/p"}`,
		"20260104-000000-aaaaaa": `{"folder":"/q","workspace":"none"}`,
		"20260105-000000-aaaaaa": `{"folder":"/r","workspace":"bind"}`,
		"20260106-000000-aaaaaa": `{"folder":"/r","conclusion":"unsandboxed"}`,
		"20260107-000000-aaaaaa": `{"folder":"/t","workspace":"copy"}`,
	} {
		folder, err := h.Make(id)
		if err == nil {
			err = os.WriteFile(filepath.Join(folder, "summary.json"), []byte(text), 0o600)
		}
		if err == nil && (id == "20260101-000000-aaaaaa" || id == "20260105-000000-aaaaaa") {
			err = os.WriteFile(filepath.Join(folder, changes.SetFile), nil, 0o600)
		}
		if err == nil && strings.Contains(text, "copy") { // its program was killed
			err = os.Mkdir(filepath.Join(folder, "tree"), 0o700)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct{ project, folder, note string }{
		{"/p", "20260101-000000-aaaaaa", "20260103-000000-aaaaaa has nothing to review: its agent did not begin"},
		{"/q", "", "20260104-000000-aaaaaa has nothing to review: with --workspace none"},
		{"/r", "20260105-000000-aaaaaa", "20260106-000000-aaaaaa had no sandbox"},
		{"/s", "", ""},
		{"/t", "", "copy of the project is there: diff -r /t "},
	} {
		m, err := Find(t.Context(), h, c.project, "", ToShow)
		if m.Note += diag.HintOf(err); (err == nil) != (c.folder != "") || !strings.HasSuffix(m.Folder, c.folder) ||
			!strings.Contains(m.Note, c.note) {
			t.Errorf("%s: %+v %v", c.project, m, err)
		}
	}
	if _, err := Find(t.Context(), h, "", "20260102-000000-aaaaaa", ToShow); err == nil ||
		!strings.Contains(diag.HintOf(err), "--workspace ro its agent could change no file") {
		t.Errorf("%v", err)
	}
}

// keptRun is a run in a folder of its own: of a copy or in the project, with one new file
// or without, with commits or without, and with decisions.
type keptRun struct {
	id, workspace string // "copy": its tree is there; "gone": it was
	changed       bool
	commits       bool
	taken         Taken
}

func (r keptRun) keep(t *testing.T, h runs.Home) {
	t.Helper()
	folder, err := h.Make(r.id)
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(err)
	summary := map[string]any{"folder": "/p", "workspace": "bind"}
	if r.workspace != "" {
		summary["workspace"], summary["workTree"] = "copy", "tree"
	}
	if r.workspace == "copy" {
		must(os.Mkdir(filepath.Join(folder, "tree"), 0o700))
	}
	if r.commits {
		summary["commits"] = []gitdir.Commits{{Branch: "sbx/" + r.id, Head: strings.Repeat("1", 40),
			Bundle: "commits.bundle", Dir: "/nonexistent"}}
	}
	text, err := json.Marshal(summary)
	must(err)
	must(os.WriteFile(filepath.Join(folder, "summary.json"), text, 0o600))
	set := &changes.Set{}
	if r.changed {
		set = changes.Of([]changes.Pair{{Path: "new.txt", After: &changes.State{What: changes.File, Mode: 0o644, Size: 2},
			New: []byte("x\n")}}, nil)
	}
	must(set.Save(folder))
	if r.taken != nil {
		must(r.taken.Save(folder))
	}
}

// Attack: a run that changed nothing, or one about which everything is decided, hides the
// changes of the run before from whoever reviews, takes or discards "the" changes.
func TestAttackALaterRunHidesTheChangesOfAnEarlierOne(t *testing.T) {
	const a, b, c = "20260101-000000-aaaaaa", "20260102-000000-bbbbbb", "20260103-000000-cccccc"
	probe := runs.HomeOf(func(string) string { return t.TempDir() }, func(string) {})
	keptRun{id: a, changed: true}.keep(t, probe)
	folder, err := probe.Folder("", a)
	if err != nil {
		t.Fatal(err)
	}
	r := &Run{Folder: folder}
	if err := r.review(); err != nil {
		t.Fatal(err)
	}
	hunk := r.Review.Files[0].Hunks[0].ID
	accepted, refused := Taken{hunk: true}, Taken{hunk: false}
	for name, test := range map[string]struct {
		runs    []keptRun
		purpose Purpose
		want    string // the run that is meant
		earlier string
		note    string
	}{
		"the newest":            {[]keptRun{{id: a, changed: true}, {id: b, changed: true}}, ToReview, b, a, ""},
		"an empty one is newer": {[]keptRun{{id: a, changed: true}, {id: b}}, ToReview, a, "", b + " changed no file"},
		"diff passes over it":   {[]keptRun{{id: a, changed: true, taken: accepted}, {id: b}}, ToShow, a, "", b + " changed no file"},
		"diff of a decided one": {[]keptRun{{id: a, changed: true}, {id: b, changed: true, taken: refused}}, ToShow, b, "", ""},
		"a decided one is newer": {[]keptRun{{id: a, changed: true}, {id: b, changed: true, taken: accepted}}, ToReview, a, "",
			"everything is decided about the run " + b},
		"other decisions": {[]keptRun{{id: a, changed: true}, {id: b, changed: true, taken: Taken{"x": true}}}, ToReview, b,
			a, ""},
		"all is decided": {[]keptRun{{id: a, changed: true, taken: accepted}, {id: b, changed: true, taken: refused}, {id: c}},
			ToReview, b, "", c + " changed no file"},
		"nothing at all": {[]keptRun{{id: a}, {id: b}}, ToReview, b, "", ""},
		"a copy is gone": {[]keptRun{{id: a, workspace: "copy", changed: true}, {id: b, workspace: "gone", changed: true}},
			ToReview, a, "", b},
		"commits below a run without": {[]keptRun{{id: a, commits: true}, {id: b, changed: true}}, ToTake, a, "", b + " made no commits"},
		"commits that are taken": {[]keptRun{{id: a, commits: true}, {id: b, commits: true, taken: Taken{"sbx/" + b: true}}}, ToTake, a,
			"", b + " left is taken"},
		"commits that are refused": {[]keptRun{{id: a, commits: true, taken: Taken{"sbx/" + a: false}}, {id: b}}, ToTake, a, "",
			b + " made no commits"},
		"two with commits": {[]keptRun{{id: a, commits: true}, {id: b, commits: true}}, ToTake, b, a, ""},
		"a copy": {[]keptRun{{id: a, workspace: "copy", changed: true}, {id: b, changed: true}}, ToTake, a, "",
			b + " made no commits"},
		"nothing to take": {[]keptRun{{id: a, changed: true}, {id: b, changed: true}}, ToTake, b, "", ""},
		"a person discards": {[]keptRun{{id: a, changed: true}, {id: b, changed: true, taken: refused}}, ToDiscard, a, "",
			"decided about the run " + b},
		"a script discards once":          {[]keptRun{{id: a, changed: true}, {id: b, changed: true, taken: refused}}, ToDiscardUnseen, b, a, ""},
		"a script discards what it sees":  {[]keptRun{{id: a, changed: true}, {id: b}}, ToDiscardUnseen, a, "", b + " changed no file"},
		"a script discards commits alone": {[]keptRun{{id: a, changed: true}, {id: b, commits: true}}, ToDiscardUnseen, b, a, ""},
	} {
		state := t.TempDir()
		h := runs.HomeOf(func(string) string { return state }, func(string) {})
		for _, r := range test.runs {
			r.keep(t, h)
		}
		m, err := Find(t.Context(), h, "/p", "", test.purpose)
		if err != nil || filepath.Base(m.Folder) != test.want || m.EarlierRun != test.earlier || !strings.Contains(m.Note, test.note) ||
			(m.Note == "") != (test.note == "") {
			t.Errorf("%s: %s, %+v %v", name, filepath.Base(m.Folder), m, err)
		}
	}
}
