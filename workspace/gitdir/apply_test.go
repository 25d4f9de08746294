package gitdir

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The reset that is offered after an apply must lose no commit.
func TestAResetIsOfferedOnlyWhereItLosesNothing(t *testing.T) {
	write := func(v *volume, name, text string) {
		file := filepath.Join(v.host, ".git", filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		name        string
		head        func(v *volume)
		keeps, born bool
	}{
		{"as it was", func(*volume) {}, true, true},
		{"a commit meanwhile", func(v *volume) { v.command(v.host, "commit", "-q", "--allow-empty", "-m", "two") }, false, true},
		{"no commit yet", func(v *volume) { write(v, "HEAD", "ref: refs/heads/new\n") }, true, false},
		{"a branch that is damaged", func(v *volume) {
			write(v, "HEAD", "ref: refs/heads/bad\n")
			write(v, "refs/heads/bad", "damaged\n")
		}, false, false},
		{"a branch whose commit is missing", func(v *volume) {
			write(v, "HEAD", "ref: refs/heads/bad\n")
			write(v, "refs/heads/bad", strings.Repeat("1", 40)+"\n")
		}, false, false},
		{"a circle", func(v *volume) {
			write(v, "HEAD", "ref: refs/heads/a\n")
			write(v, "refs/heads/a", "ref: refs/heads/b\n")
			write(v, "refs/heads/b", "ref: refs/heads/a\n")
		}, false, false},
		{"no HEAD that git knows", func(v *volume) { write(v, "HEAD", "damaged\n") }, false, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := newVolume(t)
			v.agent("update-ref", "HEAD", v.agent("commit-tree", "-p", "HEAD", "-m", "new", v.agent("rev-parse", "HEAD^{tree}")))
			commits, notes, folder, err := v.take()
			if err != nil || len(commits) != 1 {
				t.Fatal(commits, notes, err)
			}
			if err := Apply(t.Context(), folder, commits); err != nil {
				t.Fatal(err)
			}
			c.head(v)
			if keeps, born := KeepsHead(t.Context(), commits[0]); keeps != c.keeps || born != c.born {
				t.Errorf("keeps %v, born %v; want %v, %v", keeps, born, c.keeps, c.born)
			}
		})
	}
}

// Attack: the agent's HEAD and refs are circles, endless or huge, or lead out of
// its git directory. Nothing comes back by them, and what is good does.
func TestAttackRefsThatLeadNowhere(t *testing.T) {
	for name, write := range map[string]func(v *volume){
		"HEAD names itself":                    func(v *volume) { v.write("HEAD", "ref: HEAD\n") },
		"HEAD names a file of the host":        func(v *volume) { v.write("HEAD", "ref: ../../../../etc/passwd\n") },
		"HEAD is a branch's name as an option": func(v *volume) { v.write("HEAD", "--upload-pack=touch x\n") },
		"HEAD is huge":                         func(v *volume) { v.write("HEAD", strings.Repeat("ref: ", 4<<20)) },
		"a circle of branches": func(v *volume) {
			v.write("HEAD", "ref: refs/heads/a\n")
			v.write("refs/heads/a", "ref: refs/heads/b\n")
			v.write("refs/heads/b", "ref: refs/heads/a\n")
		},
		"a branch with two lines": func(v *volume) { v.write("refs/heads/two", strings.Repeat("1", 40)+"\n"+strings.Repeat("2", 40)+"\n") },
		"packed refs that are no text": func(v *volume) {
			v.write("packed-refs", strings.Repeat("\x00\xff refs/heads/x\n", 1<<16))
		},
		"packed refs without an end of line": func(v *volume) { v.write("packed-refs", strings.Repeat("1", 8<<20)) },
		"replaced commits": func(v *volume) {
			v.agent("update-ref", "refs/replace/"+v.agent("rev-parse", "HEAD"),
				v.agent("commit-tree", "-m", "other", v.agent("rev-parse", "HEAD^{tree}")))
		},
		"grafts":  func(v *volume) { v.write("info/grafts", v.agent("rev-parse", "refs/heads/good")+"\n") },
		"shallow": func(v *volume) { v.write("shallow", v.agent("rev-parse", "refs/heads/good")+"\n") },
		"its config": func(v *volume) {
			v.write("config", "[core]\n\tsshCommand = touch x\n\tfsmonitor = touch x\n[include]\n\tpath = /etc/passwd\n")
		},
		"a commondir": func(v *volume) { v.write("commondir", "/etc\n") },
	} {
		t.Run(name, func(t *testing.T) {
			v := newVolume(t)
			good := v.agent("commit-tree", "-p", "HEAD", "-m", "good", v.agent("rev-parse", "HEAD^{tree}"))
			v.agent("update-ref", "refs/heads/good", good)
			write(v)
			commits, notes, folder, err := v.take()
			if err != nil || len(commits) != 1 || commits[0].Head != good || commits[0].Count != 1 {
				t.Fatalf("%+v, %q, %v", commits, notes, err)
			}
			before := v.command(v.host, "for-each-ref", "--format=%(refname)")
			if err := Apply(t.Context(), folder, commits); err != nil {
				t.Error(err)
			}
			if after := v.command(v.host, "for-each-ref",
				"--format=%(refname)"); after != strings.TrimSpace(before+"\nrefs/heads/"+commits[0].Branch) {
				t.Errorf("the host's refs are %s", after)
			}
		})
	}
}

// Attack: a bundle in the run's folder that is another one when it is applied.
func TestAttackAnotherBundleIsApplied(t *testing.T) {
	v := newVolume(t)
	v.agent("update-ref", "HEAD", v.agent("commit-tree", "-p", "HEAD", "-m", "new", v.agent("rev-parse", "HEAD^{tree}")))
	commits, _, folder, err := v.take()
	if err != nil || len(commits) != 1 {
		t.Fatal(commits, err)
	}
	bundle := filepath.Join(folder, commits[0].Bundle)
	text, err := os.ReadFile(bundle)
	if err != nil {
		t.Fatal(err)
	}
	pack := text[strings.Index(string(text), "\n\n")+2:]
	line := commits[0].Head + " refs/heads/" + commits[0].Branch + "\n"
	before := v.command(v.host, "for-each-ref")
	for name, changed := range map[string]string{
		"one more branch":      "# v2 git bundle\n" + line + commits[0].Head + " refs/heads/main\n\n" + string(pack),
		"the branch twice":     "# v2 git bundle\n" + line + strings.Repeat("1", 40) + " refs/heads/" + commits[0].Branch + "\n\n" + string(pack),
		"another branch":       "# v2 git bundle\n" + commits[0].Head + " refs/heads/main\n\n" + string(pack),
		"no pack":              "# v2 git bundle\n" + line + "\n",
		"a pack without end":   "# v2 git bundle\n" + line + "\n" + string(pack[:len(pack)/2]),
		"no header":            string(pack),
		"a header without end": "# v2 git bundle\n" + strings.Repeat(line, 100),
	} {
		if err := os.WriteFile(bundle, []byte(changed), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := Apply(t.Context(), folder, commits); err == nil {
			t.Errorf("%s: it is taken", name)
		}
		if after := v.command(v.host, "for-each-ref"); after != before {
			t.Errorf("%s: the host's refs are %s", name, after)
		}
	}
}
