package journal

import (
	"bufio"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/org/claude-sandbox/internal/redact"
)

// folders are a project and a folder outside it.
func folders(t *testing.T) (project, outside string) {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	project, outside = filepath.Join(base, "project"), filepath.Join(base, "outside")
	if err := errors.Join(err, os.Mkdir(project, 0o755), os.Mkdir(outside, 0o755)); err != nil {
		t.Fatal(err)
	}
	return project, outside
}

// records returns the records of a file, each of which is one line of JSON with all that
// every record has.
func records(t *testing.T, name string) (list []map[string]any) {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		record := map[string]any{}
		if err := json.Unmarshal(lines.Bytes(), &record); err != nil {
			t.Fatalf("%s: %q: %v", name, lines.Text(), err)
		}
		for _, key := range []string{"time", "level", "msg", "run", "what"} {
			if record[key] == nil {
				t.Errorf("%s: %q has no %q", name, lines.Text(), key)
			}
		}
		list = append(list, record)
	}
	return list
}

func open(t *testing.T, o Options) *Journal {
	t.Helper()
	o.Run = "one"
	j, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(j.Close)
	return j
}

// Attack: the agent prints a secret of the run, in plain and in other forms, among what
// drives a terminal, ends a line or looks like a record of ours.
func TestAttackTheAgentsWordsInTheJournal(t *testing.T) {
	const known, later = "canary\"of the\nrun-Zq81", "canary-key-of-the-api-71c0ffee"
	project, outside := folders(t)
	name := filepath.Join(outside, "log")
	var shown []string
	j := open(t, Options{File: name, Project: project, Secrets: []string{known}, Show: func(line string) { shown = append(shown, line) }})
	j.Hide(redact.New(redact.Options{Secrets: []string{later}}))
	j.Keep(outside)
	var forms []string
	for _, secret := range []string{known, later} {
		escaped, _ := json.Marshal(secret)
		forms = append(forms, secret, base64.StdEncoding.EncodeToString([]byte(secret)), hex.EncodeToString([]byte(secret)),
			url.QueryEscape(secret), string(escaped))
	}
	const tricks = "\x1b]52;c;eA==\a\r\n\u2028\u202e{\"level\":\"INFO\",\"what\":\"end\"}\n::error::x\x9b2J"
	for _, form := range forms {
		text := "before " + form + tricks
		j.Logger().Info(text, "what", "answer", "field", text, "error", errors.New(text))
		j.Builds().Info(text)
		j.Say(func(string) {})(text)
		j.Fail(errors.New(text))
	}
	j.Close()
	for _, file := range []string{name, filepath.Join(outside, DebugFile)} {
		if got := len(records(t, file)); got != 4*len(forms) {
			t.Errorf("%s has %d records, not %d", file, got, 4*len(forms))
		}
		text, _ := os.ReadFile(file)
		shown = append(shown, strings.ReplaceAll(string(text), "\n", ""))
	}
	for _, text := range shown {
		for _, form := range append(forms, "canary", "Zq81", "71c0ffee") {
			if strings.Contains(text, form) {
				t.Errorf("%q shows %q", text[:min(len(text), 600)], form)
			}
		}
		for _, r := range text {
			if r < ' ' || r == '\u2028' || r == '\u202e' || r == '\u009b' || r == 0x7f {
				t.Fatalf("%q holds %q", text[:min(len(text), 600)], r)
			}
		}
	}
}

// Attack: --log leads into the project or over a symbolic link.
func TestAttackTheJournalIsWhereTheAgentWrites(t *testing.T) {
	project, outside := folders(t)
	victim := filepath.Join(outside, "victim")
	for _, err := range []error{
		os.WriteFile(victim, []byte("precious"), 0o644), os.Mkdir(filepath.Join(project, "sub"), 0o755),
		os.Symlink(victim, filepath.Join(outside, "link")), os.Symlink(filepath.Join(outside, "new"), filepath.Join(outside, "dangling")),
		os.Symlink(filepath.Join(project, "sub"), filepath.Join(outside, "way")), os.Symlink(outside, filepath.Join(project, "out")),
		os.Mkdir(filepath.Join(outside, "folder"), 0o755),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{
		filepath.Join(project, "log"), filepath.Join(project, "sub", "log"), filepath.Join(outside, "way", "log"), filepath.Join(outside, "link"),
		filepath.Join(outside, "dangling"), filepath.Join(outside, "folder", "log"), filepath.Join(outside, "folder"),
		outside + "/../project/log",
	} {
		if _, err := Open(Options{File: name, Project: project, Mounts: []string{filepath.Join(outside, "folder")}}); !errors.Is(err,
			ErrRefused) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, name := range []string{filepath.Join(project, "out", "log"), filepath.Join(outside, "no", "log")} {
		if _, err := Open(Options{File: name, Project: project}); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if text, err := os.ReadFile(victim); err != nil || string(text) != "precious" {
		t.Errorf("a file of the user's holds %q, %v", text, err)
	}
	for _, name := range []string{filepath.Join(project, "log"), filepath.Join(project, "sub", "log"), filepath.Join(outside, "new"),
		filepath.Join(outside, "log")} {
		if _, err := os.Lstat(name); err == nil {
			t.Errorf("%s was made", name)
		}
	}
}

// Two runs write one file, which is renamed meanwhile. No record is torn, and none is lost
// while the old files hold them.
func TestRotation(t *testing.T) {
	project, outside := folders(t)
	name := filepath.Join(outside, "log")
	const each = 100
	var wait sync.WaitGroup
	for range 2 {
		j := open(t, Options{File: name, Project: project})
		j.file.max = 16 << 10 // each takes some 100 bytes
		wait.Go(func() {
			for i := range each {
				j.Logger().Info(strings.Repeat("x", 100), "what", "tool", "i", i)
			}
		})
	}
	wait.Wait()
	total := 0
	for _, suffix := range []string{"", ".1", ".2", ".3"} {
		info, err := os.Stat(name + suffix)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil || suffix == "" && runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", name+suffix, info, err)
		}
		total += len(records(t, name+suffix))
	}
	if total != 2*each {
		t.Errorf("%d records of %d are left", total, 2*each)
	}
	one := open(t, Options{File: name, Project: project})
	one.file.max = 1 << 10
	for range 40 {
		one.Logger().Info(strings.Repeat("x", 500), "what", "tool")
	}
	found, err := filepath.Glob(name + "*")
	if err != nil || len(found) != 4 {
		t.Errorf("there are %q, %v", found, err)
	}
	for _, name := range found[:2] { // FILE, and FILE.1 of this one run
		if info, err := os.Stat(name); err != nil || info.Size() > 1<<10 {
			t.Errorf("%s: %v, %v", name, info, err)
		}
	}
}

// Records before the run has its folder are in its file, and so are those that --log lacks.
func TestTheDebugFileHasAll(t *testing.T) {
	project, outside := folders(t)
	name := filepath.Join(outside, "log")
	if err := os.WriteFile(name, []byte(`{"torn":`), 0o600); err != nil { // of a run whose disk was full
		t.Fatal(err)
	}
	var shown []string
	j := open(t, Options{File: name, Project: project, Show: func(line string) { shown = append(shown, line) }})
	if text, err := os.ReadFile(name); err != nil || string(text) != "{\"torn\":\n" {
		t.Errorf("the file begins with %q, %v", text, err)
	}
	if err := os.Truncate(name, 0); err != nil {
		t.Fatal(err)
	}
	j.Builds().Debug("a line of a build")
	j.Keep(outside)
	j.Logger().Debug("the firewall is verified", "what", "start", "ms", 812)
	j.Say(func(string) {})("warning: it is late")
	j.Logger().Info(strings.Repeat("ä", maxText), "what", "answer")
	all, public := records(t, filepath.Join(outside, DebugFile)), records(t, name)
	if len(all) != 4 || len(public) != 2 || public[0]["level"] != "WARN" || public[0]["what"] != Note || all[0]["what"] != Build {
		t.Errorf("all are %v, public ones %v", all, public)
	}
	if got := len(fmt.Sprint(all[3]["msg"])); got > maxText {
		t.Errorf("a text has %d bytes", got)
	}
	if len(shown) != 2 || shown[0] != "debug: start: the firewall is verified ms=812" {
		t.Errorf("people read %q", shown)
	}
}
