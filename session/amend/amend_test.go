package amend_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/org/claude-sandbox/firewall"
	"github.com/org/claude-sandbox/firewall/control"
	"github.com/org/claude-sandbox/internal/test/testenv"
	"github.com/org/claude-sandbox/internal/userdir"
	"github.com/org/claude-sandbox/session/amend"
	"github.com/org/claude-sandbox/settings"
	"github.com/org/claude-sandbox/settings/trust"
)

// newPlace is the file of a project with the text, "" = without a file.
func newPlace(t *testing.T, text string) amend.Place {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	p := amend.Place{File: filepath.Join(dir, ".devcontainer", "sandbox.jsonc"),
		Lock: filepath.Join(t.TempDir(), "state", "lock"), Project: dir}
	if p.Trust, err = trust.Open(userdir.Dir(filepath.Join(t.TempDir(), "config")), dir); err != nil {
		t.Fatal(err)
	}
	if text != "" {
		if err := os.Mkdir(filepath.Dir(p.File), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p.File, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return p
}

func standing(t *testing.T, p amend.Place) trust.Standing {
	t.Helper()
	file, err := settings.ReadFile(p.File)
	if err != nil {
		t.Fatal(err)
	}
	project, err := trust.Project(p.Project)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := p.Trust.Look(project, trust.Of(file))
	if err != nil {
		t.Fatal(err)
	}
	return answer.Standing
}

func allow(entries ...string) amend.Request { return amend.Request{List: "allow", Entries: entries} }

// Attack on the user's own work: commands at the same time, each of which has read
// the file before another one writes it.
func TestAttackManyEditsAtTheSameTime(t *testing.T) {
	p := newPlace(t, `{"network": {"allow": []}}`)
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			if _, _, err := p.Edit(allow(fmt.Sprintf("host%d.example", i))); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	file, err := p.Read()
	if err != nil || len(file.Settings.Network.Allow) != 20 {
		t.Errorf("%v, %v", file, err)
	}
}

func TestTrustFollowsTheUsersOwnEditAlone(t *testing.T) {
	p := newPlace(t, "")
	if _, trusted, err := p.Edit(allow("first.example")); err != nil || !trusted || standing(t, p) != trust.Trusted {
		t.Fatalf("a new file: trusted %t, %v", trusted, err)
	}
	if _, trusted, err := p.Edit(allow("second.example")); err != nil || !trusted || standing(t, p) != trust.Trusted {
		t.Fatalf("an edit of a trusted file: trusted %t, %v", trusted, err)
	}
	// Attack: the project changes its file, and waits for the user's next edit.
	text, err := os.ReadFile(p.File)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(p.File, []byte(strings.Replace(string(text), "first", "evil", 1)), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, trusted, err := p.Edit(allow("third.example")); err != nil || trusted || standing(t, p) == trust.Trusted {
		t.Errorf("an edit of a file that another hand has changed: trusted %t, %v", trusted, err)
	}
}

// Attack: lists of the file that lead out of the project, files that are links, and a
// pipe in the place of the file.
func TestAttackTheFileIsAnothers(t *testing.T) {
	for name, prepare := range map[string]func(p amend.Place) error{
		"a list by a link": func(p amend.Place) error {
			return os.Symlink("/etc/passwd", filepath.Join(filepath.Dir(p.File), "hosts.txt"))
		},
		"the file is a link": func(p amend.Place) error {
			if err := os.Rename(p.File, p.Project+"/real.jsonc"); err != nil {
				return err
			}
			return os.Symlink(p.Project+"/real.jsonc", p.File)
		},
		"the folder is a link": func(p amend.Place) error {
			if err := os.Rename(filepath.Dir(p.File), p.Project+"/real"); err != nil {
				return err
			}
			return os.Symlink(p.Project+"/real", filepath.Dir(p.File))
		},
	} {
		t.Run(name, func(t *testing.T) {
			text := `{"network": {"allow": ["a.example"]}}`
			if strings.Contains(name, "list") {
				text = `{"network": {"allow": ["@hosts.txt"]}}`
			}
			p := newPlace(t, text)
			if err := prepare(p); err != nil {
				testenv.Missing(t, "a file system for this case", err.Error())
			}
			if edit, _, err := p.Edit(allow("b.example")); err == nil {
				t.Errorf("became %s", edit.After)
			}
		})
	}
}

func TestLines(t *testing.T) {
	container, run := amend.Firewall{Name: "the dev container x"}, amend.Firewall{Name: "the run y", Run: true}
	tests := []struct {
		f       amend.Firewall
		r       amend.Request
		network firewall.Network
		want    string
	}{
		{container, allow("a.example"), firewall.Network{Allow: []string{"a.example"}}, "a.example is open now in the dev container x"},
		{container, allow("a.example", "b.example", "c.example"), firewall.Network{Allow: []string{"c.example", "a.example", "b.example"}},
			"a.example, b.example and c.example are open now in the dev container x"},
		{run, allow("a.example", "b.example"), firewall.Network{Allow: []string{"a.example", "b.example"}, Deny: []string{"*.example"}},
			"a.example and b.example are closed now in the run y: it denies *.example"},
		{run, allow("a.example", "b.example"), firewall.Network{Allow: []string{"a.example", "b.example"}, Deny: []string{"b.example"}},
			"a.example is open now in the run y; b.example is closed now: it denies b.example"},
		{run, allow("a.example"), firewall.Network{Mode: firewall.ModeNone, Allow: []string{"a.example"}},
			"a.example is closed now in the run y: its mode is none"},
		{run, allow("a.example"), firewall.Network{Mode: firewall.ModeAudit}, "a.example is open now in the run y: by mode audit"},
		{container, amend.Request{List: "deny", Entries: []string{"a.example"}}, firewall.Network{Deny: []string{"a.example"}},
			"a.example is closed now in the dev container x"},
		{container, amend.Request{List: "allow", Entries: []string{"a.b.example"}, Remove: true},
			firewall.Network{Allow: []string{"*.b.example"}},
			"a.b.example is open now in the dev container x: by *.b.example"},
		{container, amend.Request{List: "presets", Entries: []string{"npm"}}, firewall.Network{Presets: []string{"npm"}},
			"npm is open now in the dev container x"},
		{run, amend.Request{List: "presets", Entries: []string{"npm"}}, firewall.Network{Mode: firewall.ModeNone, Presets: []string{"npm"}},
			"npm is closed now in the run y: its mode is none"},
		{container, allow("a.example"), firewall.Network{Allow: []string{"\x1b[2J"}}, "the dev container x answered with a policy that is none"},
	}
	for _, tt := range tests {
		if got := tt.f.Line(tt.r, amend.Outcome{Answer: control.Amended{Network: tt.network}}); got != tt.want {
			t.Errorf("got  %s\nwant %s", got, tt.want)
		}
	}
}
