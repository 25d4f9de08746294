//go:build unix

package sandbox

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/org/claude-sandbox/firewall"
	"github.com/org/claude-sandbox/firewall/audit"
	"github.com/org/claude-sandbox/firewall/report"
	"github.com/org/claude-sandbox/sandbox/changes"
	"github.com/org/claude-sandbox/sandbox/runplan"
	"github.com/org/claude-sandbox/workspace"
	"github.com/org/claude-sandbox/workspace/obeyed"
)

// Attack: the agent changes files and makes git blind for it. The run's own diff
// shows each change, whatever git on this machine says.
func TestAttackChangesThatGitDoesNotShow(t *testing.T) {
	e := connect(t)
	r := newRepository(t)
	r.write("Makefile", "all:\n\techo built\n")
	r.git("project", "add", "-A")
	r.git("project", "commit", "-q", "-m", "two")
	tr := (&trial{dir: r.dir, options: shell(`
cd /workspace
printf 'all:\n\techo BUILT\n' > Makefile; touch -d 2001-01-01 Makefile
git update-index --skip-worktree Makefile
echo 'import os' > conftest.py; printf 'conftest.py\n.gitignore\ndeep\n' > .gitignore
mkdir -p deep/down; echo evil > deep/down/.envrc; echo channel > rust-toolchain.toml
ln -s /etc/passwd link; printf 'x' > "$(printf 'a\n\033[2Jb')"
echo the end`)}).run(t, e)
	if tr.err != nil || !strings.Contains(tr.stdout.String(), "the end") {
		t.Fatalf("%v: %s", tr.err, tr.stderr.String())
	}
	got := map[string]changes.Change{}
	for _, c := range tr.result.Changes.Changes {
		got[c.Path] = c
	}
	for path, want := range map[string]struct {
		kind  changes.Kind
		class obeyed.Class
	}{
		"Makefile": {changes.Changed, obeyed.Build}, "conftest.py": {changes.Added, obeyed.Build}, ".gitignore": {changes.Added, obeyed.None},
		"deep/down/.envrc": {changes.Added, obeyed.Shell}, "rust-toolchain.toml": {changes.Added, obeyed.Shell},
		"link": {changes.Added, obeyed.None}, "a\n\x1b[2Jb": {changes.Added, obeyed.None},
	} {
		if c, ok := got[path]; !ok || c.Kind != want.kind || c.Class != want.class {
			t.Errorf("%q: got %+v, want %+v", path, c, want)
		}
	}
	patch, err := os.ReadFile(tr.result.Files.Changes)
	if err != nil || !strings.Contains(string(patch), "-\techo built\n+\techo BUILT\n") || !strings.Contains(string(patch), "+import os\n") {
		t.Errorf("the diff in the run's folder: %v\n%s", err, patch)
	}
	var summary struct {
		ChangedFiles      []string
		ChangedFilesCount int
		Warnings          []string
	}
	text, err := os.ReadFile(filepath.Join(tr.state, SummaryFile))
	if err != nil || json.Unmarshal(text, &summary) != nil {
		t.Fatalf("%v: %s", err, text)
	}
	warnings := strings.Join(summary.Warnings, "\n")
	if summary.ChangedFilesCount < 7 || !strings.Contains(strings.Join(summary.ChangedFiles, "|"), "deep/down/.envrc") ||
		!strings.Contains(warnings, "deep/down/.envrc") || !strings.Contains(warnings, "Makefile") {
		t.Errorf("the summary: %+v", summary)
	}
	if left, _ := filepath.Glob(filepath.Join(tr.state, "before-*")); len(left) > 0 {
		t.Errorf("copies stay behind: %q", left)
	}
}

// A run that only looks leaves no changes, and none of its own placeholders.
func TestARunThatChangesNothingShowsNothing(t *testing.T) {
	e := connect(t)
	tr := (&trial{git: true, options: shell(`cat /workspace/main.go; ls -la /workspace`)}).run(t, e)
	if !tr.result.Changes.Empty() {
		t.Errorf("shown: %+v", tr.result.Changes)
	}
}

// Attack: names by the thousand that programs obey, sparse, so that they cost the
// agent nothing: before and after a run nothing reads them all or names them all.
func TestAttackObeyedFilesByTheThousand(t *testing.T) {
	t.Parallel()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	before, err := changes.Take(t.Context(), dir, changes.Options{Keep: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer before.Close()
	for i := range 20_000 {
		name := filepath.Join(dir, fmt.Sprintf(".envrc.%d", i))
		if i%2 == 0 {
			name = filepath.Join(dir, fmt.Sprintf("%d.code-workspace", i))
		}
		if f, err := os.Create(name); err != nil || f.Truncate(1<<40) != nil || f.Close() != nil {
			t.Fatal(err)
		}
	}
	w, err := workspace.Inspect(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(w.Protect) > 64+20 || !strings.Contains(strings.Join(w.Notes, "\n"), "more than 64 settings") {
		t.Errorf("%d protected paths, notes %q", len(w.Protect), w.Notes)
	}
	s := lookedBefore(t, before)
	s.end(t.Context())
	if text := strings.Join(s.notices.result.Warnings, "\n"); len(text) > 2000 || !strings.Contains(text, "19,980 more") {
		t.Errorf("%d bytes of warnings: %.2000s", len(text), text)
	}
	if n := s.notices.result.Changes.Files; n != 20_000 {
		t.Errorf("counted %d files", n)
	}
}

// Attack: the agent tries another host with every packet, and the summary grows
// with it.
func TestAttackRefusalsByTheThousand(t *testing.T) {
	rows := report.NewCollector(nil)
	for i := range 450_000 {
		rows.Add(audit.Record{Verdict: firewall.Deny, Layer: audit.LayerIP, Dst: fmt.Sprintf("198.51.%d.%d", i>>16, i&0xffff), Port: uint16(i),
			Reason: "not on the allowlist"})
	}
	rows.Add(audit.Record{Verdict: firewall.Allow, Layer: audit.LayerDNS, Name: "docs.example.com", Rule: "docs.example.com"})
	result := &Result{Egress: rows.Report()}
	if got := len(result.Egress.Rows); got != 5001 || result.Egress.More != 445_000 {
		t.Errorf("%d rows, %d more", got, result.Egress.More)
	}
	var out bytes.Buffer
	if err := WriteSummary(&out, result, nil); err != nil {
		t.Fatal(err)
	}
	if out.Len() > 1<<20 || !strings.Contains(out.String(), `"egressMore": 449001`) {
		t.Errorf("a summary of %d bytes: %.300s", out.Len(), out.String())
	}
}

// Attack: the agent fills the caller's log through its standard error, at four
// bytes for one.
func TestAttackStandardErrorWithoutEnd(t *testing.T) {
	t.Parallel()
	e := connect(t)
	tr := (&trial{options: shell(`head -c 33554432 /dev/zero | tr '\0' '\033' >&2; echo the end`)}).run(t, e)
	if tr.err != nil || !strings.Contains(tr.stdout.String(), "the end") {
		t.Fatalf("%v", tr.err)
	}
	if n := tr.stderr.Len(); n > maxStderr+200 || !strings.Contains(tr.stderr.String()[n-200:], "the rest is dropped") {
		t.Errorf("%d bytes arrived, which end in %q", n, tr.stderr.String()[n-200:])
	}
}

// Signals after the agent's end: the first one ends the looking, the second the
// removal, too.
func TestSignalsCountAfterTheAgentsEnd(t *testing.T) {
	signals, said := make(chan os.Signal), make(chan string, 1)
	e := newEnding(t.Context(), endTimeout, signals, func(s string) { said <- s })
	defer e.stop()
	if e.signal() != 0 || e.look.Err() != nil {
		t.Fatal("it is over before it began")
	}
	signals <- syscall.SIGTERM
	<-e.look.Done()
	if e.remove.Err() != nil || !strings.Contains(<-said, "terminated") {
		t.Error("one signal ended the removal, or nobody was told")
	}
	if code := e.signal(); code != 128+15 {
		t.Errorf("exit code %d", code)
	}
	signals <- syscall.SIGINT
	<-e.remove.Done()
	if deadline, ok := e.look.Deadline(); !ok || deadline.IsZero() {
		t.Error("the looking has no end of its own")
	}
}

// lookedBefore is the search of a run whose agent has ended.
func lookedBefore(t *testing.T, before *changes.Before) *search {
	t.Helper()
	s := newSearch(&tree{
		plan: &runplan.Plan{Project: &workspace.Mounts{}}, folder: folder(t.TempDir()),
		notices: &notices{say: func(s string) { t.Error(s) }, result: &Result{}},
	}, nil, nil)
	s.before = before
	close(s.looked)
	return s
}

// A start that fails after the agent's container was made, and a project that
// could not be looked at: the run ends with what it has.
func TestNothingToLookAtEndsARunAsWell(t *testing.T) {
	s := lookedBefore(t, nil)
	if s.end(t.Context()); s.notices.result.Changes != nil || s.notices.result.Files.Changes != "" {
		t.Errorf("%+v", s.notices.result)
	}
}

// A look that was ended says so, and no file with a dangerous name is lost.
func TestALookThatWasEndedSaysSo(t *testing.T) {
	dir := t.TempDir()
	before, err := changes.Take(t.Context(), dir, changes.Options{Keep: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer before.Close()
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errEndSignal)
	s := lookedBefore(t, before)
	s.end(ctx)
	if text := strings.Join(s.notices.result.Warnings, "\n"); !strings.Contains(text, "a signal ended it") {
		t.Errorf("warnings: %s", text)
	}
}
