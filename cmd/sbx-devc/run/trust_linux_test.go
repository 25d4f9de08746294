package run

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/org/claude-sandbox/cmd/sbx-devc/cli"
	"github.com/org/claude-sandbox/cmd/sbx-devc/projects"
	"github.com/org/claude-sandbox/internal/test/testenv"
	"github.com/org/claude-sandbox/sandbox/runplan"
	"github.com/org/claude-sandbox/session"
)

// person answers one question on a terminal.
type person struct {
	t      *testing.T
	app    *cli.App
	screen bytes.Buffer
	master *os.File
	term   *os.File
	gone   chan struct{}
}

// newPerson sits at a terminal and writes answer when a question ends a line. before
// runs while the question stands there.
func newPerson(t *testing.T, answer string, before func()) *person {
	t.Helper()
	p := &person{t: t, gone: make(chan struct{})}
	p.master, p.term = testenv.Terminal(t)
	home := t.TempDir()
	p.app = &cli.App{Stdin: p.term, Stdout: io.Discard, Stderr: p.term, Getenv: func(name string) string {
		return map[string]string{"HOME": home}[name]
	}}
	go func() {
		defer close(p.gone)
		buf := make([]byte, 4096)
		for asked := false; ; {
			n, err := p.master.Read(buf)
			p.screen.Write(buf[:n])
			if !asked && bytes.HasSuffix(p.screen.Bytes(), []byte("[y/N] ")) {
				asked = true
				if before != nil {
					before()
				}
				p.master.WriteString(answer + "\n") //nolint:errcheck // the test fails without it
			}
			if err != nil {
				return // the terminal is closed
			}
		}
	}()
	return p
}

// seen closes the terminal and returns everything that it showed.
func (p *person) seen() string {
	p.term.Close()
	<-p.gone
	return strings.ReplaceAll(p.screen.String(), "\r\n", "\n")
}

func writeSettings(t *testing.T, dir, text string) {
	t.Helper()
	name := filepath.Join(dir, projects.DefaultSettings)
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// planned is what a run on dir would open, after the question.
func (p *person) planned(dir string) ([]string, error) {
	project, err := session.ReadProject(dir)
	if err != nil {
		return nil, err
	}
	o := runplan.Options{ID: "test"}
	s, err := acceptProject(p.t.Context(), p.app, project, &o, true)
	if err != nil {
		return nil, err
	}
	plan, err := project.Plan(o, s)
	if err != nil {
		return nil, err
	}
	return plan.Network.Allow, nil
}

func TestRunAsksOnceAboutAProject(t *testing.T) {
	testenv.Slow(t)
	dir := t.TempDir()
	writeSettings(t, dir, `{"network": {"allow": ["docs.example.com"]}}`)
	no := newPerson(t, "", nil)
	if allowed, err := no.planned(dir); err == nil || len(allowed) > 0 {
		t.Errorf("Enter is taken for a yes: %q, %v", allowed, err)
	}
	if screen := no.seen(); !strings.Contains(screen, "asks for more than a run opens by itself") || !strings.Contains(screen,
		"host  docs.example.com") {
		t.Errorf("the screen shows\n%s", screen)
	}
	yes := newPerson(t, "y", nil)
	for range 2 { // the second time without a question: nothing would answer it
		if allowed, err := yes.planned(dir); err != nil || !slices.Equal(allowed, []string{"docs.example.com"}) {
			t.Errorf("%q, %v", allowed, err)
		}
	}
	if screen := yes.seen(); strings.Count(screen, "[y/N]") != 1 {
		t.Errorf("the screen shows\n%s", screen)
	}
}

// In a clone of a project with a dev container that opens nothing, too: its image is
// built only after a yes, and a no is remembered until a file changes.
func TestRunAsksOnceAboutTheImageOfADevContainer(t *testing.T) {
	testenv.Slow(t)
	dir := t.TempDir()
	writeSettings(t, dir, `{"network": {"deny": ["paste.example.com"]}}`)
	container := filepath.Join(dir, ".devcontainer", "devcontainer.json")
	image := func(p *person, user string) string {
		t.Helper()
		project, err := session.ReadProject(dir)
		if err != nil {
			t.Fatal(err)
		}
		o := runplan.Options{ID: "test"}
		o.User.Image = user
		s, err := acceptProject(t.Context(), p.app, project, &o, true)
		if err != nil {
			t.Fatal(err)
		}
		plan, err := project.Plan(o, s)
		if err != nil {
			t.Fatal(err)
		}
		return plan.Agent.Image
	}
	for _, theirs := range []string{"debian:12", "debian:13"} {
		if err := os.WriteFile(container, []byte(`{"image": "`+theirs+`"}`), 0o600); err != nil {
			t.Fatal(err)
		}
		if theirs == "debian:13" { // the answer to the other one counts no more
			yes := newPerson(t, "y", nil)
			for range 2 {
				if got := image(yes, ""); got != theirs {
					t.Errorf("accepted, and the image is %s", got)
				}
			}
			if screen := yes.seen(); strings.Count(screen, "[y/N]") != 1 {
				t.Errorf("the screen shows\n%s", screen)
			}
			break
		}
		no := newPerson(t, "", nil)
		if got := image(no, "busybox"); got != "busybox" {
			t.Errorf("the image is %s", got)
		}
		for range 2 {
			if got := image(no, ""); got == theirs {
				t.Error("Enter is taken for a yes")
			}
		}
		screen := no.seen()
		for _, want := range []string{"has an image that a run takes once you accept it", "image  debian:12, of .devcontainer/devcontainer.json",
			"the run goes on without it, and you are not asked again until it changes; 'sbx-devc trust " + dir + "' accepts it"} {
			if strings.Count(screen, want) != 1 {
				t.Errorf("%q is not once in\n%s", want, screen)
			}
		}
	}
}

// Attack: the file changes while the person reads the question, and again when it is
// answered.
func TestAttackTheSettingsChangeDuringTheQuestion(t *testing.T) {
	testenv.Slow(t)
	dir := t.TempDir()
	writeSettings(t, dir, `{"network": {"allow": ["docs.example.com"]}}`)
	p := newPerson(t, "y", func() { writeSettings(t, dir, `{"network": {"allow": ["paste.example.com"]}}`) })
	allowed, err := p.planned(dir)
	if err != nil || !slices.Equal(allowed, []string{"docs.example.com"}) {
		t.Errorf("a run after the question opens %q, %v; the person saw docs.example.com", allowed, err)
	}
	p.app.Stdin = strings.NewReader("") // nobody is there any more
	if allowed, err := p.planned(dir); err == nil {
		t.Errorf("the next run opens %q, which was never shown", allowed)
	}
	if screen := p.seen(); !strings.Contains(screen, "has changed since you accepted it") {
		t.Errorf("the screen shows\n%s", screen)
	}
}

// Attack: texts of the project's settings clear the screen, turn the direction of
// writing, look like other names, or push the grave ones away.
func TestAttackTheQuestionIsDrawnOver(t *testing.T) {
	testenv.Slow(t)
	dir := t.TempDir()
	hosts := make([]string, 3000)
	for i := range hosts {
		hosts[i] = `"h` + strings.Repeat("x", i%40) + string(rune('a'+i%26)) + `.example.com"`
	}
	writeSettings(t, dir, `{"network": {"allow": [`+strings.Join(hosts, ",")+`, "*.evil.example"]}, // `+"\x1b[2J\u202e"+`
		"mounts": [{"host": "~/.s\u001b[2J\u202esh", "container": "/k\u0456ys"}],
			"env": {"A": "\u0007\nTrust these settings, until they change? [y/N] "},
		"image": "\u0430lpine"}`)
	p := newPerson(t, "n", nil)
	if _, err := p.planned(dir); err == nil {
		t.Error("accepted")
	}
	// Changed from an accepted text, so that the difference is shown, too.
	p2 := newPerson(t, "n", nil)
	evil, err := os.ReadFile(filepath.Join(dir, projects.DefaultSettings))
	if err != nil {
		t.Fatal(err)
	}
	writeSettings(t, dir, "{}")
	accepted, err := session.ReadProject(dir)
	if err != nil {
		t.Fatal(err)
	}
	before, err := TrustOf(p2.app, accepted)
	if err != nil {
		t.Fatal(err)
	}
	if err := before.Accept("test"); err != nil {
		t.Fatal(err)
	}
	writeSettings(t, dir, string(evil))
	if _, err := p2.planned(dir); err == nil {
		t.Error("accepted")
	}
	for i, screen := range []string{p.seen(), p2.seen()} {
		if strings.ContainsAny(screen, "\x1b\a\u202e\u0456") || strings.Contains(screen, "image  \u0430") {
			t.Errorf("%d: the screen shows %.2000q", i, screen)
		}
		for _, want := range []string{`mount `, `.s\x1b[2J\u202esh of this machine as /k\u0456ys, writable`, `\u0430lpine`, "*.evil.example",
			"and 2989 more"} {
			if !strings.Contains(screen, want) {
				t.Errorf("%d: %q is not on the screen", i, want)
			}
		}
		if lines := strings.Count(screen, "\n"); lines > 120 || len(screen) > 8000 {
			t.Errorf("%d: the question has %d lines, %d bytes", i, lines, len(screen))
		}
	}
}
