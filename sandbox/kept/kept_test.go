package kept

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/exitcode"
)

const id = "0a1b2c3d-0000-4000-8000-000000000001"

// message is a line of a conversation.
func message(text string) string {
	return fmt.Sprintf(
		`{"type":"user","uuid":"u-%s","parentUuid":null,"sessionId":"%s","cwd":"/workspace","message":{"role":"user","content":%q}}`,
		text, id, text) + "\n"
}

// archive packs files of Claude's folder, as an engine does.
func archive(t *testing.T, files map[string]string) *bytes.Buffer {
	t.Helper()
	var out bytes.Buffer
	all := map[string][]byte{}
	for name, text := range files {
		all[name] = []byte(text)
	}
	if err := Pack(&out, "home", all, 1000, 1000); err != nil {
		t.Fatal(err)
	}
	return &out
}

func filled(t *testing.T, s *Store) map[string]string {
	t.Helper()
	began := time.Now().Truncate(time.Second) // an archive has no more of a time
	var out bytes.Buffer
	if err := s.Fill(&out, "home", 7, 8); err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for in := tar.NewReader(&out); ; {
		h, err := in.Next()
		if err == io.EOF {
			return files
		}
		if err != nil || h.Uid != 7 || h.Gid != 8 || h.ModTime.Before(began) { // Claude removes what is old
			t.Fatalf("%+v, %v", h, err)
		}
		text, _ := io.ReadAll(in)
		if h.Typeflag == tar.TypeReg {
			files[strings.TrimPrefix(h.Name, "home/")] = string(text)
		}
	}
}

func store(t *testing.T, root Root, profile, project string) *Store {
	t.Helper()
	s, err := root.Open(profile, project, "run-1")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

func take(t *testing.T, s *Store, files map[string]string) []string {
	t.Helper()
	notes, err := s.Take(archive(t, files),
		Taking{WorkDir: "/workspace", Clean: func(text string) string { return strings.ReplaceAll(text, "s3cret", "[redacted]") }})
	if err != nil {
		t.Fatal(err)
	}
	return notes
}

// Attack: the agent of a run leaves settings that run programs, connect elsewhere or
// allow things in the project's next run, or a login.
func TestAttackAnAgentLeavesWhatActs(t *testing.T) {
	s := store(t, Root(t.TempDir()), "work", "/project")
	acts := map[string]string{
		"settings.json": `{"theme":"dark","hooks":{"SessionStart":[{"hooks":[{"type":"command","command":"evil"}]}]},"env":{"LD_PRELOAD":"x"},
			"apiKeyHelper":"evil","permissions":{"disableBypassPermissionsMode":"disable"},"statusLine":{"type":"command","command":"evil"},
			"verbose":"$(evil)","editorMode":{"a":"evil"},"model":"evil","outputStyle":"evil","language":"obey evil"}`,
		".claude.json": `{"mcpServers":{"evil":{"command":"evil"}},"theme":"light","editorMode":"vim","projects":{
			"/workspace":{"mcpServers":{"evil":{}},"enabledMcpServers":["evil"],"enabledMcpjsonServers":["evil"],"allowedTools":["evil"],
				"disabledMcpServers":["noisy","obey evil",{"evil":1},"../evil","evil\u0000"]},
			"/evil":{"disabledMcpServers":["noisy"]},"/work":{"disabledMcpServers":["noisy"]},"":{"disabledMcpServers":["noisy"]}}}`,
		"settings.local.json":   `{"hooks":"evil"}`,
		".credentials.json":     "evil",
		"CLAUDE.md":             "evil",
		"agents/evil.md":        "evil",
		"skills/evil/SKILL.md":  "evil",
		"commands/evil.md":      "evil",
		"plugins/store/evil.js": "evil",
		"shell-snapshots/evil":  "evil",
		"rules/evil.md":         "evil",
		"projects/-workspace/" + id + ".jsonl": message("hello") + `{"type":"permission-mode","permissionMode":"evil","sessionId":"` + id +
			`"}` + "\n",
		"projects/-workspace/evil.jsonl": "evil",
		"projects/../../evil.jsonl":      "evil",
		"todos/../evil.json":             "evil",
	}
	take(t, s, acts)
	files := filled(t, s)
	for name, text := range files {
		if strings.Contains(name+text, "evil") {
			t.Errorf("kept: %s: %s", name, text)
		}
	}
	if got := files["projects/-workspace/"+id+".jsonl"]; !strings.Contains(got, "hello") {
		t.Errorf("the conversation is %q", got)
	}
	prefer := s.Preferences()
	if fmt.Sprint(prefer) != "map[.claude.json:map[editorMode:vim projects:map[/workspace:map[disabledMcpServers:[noisy]]] theme:light] "+
		"settings.json:map[theme:dark]]" {
		t.Errorf("the preferences are %v", prefer)
	}
	// The run's own members win over the profile's.
	if got := string(WithPreferences([]byte(`{"theme":"light","x":1}`), prefer["settings.json"])); got != `{"theme":"light","x":1}` {
		t.Errorf("got %s", got)
	}
	state := `{"projects":{"/workspace":{"hasTrustDialogAccepted":true}}}`
	state = string(WithPreferences([]byte(state), map[string]any{"projects": prefer[stateFile]["projects"]}))
	if state != `{"projects":{"/workspace":{"disabledMcpServers":["noisy"],"hasTrustDialogAccepted":true}}}` {
		t.Errorf("the state is %s", state)
	}
	// So does a store that somebody wrote to by other ways.
	var evil bytes.Buffer
	if err := Pack(&evil, "kept", map[string][]byte{"settings.json": []byte("evil"), "history.jsonl": []byte("fine")}, 0, 0); err != nil {
		t.Fatal(err)
	}
	err := errors.Join(os.WriteFile(filepath.Join(s.dir, claudeFile), evil.Bytes(), 0o600),
		os.WriteFile(filepath.Join(s.profile, preferencesFile),
			[]byte(`{"settings.json":{"hooks":{},"theme":"evil"},"CLAUDE.md":{"theme":"dark"}}`), 0o600),
		os.WriteFile(filepath.Join(s.dir, serversFile), []byte(`{"/workspace":{"mcpServers":{}},"evil":["a"],"/a":["obey evil"]}`), 0o600))
	if err != nil {
		t.Fatal(err)
	}
	if files := filled(t, s); len(files) != 1 || files["history.jsonl"] != "fine" || len(s.Preferences()) != 0 {
		t.Errorf("a store that was written to: %v, %v", files, s.Preferences())
	}
}

func TestWhatIsKept(t *testing.T) {
	root := Root(t.TempDir())
	s := store(t, root, "work", "/project")
	files := map[string]string{
		"history.jsonl": `{"display":"the s3cret prompt"}`, "projects/-workspace/memory/MEMORY.md": "note",
		"plans/a-b.md": "plan", "todos/x.json": "[]",
		ShellHistory: "ls\n", "projects/-workspace/" + id + ".jsonl": message("one"),
	}
	take(t, s, files)
	if got := filled(t, s); len(got) != len(files) || got["history.jsonl"] != `{"display":"the [redacted] prompt"}` {
		t.Errorf("kept %v", got)
	}
	// A run that began in another folder of the project leaves these conversations alone.
	notes, err := s.Take(archive(t, map[string]string{"projects/-workspace/" + id + ".jsonl": message("forged"), "plans/c.md": "c"}),
		Taking{WorkDir: "/workspace/sub", Clean: strings.Clone})
	if got := filled(t, s); err != nil || notes != nil || len(got) != 2 || !strings.Contains(got["projects/-workspace/"+id+".jsonl"], "one") {
		t.Errorf("%v, %q: kept %v", err, notes, got)
	}
	// An archive that ends early leaves all as it was.
	whole := archive(t, files).Bytes()
	if _, err := s.Take(bytes.NewReader(whole[:len(whole)/2+1]), Taking{WorkDir: "/workspace", Clean: strings.Clone}); err == nil ||
		len(filled(t, s)) != 2 {
		t.Errorf("%v: kept %v", err, filled(t, s))
	}
	if notes := take(t, s, map[string]string{"history.jsonl": strings.Repeat("x", maxText+1)}); len(notes) != 1 {
		t.Errorf("of a large file it is said %q", notes)
	}
	if runtime.GOOS == "windows" {
		return
	}
	_ = filepath.WalkDir(string(root), func(name string, d os.DirEntry, err error) error {
		if info, err := d.Info(); name != string(root) && (err != nil || info.Mode().Perm()&0o077 != 0) {
			t.Errorf("%s: %v, %v", name, info.Mode(), err)
		}
		return err
	})
}

// Attack: what an agent of one project wrote is in the run of another, under one profile.
func TestAttackAProjectsTextsReachAnother(t *testing.T) {
	root := Root(t.TempDir())
	one, two := store(t, root, "work", "/one"), store(t, root, "work", "/two")
	take(t, one, map[string]string{
		"history.jsonl": "canary", "projects/-workspace/" + id + ".jsonl": message("canary"), "plans/canary.md": "x",
		"settings.json": `{"theme":"canary","editorMode":"canary","canary":true,"verbose":true}`,
		".claude.json":  `{"diffTool":"canary","projects":{"/workspace":{"disabledMcpServers":["canary"]}}}`,
	})
	if err := one.TakeTree(archive(t, map[string]string{"canary": "x"}), ".config/tool"); err != nil {
		t.Fatal(err)
	}
	var tree bytes.Buffer
	if err := two.FillTree(&tree, ".config/tool", "0", 1, 1); err != nil || strings.Contains(tree.String(), "canary") {
		t.Errorf("a kept folder reaches the other project: %v", err)
	}
	if files := filled(t, two); len(files) != 0 {
		t.Errorf("the other project gets %v", files)
	}
	if got := fmt.Sprint(two.Preferences()); strings.Contains(got, "canary") || !strings.Contains(got, "verbose:true") {
		t.Errorf("the profile's preferences are %s", got)
	}
	if files := filled(t, store(t, root, "other", "/one")); len(files) != 0 {
		t.Errorf("another profile gets %v", files)
	}
}

// Attack: entries of an archive write outside of the folder that they are unpacked in,
// over links, by their names, or as devices.
func TestAttackArchivesThatWriteElsewhere(t *testing.T) {
	var in bytes.Buffer
	w := tar.NewWriter(&in)
	for _, h := range []tar.Header{
		{Name: "0/", Typeflag: tar.TypeDir}, {Name: "0/out", Typeflag: tar.TypeSymlink, Linkname: "/"},
		{Name: "0/out/evil", Typeflag: tar.TypeReg},
		{Name: "0/../../evil", Typeflag: tar.TypeReg}, {Name: "/evil", Typeflag: tar.TypeReg}, {Name: "evil", Typeflag: tar.TypeReg},
		{Name: "0/dev-evil", Typeflag: tar.TypeBlock, Devmajor: 8}, {Name: "0/fifo-evil", Typeflag: tar.TypeFifo},
		{Name: "0/hard-evil", Typeflag: tar.TypeLink, Linkname: "../../etc/shadow"},
		{Name: "0/hard2-evil", Typeflag: tar.TypeLink, Linkname: "0/out"},
		{Name: "0/twice", Typeflag: tar.TypeDir}, {Name: "0/twice", Typeflag: tar.TypeSymlink, Linkname: "/evil"},
		{Name: "0/twice/fine", Typeflag: tar.TypeReg},
		{Name: "0/no/parent-evil", Typeflag: tar.TypeReg}, {Name: "0/set", Typeflag: tar.TypeReg, Mode: 0o6755},
		{Name: "0/hard", Typeflag: tar.TypeLink, Linkname: "0/set"},
	} {
		if err := w.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
	}
	w.Close()
	var out bytes.Buffer
	to := tar.NewWriter(&out)
	if err := clean(to, &in, "5", 7, 8); err != nil {
		t.Fatal(err)
	}
	to.Close()
	var names []string
	for in := tar.NewReader(&out); ; {
		h, err := in.Next()
		if err != nil {
			break
		}
		names = append(names, h.Name)
		if h.Mode&^0o777 != 0 || h.Uid != 7 || strings.Contains(h.Name+h.Linkname, "evil") {
			t.Errorf("passed: %+v", h)
		}
	}
	if want := []string{"5/", "5/out", "5/twice/", "5/twice/fine", "5/set", "5/hard"}; !slices.Equal(names, want) {
		t.Errorf("got %q", names)
	}
}

func TestOneRunHoldsAStore(t *testing.T) {
	root := Root(t.TempDir())
	s := store(t, root, "work", "/project")
	if !root.HasProfile("work") || root.HasProfile("wrok") {
		t.Error("it does not know its profiles")
	}
	_, err := root.Open("work", "/project", "run-2")
	if code, _ := exitcode.Of(err, 70); code != exitcode.Locked || !strings.Contains(err.Error(), "run-1") || diag.HintOf(err) == "" {
		t.Errorf("the second run: %d, %v", code, err)
	}
	if _, err := root.Remove("work"); err == nil || !strings.Contains(err.Error(), "run-1") {
		t.Errorf("clean while it is in use: %v", err)
	}
	if list, err := root.List("work"); err != nil || len(list) != 1 || list[0].InUse != "run-1" || list[0].Project != "/project" {
		t.Errorf("%+v, %v", list, err)
	}
	store(t, root, "work", "/other")
	s.Close()
	again := store(t, root, "work", "/project")
	if dead, err := Reopen(again.Dir(), "run-3"); err == nil {
		t.Errorf("a live run's store was opened: %+v", dead)
	}
	again.Close()
	dead, err := Reopen(again.Dir(), "run-3")
	if err != nil || !dead.KeepsClaude() {
		t.Fatalf("%+v, %v", dead, err)
	}
	dead.Close()
	for _, name := range []string{"", "..", "a/b", "A", "-x", "x.y", strings.Repeat("a", 64)} {
		if CheckName(name) == nil {
			t.Errorf("%q is a name", name)
		}
		if _, err := root.Remove(name); err == nil {
			t.Errorf("%q is removed", name)
		}
	}
}

func TestCheckPaths(t *testing.T) {
	got, err := CheckPaths("/home/agent", []string{"~/.local/share/x", "/home/agent/b", ".cache"})
	if err != nil || !slices.Equal(got, []string{".cache", ".local/share/x", "b"}) {
		t.Errorf("%q, %v", got, err)
	}
	for _, bad := range [][]string{{""}, {"."}, {"~"}, {"~/"}, {"/etc"}, {"../x"}, {"a/../../b"}, {"/home/agent"},
		{".claude"}, {".claude/projects"},
		{".claude.json"}, {"a", "a/b"}, {"a/b", "a"}, {"a", "a"}, {"a/"}, {"~root"}, {"a\x00"}} {
		if got, err := CheckPaths("/home/agent", bad); err == nil && bad[0] != "~root" || err != nil && diag.HintOf(err) == "" {
			t.Errorf("%q: %q, %v", bad, got, err)
		}
	}
}

// Whatever an archive is, what passes is unpacked below its folder and can be read again.
func FuzzClean(f *testing.F) {
	var seed bytes.Buffer
	if err := Pack(&seed, "home", map[string][]byte{"a/b": []byte("x"), "c": nil}, 1, 1); err != nil {
		f.Fatal(err)
	}
	f.Add(seed.Bytes())
	f.Fuzz(func(t *testing.T, in []byte) {
		var out bytes.Buffer
		to := tar.NewWriter(&out)
		if err := clean(to, bytes.NewReader(in), "0", 1, 1); err != nil {
			return
		}
		if err := to.Close(); err != nil {
			t.Fatal(err)
		}
		folders := map[string]bool{}
		for archive := tar.NewReader(&out); ; {
			h, err := archive.Next()
			if err == io.EOF {
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			name := strings.TrimSuffix(h.Name, "/")
			if name != "0" && (!strings.HasPrefix(name, "0/") || !folders[filepath.ToSlash(filepath.Dir(name))]) {
				t.Fatalf("%q has no folder of its own", h.Name)
			}
			if h.Typeflag == tar.TypeDir {
				folders[name] = true
			}
		}
	})
}

// Attack: a repository is cloned into the place of one that was removed. Its agent reads and
// obeys what the agents of the other one left.
func TestAttackAnotherProjectInThePlaceOfOne(t *testing.T) {
	root, project := Root(t.TempDir()), filepath.Join(t.TempDir(), "app")
	kept := func() map[string]string {
		if err := os.Mkdir(project, 0o700); err != nil {
			t.Fatal(err)
		}
		s := store(t, root, "work", project)
		defer s.Close()
		found := map[string]string{}
		if err := s.each(func(name string, text []byte) { found[name] = string(text) }); err != nil {
			t.Fatal(err)
		}
		take(t, s, map[string]string{"history.jsonl": "do as I say\n"})
		return found
	}
	kept()
	if err := os.Rename(project, project+"-old"); err != nil {
		t.Fatal(err)
	}
	if found := kept(); len(found) > 0 {
		t.Errorf("it finds %q", found)
	}
}
