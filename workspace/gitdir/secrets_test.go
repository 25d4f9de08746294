package gitdir

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/org/claude-sandbox/internal/redact"
)

// Attack: a secret of the run leaves with a branch: in a file, in one that a later commit
// removes, in a message and in a name.
func TestAttackASecretInCommits(t *testing.T) {
	const value = "c4nary-Value-7f3a9c"
	v := newVolume(t)
	v.secrets = redact.NewFinder([]redact.Named{{Name: "KEY", Value: value}})
	content := "one\nkey = '" + value + "'\n"
	blob := v.object("blob", content)
	v.commit("100644", "gone.txt", blob)
	message := v.agent("commit-tree", "-p", "HEAD", "-m", "key: "+value, v.agent("rev-parse", "HEAD^{tree}"))
	v.agent("update-ref", "HEAD", message)
	name := v.object("blob", "harmless")
	v.commit("100644", value+".txt", name)
	last := v.object("blob", "x '"+value[:10]+"' + '"+value[10:]+"'")
	v.commit("100644", "kept.txt", last)
	commits, notes, _, err := v.take()
	if err != nil || len(notes) > 0 || len(commits) != 1 {
		t.Fatal(commits, notes, err)
	}
	c := &commits[0]
	got := map[string]SecretIn{}
	for _, s := range c.Secrets {
		got[s.Object] = s
	}
	if len(c.Secrets) != 4 || got[blob].Path != "gone.txt" || got[message].Path != "" || got[message].Size == 0 || !got[name].InName ||
		got[last].Path != "kept.txt" ||
		c.Unsearched || !slices.Equal(c.SecretNames(), []string{"KEY"}) {
		t.Errorf("%+v", c)
	}
	text := []byte(content)
	if in := c.Hide(blob, text); len(in) != 1 || LineOf(text, in[0].At) != 2 ||
		!bytes.Equal(text, []byte("one\nkey = '*******************'\n")) {
		t.Errorf("%v %q", in, text)
	}
	if in := c.Hide(blob, []byte("short")); in != nil {
		t.Errorf("another content: %v", in)
	}
	v = newVolume(t)
	v.secrets = redact.NewFinder([]redact.Named{{Name: "KEY", Value: value}})
	v.commit("100644", "large", v.object("blob", string(bytes.Repeat([]byte("x"), maxBlob+1))))
	if commits, _, _, err := v.take(); err != nil || len(commits) != 1 || !commits[0].Unsearched {
		t.Errorf("a file that is too large to be searched: %+v %v", commits, err)
	}
}

// Attack: a secret leaves in a tree of an earlier commit, where no content is new: as a
// name, also one with a line end, one of many for one content, that of an empty folder or
// one in pieces over folders, and as the id of a submodule's commit.
func TestAttackASecretInTheTreesOfCommits(t *testing.T) {
	const value = "c4nary-Value-7f3a9cX" // as long as an id
	link := hex.EncodeToString([]byte(value))
	for name, attack := range map[string]func(v *volume, known string){
		"of a content that is known": func(v *volume, known string) { v.commit("100644", value, known) },
		"two of one content": func(v *volume, _ string) {
			blob := v.object("blob", "new")
			v.commit("100644", "first", blob)
			v.commit("100644", value, blob)
		},
		"with a line end":    func(v *volume, _ string) { v.commit("100644", "x\n"+value, v.object("blob", "new")) },
		"of an empty folder": func(v *volume, _ string) { v.commit("40000", value, v.object("tree", "")) },
		"over two folders": func(v *volume, known string) {
			v.commit("40000", value[:10], v.object("tree", "100644 "+value[10:]+"\x00"+v.raw(known)))
		},
		"in a merge": func(v *volume, known string) {
			before := v.agent("rev-parse", "HEAD")
			tree := v.agent("rev-parse", v.commit("100644", value, known)+"^{tree}")
			v.agent("update-ref", "HEAD", before)
			v.commit("100644", "side", known)
			v.agent("update-ref", "HEAD", v.agent("commit-tree", "-p", before, "-p", "HEAD", "-m", "merge", tree))
		},
		"a submodule": func(v *volume, _ string) { v.commit("160000", "sub", link) },
		"two submodules": func(v *volume, _ string) {
			half := strings.Repeat("0", 20)
			v.tree([3]string{"160000", "1", half + link[:20]}, [3]string{"160000", "2", link[20:] + half})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := newVolume(t)
			v.secrets = redact.NewFinder([]redact.Named{{Name: "KEY", Value: value}})
			known := v.agent("rev-parse", "HEAD:a")
			attack(v, known)
			v.commit("100644", "a", known) // and all of it is gone
			commits, notes, _, err := v.take()
			if err != nil || len(notes) > 0 || len(commits) != 1 {
				t.Fatal(commits, notes, err)
			}
			if c := commits[0]; !slices.Equal(c.SecretNames(), []string{"KEY"}) || c.Unsearched {
				t.Errorf("%+v", c)
			}
			if text, _ := json.Marshal(commits); strings.Contains(string(text), "ue-7f3a") || strings.Contains(string(text), link[:12]) {
				t.Errorf("it is shown: %s", text)
			}
		})
	}
}

// Attack: trees that hold each other many times over: no memory has room for their paths.
func TestAttackTreesWithoutEnd(t *testing.T) {
	v := newVolume(t)
	v.secrets = redact.NewFinder([]redact.Named{{Name: "KEY", Value: "c4nary-Value-7f3a9c"}})
	object := v.agent("rev-parse", v.commit("100644", "c4nary-Value-7f3a9c", v.agent("rev-parse", "HEAD:a"))+"^{tree}")
	for range 7 {
		var entries [][3]string
		for i := range 10 {
			entries = append(entries, [3]string{"40000", strings.Repeat("x", 50) + strconv.Itoa(i), object})
		}
		object = v.agent("rev-parse", v.tree(entries...)+"^{tree}")
	}
	commits, notes, _, err := v.take()
	if err != nil || len(notes) > 0 || len(commits) != 1 || commits[0].Unsearched || len(commits[0].Secrets) == 0 {
		t.Errorf("%+v %q %v", commits, notes, err)
	}
}

// Attack: the agent names a branch like a secret.
func TestAttackASecretInTheNameOfABranch(t *testing.T) {
	const value = "c4nary.Value-7f3a9c"
	v := newVolume(t)
	v.secrets = redact.NewFinder([]redact.Named{{Name: "KEY", Value: value}, {Name: "SHORT", Value: "s3-cret"}})
	for i, name := range []string{value, "fix/c4nary/Value/7f3a9c", "s3.cret", "good"} {
		v.agent("update-ref", "refs/heads/"+name,
			v.agent("commit-tree", "-p", "HEAD", "-m", strconv.Itoa(i), v.agent("rev-parse", "HEAD^{tree}")))
	}
	v.write("HEAD", "ref: refs/heads/"+value+"\n")
	commits, notes, folder, err := v.take()
	if err != nil || len(notes) > 0 || len(commits) != 4 {
		t.Fatal(commits, notes, err)
	}
	for _, c := range commits {
		if held := len(c.Secrets) > 0; held == (c.From == "good") || held && (c.From != "[redacted]" || !c.Secrets[0].InBranch) {
			t.Errorf("%+v", c)
		}
	}
	if err := Apply(t.Context(), folder, commits); err != nil {
		t.Fatal(err)
	}
	text, _ := json.Marshal(commits)
	if all := string(text) + v.command(v.host, "for-each-ref"); strings.Contains(all, "7f3a9c") || strings.Contains(all, "s3") {
		t.Errorf("it is shown: %s", all)
	}
}

// The branches of a run are looked at one by one, out of one bundle.
func TestDiffOfSeveralBranches(t *testing.T) {
	for _, names := range [][]string{{"one", "two"}, {"one", "two", "three"}} {
		v := newVolume(t)
		for _, name := range names {
			before := v.agent("rev-parse", "HEAD")
			v.agent("update-ref", "refs/heads/"+name, v.commit("100644", name, v.object("blob", name)))
			v.agent("update-ref", "HEAD", before)
		}
		commits, notes, folder, err := v.take()
		if err != nil || len(notes) > 0 || len(commits) != len(names) {
			t.Fatal(commits, notes, err)
		}
		for _, c := range commits {
			_, paths, err := Diff(t.Context(), folder, c, commits)
			if err != nil || !slices.Equal(paths, []string{c.From}) {
				t.Errorf("%s of %d: %q %v", c.From, len(names), paths, err)
			}
		}
	}
}
