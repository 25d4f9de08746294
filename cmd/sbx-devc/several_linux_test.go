package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/org/claude-sandbox/internal/fakeapi"
)

// severalRuns is how many runs work on one repository at once; make test-many says more.
func severalRuns(t *testing.T) int {
	n := 2
	if text := os.Getenv("SBX_TEST_RUNS"); text != "" {
		var err error
		if n, err = strconv.Atoi(text); err != nil || n < 1 || n > 20 {
			t.Fatalf("SBX_TEST_RUNS=%s is no number from 1 to 20", text)
		}
	}
	return n
}

// Users that are not root have copies and clones of one repository, several at once. The
// second one is on an engine of another machine, where a clone is the default. While
// they work nothing of the project changes; what each takes afterwards is the user's own,
// and what another run left is still there.
func TestSeveralRunsOnCopiesOfAUser(t *testing.T) {
	t.Parallel()
	for uid, n := range map[int]int{1000: 1, 1001: severalRuns(t)} { // the agent's own id, and another
		t.Run(fmt.Sprint(uid), func(t *testing.T) {
			t.Parallel()
			w := newWalk(t, uid)
			w.script.Script = fakeapi.Script{Turns: []fakeapi.Turn{{Bash: []string{
				`name=made-$(date +%N); mkdir "$name.d"; echo "$name" >"$name"; chmod 600 "$name"; echo more >>README.md; ` +
					`git add "$name" && git commit -qm "made"; sleep 1`}}}}
			w.sh("a repository", w.project,
				"git init -q; git config user.name ann; git config user.email a@b; echo text >README.md; git add .; git commit -qm first")
			before := w.sh("before", w.project, "git log --oneline --all; git status --short; ls -A")
			line, far := "", farEngine(t, w)
			for i := range n {
				how := "sbx-devc run --workspace " + []string{"copy", "clone"}[i%2]
				if i == 1 {
					how = far + "sbx-devc run"
				}
				line += fmt.Sprintf("%s --name r%d 'make it' >out%d 2>&1 & p%[2]d=$!; ", how, i, i)
			}
			for i := range n {
				line += fmt.Sprintf("wait $p%d || { cat %s/out%d; exit 1; }; ", i, w.home, i)
			}
			w.sh("the runs", w.home, strings.ReplaceAll(line, "sbx-devc run", "sbx-devc run "+w.project))
			if n > 1 {
				w.sh("what it said", w.home, "grep 'comes back when the agent has ended' out1; grep 'the agent works on a clone of' out1; "+
					far+"sbx-devc run --workspace bind app go 2>refused || test $? = 69; grep -- '--workspace clone works there' refused; "+
					"grep \": $PWD/app cannot be mounted\" refused")
			}
			if after := w.sh("after", w.project, "git log --oneline --all; git status --short; ls -A"); after != before {
				t.Errorf("the project was\n%sand is\n%s", before, after)
			}
			for i := range n {
				w.sh("apply", w.project, fmt.Sprintf("git checkout -q README.md; sbx-devc apply r%d", i))
			}
			made, err := filepath.Glob(filepath.Join(w.project, "made-*[0-9]"))
			if err != nil || len(made) != n {
				t.Fatalf("of %d runs there are %q, %v", n, made, err)
			}
			for _, name := range made {
				info, err := os.Lstat(name)
				if err != nil || info.Sys().(*syscall.Stat_t).Uid != uint32(uid) || info.Mode().Perm() != 0o600 {
					t.Errorf("%s: %v %v", name, info, err)
				}
			}
			if branches := w.sh("branches", w.project,
				"git branch --list 'sbx/*' --format '%(refname:short) %(contents:subject)'"); strings.Count(branches, " made") != n {
				t.Errorf("the branches are\n%s", branches)
			}
		})
	}
}

// farEngine is how a command line of the user's begins that is about this machine's engine
// by ssh, as if it were another one's.
func farEngine(t *testing.T, w *walk) string {
	t.Helper()
	ssh := "#!/bin/sh\nwhile [ \"$1\" != -- ]; do shift; done; shift 2\nDOCKER_HOST=unix:///var/run/docker.sock exec sh -c \"exec $*\"\n"
	bin := filepath.Join(w.home, "bin")
	if err := errors.Join(os.Mkdir(bin, 0o755), os.WriteFile(filepath.Join(bin, "ssh"), []byte(ssh), 0o755)); err != nil {
		t.Fatal(err)
	}
	return "PATH=" + bin + ":$PATH DOCKER_HOST=ssh://build.example "
}
