package merge_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/org/claude-sandbox/internal/test/testenv"
	"github.com/org/claude-sandbox/templates/merge"
)

func splitLines(src []byte) []string { return slices.Collect(strings.Lines(string(src))) }

// at returns the numbers of the lines that hold the text.
func at(l []string, text string) (found []int) {
	for i, line := range l {
		if strings.Contains(line, text) {
			found = append(found, i)
		}
	}
	return found
}

// template makes one edit of a Dockerfile as a new version of a template does:
// of lines of a region, of a step at its end, or of a whole region.
func (e *editor) template(src []byte) []byte {
	l := splitLines(src)
	begins, ends := at(l, "# sbx:begin "), at(l, "# sbx:end ")
	r := e.IntN(len(ends))
	switch e.IntN(6) {
	case 0: // a step at the end of a region
		l = slices.Insert(l, ends[r], "RUN "+e.name()+"\n")
	case 1: // a region after another
		name := e.name()
		l = slices.Insert(l, ends[r]+1, "\n", "# sbx:begin "+name+"\n", "RUN "+name+"\n", "# sbx:end "+name+"\n")
	case 2: // another one instead
		for i := begins[r] + 1; i < ends[r]; i++ {
			l[i] = "RUN " + e.name() + "\n"
		}
	case 3: // one that is gone
		if r > 0 {
			l = slices.Delete(l, begins[r], ends[r]+1)
		}
	case 4:
		if i := at(l, "ARG PACKAGES="); len(i) > 0 {
			l[i[0]] = strings.Replace(l[i[0]], `"`+"\n", " "+e.name()+`"`+"\n", 1)
		}
	default:
		if i := begins[r] + 1 + e.IntN(ends[r]-begins[r]); i < ends[r] {
			l[i] = "# " + e.name() + "\n"
		}
	}
	return []byte(strings.Join(l, ""))
}

// user makes one edit of a Dockerfile as people do: a step between two regions,
// one more package, and seldom a line of the template's.
func (e *editor) user(src []byte) []byte {
	l := splitLines(src)
	ends := at(l, "# sbx:end ")
	if len(ends) == 0 {
		return e.text(src)
	}
	switch e.IntN(5) {
	case 0, 1:
		l = slices.Insert(l, ends[e.IntN(len(ends))]+1, "RUN "+e.name()+"\n")
	case 2:
		l = slices.Insert(l, ends[e.IntN(len(ends))]+1, "\n", "# "+e.name()+"\n", "RUN "+e.name()+"\n")
	case 3:
		if i := at(l, "ARG PACKAGES="); len(i) > 0 {
			l[i[0]] = strings.Replace(l[i[0]], `"`+"\n", " "+e.name()+`"`+"\n", 1)
		}
	default:
		return e.text(src)
	}
	return []byte(strings.Join(l, ""))
}

// outside returns what stands between the regions, without empty lines.
func outside(src []byte) (out []string) {
	in := false
	for _, line := range splitLines(src) {
		switch {
		case strings.HasPrefix(line, "# sbx:begin "):
			in = true
		case strings.HasPrefix(line, "# sbx:end "):
			in = false
		case !in && strings.TrimSpace(line) != "":
			out = append(out, line)
		}
	}
	return out
}

// words are the edits of somebody, by the names that they hold.
func words(src []byte, who string) (out []string) {
	for _, w := range strings.Fields(strings.NewReplacer(`"`, " ", "\\", " ").Replace(string(src))) {
		if strings.HasPrefix(w, who) {
			out = append(out, w)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

type dockerfiles struct{ base, template, mine []byte }

// randomDockerfiles are edits that people and new versions of templates make.
func randomDockerfiles(seed, i int, all [][]byte) dockerfiles {
	e := rand.New(rand.NewPCG(uint64(seed), uint64(i)))
	d := dockerfiles{base: all[e.IntN(len(all))]}
	d.template, d.mine = d.base, d.base
	theirs, user := &editor{Rand: e, who: "tmpl"}, &editor{Rand: e, who: "zuser"}
	for range e.IntN(4) {
		d.template = theirs.template(d.template)
	}
	for range e.IntN(4) {
		d.mine = user.user(d.mine)
	}
	return d
}

// TestNoLineIsLostInDockerfiles: every edit of the user's is in the merged
// file, what stood between regions stands there in its order, every edit of the
// template's is there too, and merging again changes nothing.
func TestNoLineIsLostInDockerfiles(t *testing.T) {
	all := bases(t, "Dockerfile")
	conflicting := 0
	for i := range cases {
		d := randomDockerfiles(3, i, all)
		fail := func(format string, args ...any) {
			t.Helper()
			t.Fatalf("case %d: %s\n--- base\n%s\n--- template\n%s\n--- mine\n%s", i, fmt.Sprintf(format, args...), d.base, d.template, d.mine)
		}
		if same, conflicts, _ := merge.Dockerfile(d.base, d.base, d.mine, merge.Neither); len(conflicts) > 0 || !bytes.Equal(same, d.mine) {
			fail("an update to the same version is no identity")
		}
		merged, conflicts, _ := merge.Dockerfile(d.base, d.template, d.mine, merge.Neither)
		if len(conflicts) > 0 {
			conflicting++
			if !bytes.Equal(merged, d.mine) {
				fail("with conflicts the file must stay")
			}
			if merged, conflicts, _ = merge.Dockerfile(d.base, d.template, d.mine, merge.Mine); len(conflicts) > 0 {
				fail("decided conflicts: %v", conflicts)
			}
		} else if want, got := words(d.template, "tmpl"), words(merged, "tmpl"); !slices.Equal(want, got) {
			fail("the template's %v became %v\n--- merged\n%s", want, got, merged)
		}
		if want, got := words(d.mine, "zuser"), words(merged, "zuser"); !slices.Equal(want, got) {
			fail("the user's %v became %v\n--- merged\n%s", want, got, merged)
		}
		if want, got := outside(d.mine), outside(merged); !slices.Equal(want, got) &&
			len(at(splitLines(d.mine), "# sbx:")) == len(at(splitLines(d.base), "# sbx:")) {
			fail("between the regions %q became %q\n--- merged\n%s", want, got, merged)
		}
		if again, conflicts, _ := merge.Dockerfile(d.template, d.template, merged, merge.Neither); len(conflicts) > 0 ||
			!bytes.Equal(again, merged) {
			fail("merging again changes something")
		}
	}
	t.Logf("%d of %d cases had conflicts", conflicting, cases)
}

// TestRegionsHaveFewerConflicts counts on the same cases the Dockerfiles that
// cannot be merged: by regions, by lines alone, and by git.
func TestRegionsHaveFewerConflicts(t *testing.T) {
	git := testenv.Program(t, "git")
	dir := t.TempDir()
	all := bases(t, "Dockerfile")
	byRegion, byLine, gits := 0, 0, 0
	const n = 500
	for i := range n {
		d := randomDockerfiles(4, i, all)
		_, conflicts, _ := merge.Dockerfile(d.base, d.template, d.mine, merge.Neither)
		_, lineConflicts := merge.Text(d.base, d.template, d.mine, merge.Neither)
		byRegion, byLine = byRegion+min(len(conflicts), 1), byLine+min(len(lineConflicts), 1)
		if len(conflicts) > 0 && len(lineConflicts) == 0 {
			t.Errorf("case %d: only the merge by regions has conflicts: %+v", i, conflicts)
		}
		for name, text := range map[string][]byte{"base": d.base, "template": d.template, "mine": d.mine} {
			if err := os.WriteFile(filepath.Join(dir, name), text, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		cmd := exec.Command(git, "merge-file", "-p", "-q", "mine", "base", "template")
		cmd.Dir = dir
		if err := cmd.Run(); err != nil {
			gits++
		}
	}
	t.Logf("of %d Dockerfiles %d have conflicts, by lines alone %d, with git merge-file %d", n, byRegion, byLine, gits)
	if byRegion >= byLine || byLine >= gits {
		t.Errorf("by regions %d, by lines %d, git %d", byRegion, byLine, gits)
	}
}

const old = `# sbx:begin system
FROM debian:bookworm-slim
ARG PACKAGES="curl git"
RUN install
# sbx:end system

# sbx:begin entrypoint
ENTRYPOINT ["x"]
# sbx:end entrypoint
`

func replace(t *testing.T, text string, pairs ...string) string {
	t.Helper()
	for i := 0; i < len(pairs); i += 2 {
		if !strings.Contains(text, pairs[i]) {
			t.Fatalf("no %q in\n%s", pairs[i], text)
		}
		text = strings.Replace(text, pairs[i], pairs[i+1], 1)
	}
	return text
}

// Results of merging regions, pins and lists of packages. A pair replaces text
// of old; want nil means a conflict.
func TestDockerfile(t *testing.T) {
	pin := "@sha256:" + strings.Repeat("a", 64)
	sum := func(c string) string { return "sha512-" + strings.Repeat(c, 86) + "==" }
	claude := func(version, sumOf string) string {
		return "FROM x\nARG CLAUDE_VERSION=" + version + "\n# p@" + version + "\nARG CLAUDE_INTEGRITY_X64=" + sum(sumOf) + "\n"
	}
	for _, tt := range []struct {
		name                       string
		base, template, mine, want string
		note                       string
	}{
		{name: "a step beside a changed line", base: old,
			template: replace(t, old, "RUN install\n", "RUN install more\n"),
			mine:     replace(t, old, "# sbx:end system\n", "# sbx:end system\nRUN mine\n"),
			want:     replace(t, old, "RUN install\n", "RUN install more\n", "# sbx:end system\n", "# sbx:end system\nRUN mine\n")},
		{name: "a step where the template gets one", base: old,
			template: replace(t, old, "RUN install\n", "RUN install\nRUN more\n"),
			mine:     replace(t, old, "# sbx:end system\n", "# sbx:end system\nRUN mine\n"),
			want:     replace(t, old, "RUN install\n", "RUN install\nRUN more\n", "# sbx:end system\n", "# sbx:end system\nRUN mine\n")},
		{name: "a region where the user has a step", base: old,
			template: replace(t, old, "# sbx:end system\n", "# sbx:end system\n\n# sbx:begin new\nRUN new\n# sbx:end new\n"),
			mine:     replace(t, old, "# sbx:end system\n", "# sbx:end system\n\nRUN mine\n"),
			want:     replace(t, old, "# sbx:end system\n", "# sbx:end system\n\n# sbx:begin new\nRUN new\n# sbx:end new\n\nRUN mine\n")},
		{name: "a first region behind the user's directive", base: old,
			template: "# sbx:begin about\n# x\n# sbx:end about\n\n" + old,
			mine:     "# syntax=mine\n" + old,
			want:     "# syntax=mine\n# sbx:begin about\n# x\n# sbx:end about\n\n" + old},
		{name: "a region that is gone", base: old,
			template: replace(t, old, "\n# sbx:begin entrypoint\nENTRYPOINT [\"x\"]\n# sbx:end entrypoint\n", ""),
			mine:     "# mine\n" + old,
			want:     "# mine\n" + replace(t, old, "\n# sbx:begin entrypoint\nENTRYPOINT [\"x\"]\n# sbx:end entrypoint\n", "")},
		{name: "a region that is gone and was edited", base: old,
			template: replace(t, old, "\n# sbx:begin entrypoint\nENTRYPOINT [\"x\"]\n# sbx:end entrypoint\n", ""),
			mine:     replace(t, old, `["x"]`, `["mine"]`)},
		{name: "a region that the user removed stays away", base: old,
			template: replace(t, old, "RUN install\n", "RUN more\n"),
			mine:     replace(t, old, "\n# sbx:begin entrypoint\nENTRYPOINT [\"x\"]\n# sbx:end entrypoint\n", ""),
			want:     replace(t, old, "RUN install\n", "RUN more\n", "\n# sbx:begin entrypoint\nENTRYPOINT [\"x\"]\n# sbx:end entrypoint\n", ""),
			note:     "not those that the template wrote"},
		{name: "both changed a line of a region", base: old,
			template: replace(t, old, "RUN install\n", "RUN more\n"),
			mine:     replace(t, old, "RUN install\n", "RUN mine\n")},
		{name: "a mark that is gone", base: old,
			template: replace(t, old, "RUN install\n", "RUN more\n"),
			mine:     replace(t, old, "# sbx:end system\n", "RUN mine\n"),
			want:     replace(t, old, "RUN install\n", "RUN more\n", "# sbx:end system\n", "RUN mine\n"),
			note:     "line 7 begins the region entrypoint, and system has no end before it"},
		{name: "twice", base: old,
			template: replace(t, old, "RUN install\n", "RUN more\n"),
			mine:     old + "# sbx:begin system\n# sbx:end system\n",
			want:     replace(t, old, "RUN install\n", "RUN more\n") + "# sbx:begin system\n# sbx:end system\n",
			note:     "line 10 begins the region system a second time"},
		{name: "no end", base: old,
			template: replace(t, old, "RUN install\n", "RUN more\n"),
			mine:     replace(t, old, "# sbx:end entrypoint\n", ""),
			want:     replace(t, old, "RUN install\n", "RUN more\n", "# sbx:end entrypoint\n", ""),
			note:     "the region entrypoint has no end"},
		{name: "line ends", base: old,
			template: replace(t, old, "RUN install\n", "RUN more\n"),
			mine:     strings.ReplaceAll(old+"RUN mine\n", "\n", "\r\n"),
			want:     strings.ReplaceAll(replace(t, old, "RUN install\n", "RUN more\n")+"RUN mine\n", "\n", "\r\n")},
		{name: "no line end", base: old,
			template: old + "\n# sbx:begin new\nRUN new\n# sbx:end new\n",
			mine:     strings.TrimSuffix("# mine\n"+old, "\n"),
			want:     "# mine\n" + old + "\n# sbx:begin new\nRUN new\n# sbx:end new\n"},
		{name: "packages of both", base: old,
			template: replace(t, old, "curl git", "git jq"),
			mine:     replace(t, old, "curl git", "curl git vim"),
			want:     replace(t, old, "curl git", "git vim jq")},
		{name: "further packages of both", base: "ARG EXTRA_PACKAGES=\n", template: "ARG EXTRA_PACKAGES=htop\n",
			mine: "ARG EXTRA_PACKAGES=make,gcc\n", want: "ARG EXTRA_PACKAGES=make,gcc,htop\n"},
		{name: "packages beside another argument of the template's", base: "ARG PACKAGES=\"git\"\nARG EXTRA_PACKAGES=\nARG AGENT_SHELL=bash\n",
			template: "ARG PACKAGES=\"git\"\nARG EXTRA_PACKAGES=htop\nARG AGENT_SHELL=zsh\n",
			mine:     "ARG PACKAGES=\"vim git\"\nARG EXTRA_PACKAGES=make\nARG AGENT_SHELL=bash\n",
			want:     "ARG PACKAGES=\"vim git\"\nARG EXTRA_PACKAGES=make,htop\nARG AGENT_SHELL=zsh\n"},
		{name: "a digest stays", base: old,
			template: replace(t, old, "RUN install", "RUN more"),
			mine:     replace(t, old, "bookworm-slim", "bookworm-slim"+pin),
			want:     replace(t, old, "RUN install", "RUN more", "bookworm-slim", "bookworm-slim"+pin)},
		{name: "another image than the one of the digest", base: old,
			template: replace(t, old, "bookworm", "trixie"),
			mine:     replace(t, old, "bookworm-slim", "bookworm-slim"+pin)},
		{name: "the user's pins are newer", base: claude("2.1.9", "a"), template: claude("2.1.10", "b"), mine: claude("2.1.11", "c"),
			want: claude("2.1.11", "c")},
		{name: "the template's pins are newer", base: claude("2.1.9", "a"), template: claude("2.1.11", "b"), mine: claude("2.1.10", "c")},
		{name: "a version of the user's without its sum", base: claude("2.1.9", "a"), template: claude("2.1.10", "b"),
			mine: replace(t, claude("2.1.9", "a"), "_VERSION=2.1.9", "_VERSION=2.1.11")},
		{name: "a number is no version", base: "RUN x --limit=10\n", template: "RUN x --limit=5\n", mine: "RUN x --limit=20\n"},
		{name: "a tag like a date", base: "FROM ubuntu:22.04\n", template: "FROM ubuntu:24.04\n", mine: "FROM ubuntu:24.10" + pin + "\n",
			want: "FROM ubuntu:24.10" + pin + "\n"},
		{name: "an action's commit", base: "    - uses: a/b@v7\n", template: "    - uses: a/b@v8\n",
			mine: "    - uses: a/b@" + strings.Repeat("b", 40) + " # v8.0.1\n", want: "    - uses: a/b@" + strings.Repeat("b", 40) + " # v8.0.1\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			merged, conflicts, note := merge.Dockerfile([]byte(tt.base), []byte(tt.template), []byte(tt.mine), merge.Neither)
			if tt.want == "" {
				if len(conflicts) == 0 {
					t.Errorf("no conflict, but\n%s", merged)
				}
				return
			}
			if len(conflicts) > 0 || string(merged) != tt.want {
				t.Errorf("%+v\n%s\nwant\n%s", conflicts, merged, tt.want)
			}
			if tt.note == "" && note != "" || !strings.Contains(note, tt.note) {
				t.Errorf("note %q, want %q", note, tt.note)
			}
		})
	}
}

// A side that wins where both changed an argument takes nothing from the lines
// beside it that one side alone changed.
func TestPreferTakesNoNeighbour(t *testing.T) {
	base, template, mine := "ARG PACKAGES=\"git\"\nARG AGENT_SHELL=bash\n", "ARG PACKAGES=\"git\"\n"+
		"ARG AGENT_SHELL=zsh\n", "ARG PACKAGES=\"git vim\"\nARG AGENT_SHELL=fish\n"
	for prefer, shell := range map[merge.Side]string{merge.Mine: "fish", merge.Template: "zsh"} {
		merged, conflicts, _ := merge.Dockerfile([]byte(base), []byte(template), []byte(mine), prefer)
		if want := "ARG PACKAGES=\"git vim\"\nARG AGENT_SHELL=" + shell + "\n"; string(merged) != want || len(conflicts) > 0 {
			t.Errorf("prefer %v: %+v\n%s\nwant\n%s", prefer, conflicts, merged, want)
		}
	}
	_, conflicts, _ := merge.Dockerfile([]byte(base), []byte(template), []byte(mine), merge.Neither)
	if len(conflicts) != 1 || conflicts[0].Place != "line 2" {
		t.Errorf("%+v, want one, on line 2", conflicts)
	}
}

// The templates' own Dockerfiles have nothing but regions, so that everything
// else is the user's.
func TestTemplatesAreRegions(t *testing.T) {
	for i, base := range bases(t, "Dockerfile") {
		if rest := outside(base); len(rest) > 0 {
			t.Errorf("Dockerfile %d: %q stands outside of the regions", i, rest)
		}
		if _, conflicts, note := merge.Dockerfile(base, append(slices.Clone(base), "\n"...), append([]byte("# mine\n"), base...),
			merge.Neither); note != "" || len(conflicts) > 0 {
			t.Errorf("Dockerfile %d: %s %v", i, note, conflicts)
		}
	}
}
