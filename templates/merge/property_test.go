package merge_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/org/claude-sandbox/internal/jsonc"
	"github.com/org/claude-sandbox/internal/test/testenv"
	"github.com/org/claude-sandbox/settings"
	"github.com/org/claude-sandbox/templates"
	"github.com/org/claude-sandbox/templates/merge"
)

// cases is how many random cases of each property are tried.
const cases = 10_000

// bases are the files that templates write.
func bases(t testing.TB, name string) [][]byte {
	t.Helper()
	var out [][]byte
	for _, id := range templates.IDs() {
		tmpl, err := templates.Load(id)
		if err != nil {
			t.Fatal(err)
		}
		files, err := tmpl.Render(nil)
		if err == nil {
			facts := templates.Facts{ReadOnly: []string{".vscode", ".git/hooks"}, Pinned: []string{".git"}, Covered: []string{".idea"}}
			files, err = templates.Adapt(files, facts, settings.Lists{Presets: []string{"npm"}, Allow: []string{"docs.example.com"}}, "")
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			if strings.HasSuffix(f.Path, name) {
				out = append(out, f.Content)
			}
		}
	}
	return out
}

// editor makes random edits, like a person or like a new version of a template.
type editor struct {
	*rand.Rand
	who   string
	count int
}

func (e *editor) name() string { e.count++; return e.who + strconv.Itoa(e.count) }

func pick[T any](e *editor, list []T) T { return list[e.IntN(len(list))] }

// json makes one edit; comments only where they are wanted. It always changes
// the text, unless the document offers nothing to edit.
func (e *editor) json(src []byte, comments bool) []byte {
	doc, findings := jsonc.Parse("", src)
	if doc == nil {
		panic(fmt.Sprint(findings, string(src)))
	}
	var objects, arrays, leaves []*jsonc.Node
	doc.Root.Walk(func(n *jsonc.Node) {
		switch n.Kind {
		case jsonc.Object:
			objects = append(objects, n)
		case jsonc.Array:
			arrays = append(arrays, n)
		default:
			leaves = append(leaves, n)
		}
	})
	var edits []jsonc.Edit
	switch kind := e.IntN(8); {
	case kind == 0 && len(leaves) > 0:
		edits = jsonc.Replace(pick(e, leaves), jsonc.Quote(e.name()))
	case kind == 1:
		text := jsonc.Quote(e.name()) + `: {"a": [1, 2]}`
		if comments {
			text = "// " + e.name() + "\n" + text
		}
		edits = doc.AddText(pick(e, objects), text)
	case kind == 2:
		if o := pick(e, objects); len(o.Members) > 0 {
			edits = doc.RemoveMember(o, e.IntN(len(o.Members)))
		}
	case kind == 3 && len(arrays) > 0:
		edits = doc.AddElement(pick(e, arrays), jsonc.Quote("--"+e.name()+"=1"))
	case kind == 4 && len(arrays) > 0:
		if a := pick(e, arrays); len(a.Elements) > 0 {
			edits = doc.RemoveElement(a, e.IntN(len(a.Elements)))
		}
	case kind == 5 && len(arrays) > 0:
		if a := pick(e, arrays); len(a.Elements) > 0 {
			n := pick(e, a.Elements)
			edits = jsonc.Replace(n, jsonc.Quote(n.Text+e.name()))
		}
	case kind == 6 && comments:
		if o := pick(e, objects); len(o.Members) > 0 {
			at := pick(e, o.Members).NameStart
			edits = []jsonc.Edit{{Start: at, End: at, Text: "// " + e.name() + "\n"}}
		}
	case kind == 7 && comments:
		at := pick(e, append(leaves, objects...)).End
		edits = []jsonc.Edit{{Start: at, End: at, Text: " /* " + e.name() + " */"}}
	}
	out, _ := jsonc.Apply(src, edits)
	return out
}

// flat lists the leaves of a document by their path; elements of sets stand
// under their key, other lists are one leaf; what is empty has none. It shares no code with the merge.
func flat(t testing.TB, src []byte) map[string]string {
	t.Helper()
	doc, findings := jsonc.Parse("", src)
	out := map[string]string{}
	if doc == nil {
		t.Fatalf("%v\n%s", findings, src)
		return out
	}
	var visit func(path string, n *jsonc.Node)
	visit = func(path string, n *jsonc.Node) {
		switch {
		case n.Kind == jsonc.Object && len(n.Members) > 0:
			for _, m := range n.Members {
				visit(path+"/"+m.Name, m.Value)
			}
		case n.Kind == jsonc.Array && len(n.Elements) > 0 && asSet(path, n):
			for _, e := range n.Elements {
				visit(path+"/["+elementKey(path, e)+"]", e)
			}
		case n.Kind != jsonc.Array && n.Kind != jsonc.Object:
			out[path] = compact(n)
		case n.Kind == jsonc.Array && len(n.Elements) > 0:
			parts := []string{}
			for _, e := range n.Elements {
				parts = append(parts, compact(e))
			}
			out[path] = "[" + strings.Join(parts, ",") + "]"
		}
	}
	visit("", doc.Root)
	return out
}

func compact(n *jsonc.Node) string {
	if n.Kind == jsonc.Object || n.Kind == jsonc.Array {
		parts := []string{string(n.Kind)}
		for _, m := range n.Members {
			parts = append(parts, m.Name+"="+compact(m.Value))
		}
		for _, e := range n.Elements {
			parts = append(parts, compact(e))
		}
		return strings.Join(parts, "|")
	}
	return string(n.Kind) + n.Text
}

func asSet(path string, n *jsonc.Node) bool {
	var seen []string
	for _, e := range n.Elements {
		k := elementKey(path, e)
		if k == "" || slices.Contains(seen, k) {
			return false
		}
		seen = append(seen, k)
	}
	return true
}

func elementKey(path string, e *jsonc.Node) string {
	switch path {
	case "/mounts":
		_, rest, ok := strings.Cut(e.Text, "target=")
		if !ok {
			return ""
		}
		key, _, _ := strings.Cut(rest, ",")
		return key
	case "/runArgs":
		flag, _, ok := strings.Cut(e.Text, "=")
		if !strings.HasPrefix(flag, "--") {
			return ""
		}
		if !ok || flag == "--tmpfs" {
			return e.Text
		}
		return flag
	case "/capAdd", "/securityOpt", "/customizations/vscode/extensions", "/network/presets", "/network/allow", "/network/deny":
		return compact(e)
	}
	return ""
}

func userComments(t testing.TB, src []byte) []string {
	t.Helper()
	doc, findings := jsonc.Parse("", src)
	if doc == nil {
		t.Fatal(findings)
	}
	var out []string
	for _, c := range doc.Comments() {
		out = append(out, string(src[c.Start:c.End]))
	}
	slices.Sort(out)
	return slices.DeleteFunc(out, func(c string) bool { return !strings.Contains(c, "zuser") })
}

// TestNoEditIsLost merges random edits of a user and of a template. Whatever
// the user changed is in the result as they left it, with every comment of
// theirs; everything else is what the template says now; and merging again
// changes nothing.
func TestNoEditIsLost(t *testing.T) {
	all := append(bases(t, "devcontainer.json"), bases(t, "sandbox.jsonc")...)
	conflicting := 0
	for i := range cases {
		e := rand.New(rand.NewPCG(1, uint64(i)))
		base := all[e.IntN(len(all))]
		template, mine := base, base
		theirs, user := &editor{Rand: e, who: "tmpl"}, &editor{Rand: e, who: "zuser"}
		for range e.IntN(4) {
			template = theirs.json(template, false)
		}
		for range e.IntN(6) {
			mine = user.json(mine, true)
		}
		if e.IntN(10) == 0 {
			mine = bytes.ReplaceAll(mine, []byte("\n"), []byte("\r\n"))
		}
		fail := func(format string, args ...any) {
			t.Helper()
			t.Fatalf("case %d: %s\n--- base\n%s\n--- template\n%s\n--- mine\n%s", i, fmt.Sprintf(format, args...), base, template, mine)
		}
		if same, conflicts, err := merge.JSONC(base, base, mine, merge.Neither); err != nil || len(conflicts) > 0 || !bytes.Equal(same, mine) {
			fail("an update to the same version is no identity: %v %v", conflicts, err)
		}
		merged, conflicts, err := merge.JSONC(base, template, mine, merge.Neither)
		if err != nil {
			fail("%v", err)
		}
		decided := len(conflicts) > 0
		if decided {
			conflicting++
			if !bytes.Equal(merged, mine) {
				fail("with conflicts the file must stay: %v", conflicts)
			}
			for _, c := range conflicts {
				if c.Base == c.Template || c.Mine == c.Template {
					fail("no conflict: %+v", c)
				}
			}
			if merged, conflicts, err = merge.JSONC(base, template, mine, merge.Mine); err != nil || len(conflicts) > 0 {
				fail("decided conflicts: %v %v", conflicts, err)
			}
		}
		b, n, m, got := flat(t, base), flat(t, template), flat(t, mine), flat(t, merged)
		for path := range joined(b, n, m, got) {
			switch {
			case m[path] != b[path] && got[path] != m[path]:
				fail("%s: the user's %q became %q\n--- merged\n%s", path, m[path], got[path], merged)
			case !decided && m[path] == b[path] && got[path] != n[path]:
				fail("%s: the template's %q became %q\n--- merged\n%s", path, n[path], got[path], merged)
			}
		}
		for _, c := range userComments(t, mine) {
			if !slices.Contains(userComments(t, merged), c) {
				fail("the comment %s is gone\n--- merged\n%s", c, merged)
			}
		}
		for _, from := range [][]byte{base, template} {
			again, conflicts, err := merge.JSONC(from, template, merged, merge.Mine)
			if err != nil || len(conflicts) > 0 || !bytes.Equal(again, merged) {
				fail("merging again changes something: %v %v\n--- merged\n%s\n--- again\n%s", conflicts, err, merged, again)
			}
		}
	}
	t.Logf("%d of %d cases had conflicts", conflicting, cases)
}

func joined(maps ...map[string]string) map[string]bool {
	out := map[string]bool{}
	for _, m := range maps {
		for k := range m {
			out[k] = true
		}
	}
	return out
}

// text makes one edit of lines.
func (e *editor) text(src []byte) []byte {
	l := slices.Collect(strings.Lines(string(src)))
	at := e.IntN(len(l))
	switch e.IntN(3) {
	case 0:
		l[at] = "# " + e.name() + "\n"
	case 1:
		l = slices.Insert(l, at, "RUN "+e.name()+"\n")
	case 2:
		if len(l) > 1 {
			l = slices.Delete(l, at, at+1)
		}
	}
	return []byte(strings.Join(l, ""))
}

// TestNoLineIsLost is the same for files of lines.
func TestNoLineIsLost(t *testing.T) {
	all := append(bases(t, "Dockerfile"), bases(t, "compose.yaml")...)
	conflicting := 0
	for i := range cases / 10 { // the difference of long files takes its time
		e := rand.New(rand.NewPCG(2, uint64(i)))
		base := all[e.IntN(len(all))]
		template, mine := base, base
		theirs, user := &editor{Rand: e, who: "tmpl"}, &editor{Rand: e, who: "zuser"}
		for range e.IntN(4) {
			template = theirs.text(template)
		}
		for range e.IntN(4) {
			mine = user.text(mine)
		}
		if same, conflicts := merge.Text(base, base, mine, merge.Neither); len(conflicts) > 0 || !bytes.Equal(same, mine) {
			t.Fatalf("case %d: an update to the same version is no identity", i)
		}
		merged, conflicts := merge.Text(base, template, mine, merge.Neither)
		if len(conflicts) > 0 {
			conflicting++
			if !bytes.Equal(merged, mine) {
				t.Fatalf("case %d: with conflicts the file must stay", i)
			}
			if merged, conflicts = merge.Text(base, template, mine, merge.Mine); len(conflicts) > 0 {
				t.Fatalf("case %d: decided conflicts: %v", i, conflicts)
			}
		} else {
			for line := range strings.Lines(string(template)) {
				if strings.Contains(line, "tmpl") && !strings.Contains(string(merged), line) {
					t.Fatalf("case %d: the template's line %q is gone:\n%s", i, line, merged)
				}
			}
		}
		for line := range strings.Lines(string(mine)) {
			if strings.Contains(line, "zuser") && !strings.Contains(string(merged), line) {
				t.Fatalf("case %d: the user's line %q is gone:\n%s", i, line, merged)
			}
		}
		if again, conflicts := merge.Text(template, template, merged, merge.Neither); len(conflicts) > 0 || !bytes.Equal(again, merged) {
			t.Fatalf("case %d: merging again changes something", i)
		}
	}
	t.Logf("%d of %d cases had conflicts", conflicting, cases/10)
}

// TestFewerConflictsThanGit counts on the same cases the files that git's merge
// of lines cannot merge.
func TestFewerConflictsThanGit(t *testing.T) {
	git := testenv.Program(t, "git")
	dir := t.TempDir()
	all := append(bases(t, "devcontainer.json"), bases(t, "sandbox.jsonc")...)
	ours, gits := 0, 0
	const n = 300
	for i := range n {
		e := rand.New(rand.NewPCG(1, uint64(i)))
		base := all[e.IntN(len(all))]
		template, mine := base, base
		theirs, user := &editor{Rand: e, who: "tmpl"}, &editor{Rand: e, who: "zuser"}
		for range 3 {
			template = theirs.json(template, false)
		}
		for range 4 {
			mine = user.json(mine, true)
		}
		if _, conflicts, err := merge.JSONC(base, template, mine, merge.Neither); err != nil || len(conflicts) > 0 {
			ours++
		}
		for name, text := range map[string][]byte{"base": base, "template": template, "mine": mine} {
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
	t.Logf("of %d merges %d have conflicts, with git merge-file %d", n, ours, gits)
	if ours >= gits {
		t.Errorf("%d conflicts, git merge-file has %d", ours, gits)
	}
}
