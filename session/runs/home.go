package runs

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/engine"
	"github.com/org/claude-sandbox/internal/exitcode"
	"github.com/org/claude-sandbox/internal/filekind"
	"github.com/org/claude-sandbox/sandbox"
	"github.com/org/claude-sandbox/sandbox/kept"
	"github.com/org/claude-sandbox/session/ledger"
)

// Home is where a user's runs are kept.
type Home struct {
	state string
	note  func(string)
	// Accepted returns the files that the user has accepted of the project in a folder, by
	// their real paths, see sandbox.Callbacks; nil = none. Reap asks it.
	Accepted func(dir string) map[string][]byte
}

// HomeOf finds it by the environment. note gets lines for people.
func HomeOf(getenv func(string) string, note func(string)) Home {
	if dir := getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return Home{state: filepath.Join(dir, "sbx-devc"), note: note}
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return Home{state: filepath.Join(os.TempDir(), "sbx-devc-"+strconv.Itoa(os.Getuid())), note: note}
	}
	return Home{state: filepath.Join(home, ".local", "state", "sbx-devc"), note: note}
}

// Dir holds the runs, each in a folder of its name.
func (h Home) Dir() string { return filepath.Join(h.state, "runs") }

// Kept is where what outlives runs is, see package kept.
func (h Home) Kept() kept.Root { return kept.Root(h.state) }

// Live is where runs that go on are noted, see sandbox.Reap.
func (h Home) Live() string { return filepath.Join(h.state, "live") }

// ledger is where runs note what they spend.
func (h Home) ledger() string { return filepath.Join(h.state, "ledger") }

// Ledger is where a run of a project notes what it spends, and sees what others do.
func (h Home) Ledger(id, project string) *ledger.Ledger {
	return ledger.Open(h.ledger(), id, project, time.Now)
}

// ByRun has a row for each run that is kept, from its summary.
const ByRun ledger.By = "run"

// Usage is what the runs of a project, or with "" all, used of the model: by run of those
// that are kept, else since a time, also by runs that go on or were removed.
func (h Home) Usage(project string, by ledger.By, since time.Time) (rows []ledger.Row, err error) {
	if by != ByRun {
		return ledger.Table(h.ledger(), since, project, by)
	}
	for _, r := range h.List(project) {
		rows = append(rows, ledger.Row{Key: r.ID, Usage: r.Metered, USD: r.CostUSD})
	}
	return rows, nil
}

// idTime is how an id begins: with the time of the run's start, UTC.
const idTime = "20060102-150405"

// NewID names a run so that names sort by time and never meet.
func NewID() string {
	var random [3]byte
	_, _ = rand.Read(random[:]) // never fails
	return time.Now().UTC().Format(idTime) + "-" + hex.EncodeToString(random[:])
}

// idForm is how NewID names runs: no path, so that a word on the command line is
// one or the other.
var idForm = regexp.MustCompile(`^[0-9]{8}-[0-9]{6}-[0-9a-f]{6}$`)

// Make makes the folder of a run.
func (h Home) Make(id string) (string, error) {
	folder := filepath.Join(h.Dir(), id)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		err = fmt.Errorf("making the run's folder: %w", err)
		return "", exitcode.With(exitcode.Internal,
			diag.WithHint(err, "set XDG_STATE_HOME to a folder that you may write to; runs are kept in its sbx-devc/runs"))
	}
	return folder, nil
}

// find returns the folder of the run whose id or name is given, of several of that name
// the newest. Any other word, and the name of a file which is there, is returned as it is.
func (h Home) find(name string) string {
	if exists(name) {
		return name
	}
	if idForm.MatchString(name) {
		return filepath.Join(h.Dir(), name)
	}
	if CheckName(name) == nil {
		for _, folder := range h.newest() {
			if readSummary(folder).Name == name {
				return folder
			}
		}
	}
	return name
}

// Unknown is the error of a word that names no run, and nothing else that could stand
// there, as what says; with the run that may be meant.
func (h Home) Unknown(what, word string) error {
	var known []string
	for id, folder := range h.newest() {
		known = append(known, id)
		if name := readSummary(folder).Name; name != "" {
			known = append(known, name)
		}
	}
	hint := "'sbx-devc ls --all' lists the runs"
	if best := diag.Suggest(word, known); best != "" {
		hint = "did you mean " + best + "? " + hint
	}
	return exitcode.With(exitcode.NoInput, diag.WithHint(fmt.Errorf("there is no %s %q", what, word), "%s", hint))
}

// Named is the run that name means: an id, a name or a run's folder.
func (h Home) Named(name string) (Run, error) {
	folder := h.find(name)
	if r, ok := h.Run(folder); ok && filekind.IsFolder(folder) {
		return r, nil
	}
	return Run{}, h.Unknown("run", name)
}

// Latest is the newest run of a project, "" = of any, that goes on, or else the newest one.
func (h Home) Latest(project string) (Run, error) {
	list := h.List(project)
	if len(list) == 0 {
		err := fmt.Errorf("there is no run of %s", cmp.Or(project, "any project"))
		return Run{}, exitcode.With(exitcode.NoInput, diag.WithHint(err, "'sbx-devc ls --all' lists the runs"))
	}
	return list[max(0, slices.IndexFunc(list, Run.GoesOn))], nil
}

// Has reports whether a run of this id is among these.
func (h Home) Has(id string) bool {
	return idForm.MatchString(id) && filekind.IsFolder(filepath.Join(h.Dir(), id))
}

// nameForm is a name that a person gives a run: no path and no flag.
var nameForm = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,39}$`)

// Folder is the folder of the run that name means, an id, a name or a folder; "" means the
// newest run of a project. It errs for none, and for a run that had no sandbox.
func (h Home) Folder(project, name string) (string, error) {
	folder := h.find(name)
	var err error
	switch {
	case name == "":
		folder, err = h.newestOf(false, project)
	case !filekind.IsFolder(folder):
		err = h.Unknown("run", name)
	}
	if err == nil {
		err = checkSandbox(folder)
	}
	if err != nil {
		return "", err
	}
	return filepath.Abs(folder)
}

// CheckName errs on what cannot be the name of a run.
func CheckName(name string) error {
	if !nameForm.MatchString(name) || idForm.MatchString(name) {
		return diag.WithHint(fmt.Errorf("%q cannot be a run's name", name),
			"a name has lower case letters, digits, - and _, at most 40, and begins with one of the first two")
	}
	return nil
}

// CheckNameFree errs when a run that goes on has the name: the name would not tell
// the two apart.
func (h Home) CheckNameFree(name string) error {
	for id, folder := range h.newest() {
		if name != "" && h.goesOn(id) && readSummary(folder).Name == name {
			return exitcode.With(exitcode.Locked, diag.WithHint(fmt.Errorf("the run %s, which goes on, has the name %s", id, name),
				"take another name, or end it first: sbx-devc stop %s", name))
		}
	}
	return nil
}

// newest yields the ids and folders of all runs, the newest first. A folder that has no
// run's name is left alone, and a folder that cannot be read holds none.
func (h Home) newest() iter.Seq2[string, string] {
	return func(yield func(id, folder string) bool) {
		entries, _ := os.ReadDir(h.Dir())
		for _, e := range slices.Backward(entries) { // names begin with the time
			if idForm.MatchString(e.Name()) && !yield(e.Name(), filepath.Join(h.Dir(), e.Name())) {
				return
			}
		}
	}
}

// newestOf is the folder of the newest run, of those that left an audit log or
// of all, and of those of a project or, for "", of all. A newer one that is passed
// over because it has no log yet is noted. That there is none is an error, which
// names the run that it could be meant for.
func (h Home) newestOf(withLog bool, project string) (string, error) {
	other, former, without, bare := "", "", "", ""
	for id, folder := range h.newest() {
		summary := readSummary(folder)
		mine := project == "" || summary.isOf(project)
		switch {
		case withLog && mine && checkSandbox(folder) != nil:
			bare = cmp.Or(bare, id)
		case withLog && !filekind.IsRegular(filepath.Join(folder, sandbox.AuditFile)):
			if mine {
				without = cmp.Or(without, id)
			}
		case mine:
			if bare != "" {
				h.note(fmt.Sprintf("note: this is about %s; a newer run, %s, %s", id, bare, hadNoSandbox))
			}
			if without != "" {
				h.note(fmt.Sprintf("note: this is about %s; a newer run, %s, has no audit log yet: "+
					"name it to ask its containers, while they are there", id, without))
			}
			return folder, nil
		case summary.Folder == project:
			former = cmp.Or(former, id)
		default:
			other = cmp.Or(other, folder)
		}
	}
	what := "no run"
	hint := "name a run, or go to the project's folder; or run something first: sbx-devc run 'PROMPT'"
	if withLog {
		hint = "name the folder of a project with a dev container, or an audit.jsonl; or run something first: sbx-devc run 'PROMPT'"
	}
	if project != "" {
		what += " of " + project
	}
	if withLog {
		what += " with an audit log"
	}
	if bare != "" {
		hint = fmt.Sprintf("the run %s %s", bare, hadNoSandbox)
	}
	if former != "" {
		hint += fmt.Sprintf("; the run %s was of another folder, which was in this place before: to take it, name it", former)
	}
	if other != "" {
		of := cmp.Or(projectOf(other), "a project that it does not name")
		hint += fmt.Sprintf("; the newest run of another project is %s, of %s", filepath.Base(other), of)
	}
	return "", exitcode.With(exitcode.NoInput, diag.WithHint(fmt.Errorf("%s in %s", what, h.Dir()), "%s", hint))
}

// Projects are the folders that runs were of.
func (h Home) Projects() map[string]bool {
	folders := map[string]bool{}
	for _, folder := range h.newest() {
		folders[projectOf(folder)] = true
	}
	return folders
}

// projectOf is the project that a run was of; "" when its summary does not say.
func projectOf(run string) string { return readSummary(run).Folder }

// reapBudget bounds cleaning up behind runs that were killed, while somebody
// waits for something else.
const reapBudget = time.Minute

// Reap cleans up behind runs whose program was killed, and notes it. It must come
// before anybody looks at a project, where they left placeholders. The work of a run that
// named names is tried to be taken however often that has failed; "" = none is named.
func (h Home) Reap(ctx context.Context, named string) {
	ctx, cancel := context.WithTimeout(ctx, reapBudget)
	defer cancel()
	slow := time.AfterFunc(silentStart, func() { h.note("waiting for the engine, to clean up behind runs that did not end in order") })
	defer slow.Stop()
	if named != "" {
		sandbox.TryAgain(h.Live(), filepath.Base(h.find(named)))
	}
	for _, line := range sandbox.Reap(ctx, h.Live(), engine.Connect, h.Accepted) {
		h.note(line)
	}
	sockets, _ := filepath.Glob(filepath.Join(h.Live(), "*"+socketSuffix)) // the pattern is ours
	for _, name := range sockets {
		if id := strings.TrimSuffix(filepath.Base(name), socketSuffix); idForm.MatchString(id) && !h.goesOn(id) {
			_ = os.Remove(name)
		}
	}
}

func exists(name string) bool {
	_, err := os.Lstat(name)
	return !errors.Is(err, os.ErrNotExist)
}
