package instructions

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestOfAFrontMatterOnlyPlainMembersStay(t *testing.T) {
	for in, want := range map[string]string{
		"no front matter\n---\nhooks: x\n": "no front matter\n---\nhooks: x\n",
		"---\nname: a\ndescription: |\n  two\n  lines\ntools: [Read, Grep]\nuser-invocable: false\n" +
			"---\nbody\n---\n": "---\nname: \"a\"\ndescription: \"two\\nlines\\n\"\ntools: [\"Read\",\"Grep\"]\n" +
			"user-invocable: false\n---\nbody\n---\n",
		"---\nhooks: {PreToolUse: []}\nallowed-tools: Bash\nmodel: opus\nmcpServers: [a]\npermissionMode: x\nHooks: y\n" +
			"context: fork\n---\nbody": "---\n---\nbody",
		"---\ndescription: &a {hooks: 1}\nname: *a\ntools: [{hooks: 1}]\n---\n": "---\n---\n",
		"\xef\xbb\xbf--- \r\nname: a\r\nhooks: b\r\n---\r\nbody":                "---\nname: \"a\"\n---\nbody",
		"---\n---\nbody": "---\n---\nbody",
	} {
		got, err := textOnly([]byte(in))
		if err != nil || string(got) != want {
			t.Errorf("%q\ngot  %q %v\nwant %q", in, got, err, want)
		}
	}
	// JavaScript takes it for a blank
	for _, in := range []string{"\xef\xbb\xbf\xef\xbb\xbf---\nhooks: x\n---\n", "\n\xef\xbb\xbf---\nhooks: x\n---\n",
		"\xff\xfe-\x00-\x00-\x00\n\x00h\x00o\x00o\x00k\x00s\x00:\x00 \x00x\x00\n\x00-\x00-\x00-\x00\n\x00", // UTF-16
		"---\nname: a\n", "---\n- a\n---\n", "---\na: [\n---\n", "\n---\nhooks: x\n---\n", "--- # x\nhooks: x\n---\n",
		"---\n" + strings.Repeat("x: y\n", 20000) + "---\n"} {
		if got, err := textOnly([]byte(in)); err == nil {
			t.Errorf("%.40q is taken as %.80q", in, got)
		}
	}
}

// project makes a folder with these files; "-> TARGET" makes a link.
func project(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		file := filepath.Join(dir, filepath.FromSlash(name))
		err := os.MkdirAll(filepath.Dir(file), 0o755)
		if target, link := strings.CutPrefix(text, "-> "); link && err == nil {
			err = os.Symlink(target, file)
		} else if err == nil {
			err = os.WriteFile(file, []byte(text), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func paths(s *Set) (list []string) {
	for _, f := range s.Files {
		list = append(list, f.Path)
	}
	return list
}

// Attack: links in the project's instructions bring files of the user's into the
// sandbox, or endless ones.
func TestAttackLinksInAProjectsInstructions(t *testing.T) {
	secret := project(t, map[string]string{"x/SKILL.md": "SECRET", "secret.md": "SECRET"})
	for name, files := range map[string]map[string]string{
		"file":   {".claude/commands/a.md": "-> " + secret + "/secret.md"},
		"folder": {".claude/skills": "-> " + secret},
		"inner":  {".claude/skills/x": "-> " + secret + "/x"},
		"all":    {".claude": "-> " + secret},
		"inside": {"here.md": "SECRET", ".claude/agents/a.md": "-> ../../here.md"},
		"zero":   {".claude/commands/a.md": "-> /dev/zero"},
		"circle": {".claude/skills/a": "-> ."},
	} {
		s, err := Project(project(t, files))
		if err != nil || len(s.Files) > 0 || len(s.LeftOut) == 0 || !strings.Contains(s.LeftOut[0], "link") {
			t.Errorf("%s: %q %q %v", name, paths(s), s.LeftOut, err)
		}
	}
}

func TestWhatIsNoTextIsLeftOut(t *testing.T) {
	s, err := Project(project(t, map[string]string{
		".claude/skills/s/SKILL.md": "---\nname: s\nhooks: x\n---\n", ".claude/skills/s/run.sh": "echo", ".claude/skills/s/.hidden": "x",
		".claude/commands/sub/c.md": "c", ".claude/commands/c.sh": "x", ".claude/agents/big.md": strings.Repeat("x", maxFile+1),
		".claude/agents/bad.md": "---\nname: a\n", ".claude/settings.json": "{}",
	}))
	slices.Sort(s.LeftOut)
	want := []string{".claude/agents/bad.md (its front matter cannot be read)", ".claude/agents/big.md (too large)",
		".claude/commands/c.sh (no text for Claude)",
		".claude/skills/s/.hidden (hidden)"}
	if err != nil || !slices.Equal(s.LeftOut, want) ||
		!slices.Equal(paths(s), []string{"skills/s/SKILL.md", "skills/s/run.sh", "commands/sub/c.md"}) {
		t.Errorf("%q %q %v", paths(s), s.LeftOut, err)
	}
}

func TestTheUsersOwnComeByTheirList(t *testing.T) {
	mine := project(t, map[string]string{"CLAUDE.md": "m", "skills/a/SKILL.md": "a", "agents/b.md": "b", "agents/c.md": "c",
		"settings.json": "{}", ".credentials.json": "SECRET"})
	s, err := User(mine, []string{"CLAUDE.md", "agents/b.md", "skills"})
	if err != nil || !slices.Equal(paths(s), []string{"CLAUDE.md", "agents/b.md", "skills/a/SKILL.md"}) {
		t.Errorf("%q %v", paths(s), err)
	}
	for _, entry := range []string{"settings.json", ".credentials.json", "../x", "/etc/passwd", "skills/../.credentials.json",
		"agents/none.md", ".", "projects"} {
		if _, err := User(mine, []string{entry}); err == nil {
			t.Errorf("%s is taken", entry)
		}
	}
	theirs, err := Project(project(t, map[string]string{".claude/agents/b.md": "theirs", ".claude/agents/d.md": "d"}))
	if err != nil {
		t.Fatal(err)
	}
	if s.Add(theirs); len(s.Files) != 4 || !slices.Equal(s.LeftOut, []string{".claude/agents/b.md (you have one of this name)"}) {
		t.Errorf("%q %q", paths(s), s.LeftOut)
	}
}
