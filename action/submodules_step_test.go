package action_test

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/org/claude-sandbox/action"
	"github.com/org/claude-sandbox/internal/fakeapi"
)

const largeContent = "large content\n"

// checkoutWithSubmodule makes the hub's checkout as actions/checkout does with submodules and
// lfs: the repository and its submodule lib hold a file of LFS each, whose content is there.
func checkoutWithSubmodule(t *testing.T, hub action.Hub) {
	t.Helper()
	base := t.TempDir()
	library := filepath.Join(base, "library")
	sum := fmt.Sprintf("%x", sha256.Sum256([]byte(largeContent)))
	pointer := fmt.Sprintf("version https://git-lfs.github.com/spec/v1\noid sha256:%s\nsize %d\n", sum, len(largeContent))
	write(t, filepath.Join(base, "pointer"), pointer)
	// git-lfs makes the same of the files.
	local := []string{"-c", "protocol.file.allow=always", "-c", "user.name=t", "-c", "user.email=t@example.com", "-c",
		"filter.lfs.required=true",
		"-c", "filter.lfs.clean=cat " + filepath.Join(base, "pointer"), "-c", "filter.lfs.smudge=cat >/dev/null; echo large content"}
	git := func(dir string, args ...string) { t.Helper(); command(t, dir, "git", append(local, args...)...) }
	for _, dir := range []string{library, hub.Checkout} {
		write(t, filepath.Join(dir, ".gitattributes"), "*.bin filter=lfs diff=lfs merge=lfs -text\n")
		write(t, filepath.Join(dir, "large.bin"), largeContent)
		write(t, filepath.Join(dir, "top.txt"), "one\n")
	}
	git(library, "init", "-q", "-b", "main")
	git(library, "add", "-A")
	git(library, "commit", "-qm", "of the library")
	git(hub.Checkout, "submodule", "--quiet", "add", library, "lib")
	git(hub.Checkout, "add", "-A")
	git(hub.Checkout, "commit", "-qm", "with a submodule")
	hub.Git("fetch", "-q", hub.Checkout, "main:main")
	for _, store := range []string{".git", ".git/modules/lib"} {
		write(t, filepath.Join(hub.Checkout, store, "lfs", "objects", sum[:2], sum[2:4], sum), largeContent)
	}
	if os.Geteuid() == 0 {
		command(t, base, "chmod", "-R", "a+rX", ".")
		command(t, hub.Checkout, "chown", "-R", "1000:1000", ".")
	}
}

// stepInSubmodules is a step on that checkout.
func stepInSubmodules(t *testing.T, hub action.Hub, script, mode string) *stepRun {
	t.Helper()
	s := startStep(t, &fakeapi.Server{Script: fakeapi.Script{Turns: []fakeapi.Turn{{Bash: []string{script}}}}},
		"GITHUB_WORKSPACE="+hub.Checkout, "INPUT_WORKSPACE_MODE="+mode)
	s.wantConclusion(0, "success")
	return s
}

// said is what the agent's tools answered.
func (s *stepRun) said() string {
	s.t.Helper()
	return read(s.t, s.output("execution_file"))
}

// applied is what 'action apply' comes to with a step's patch, on the checkout of a later job.
func applied(t *testing.T, hub action.Hub, patch string) string {
	t.Helper()
	bin, err := program()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	cmd := exec.Command(bin, "action", "apply")
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "GITHUB_WORKSPACE=" + hub.Checkout, "GITHUB_SERVER_URL=" + hub.URL,
		"GITHUB_API_URL=" + hub.URL + "/api",
		"GITHUB_REPOSITORY=o/r", "GITHUB_REF=refs/heads/main", "GITHUB_ACTOR=ann", "GITHUB_RUN_ID=7", "GITHUB_RUN_ATTEMPT=1",
		"GITHUB_OUTPUT=" + filepath.Join(dir, "output"), "GITHUB_STEP_SUMMARY=" + filepath.Join(dir, "summary"), "RUNNER_TEMP=" + dir,
		"INPUT_PATCH_FILE=" + patch, "INPUT_GITHUB_TOKEN=" + hub.Token,
	}
	log, err := cmd.CombinedOutput()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return string(log) + read(t, filepath.Join(dir, "output"))
}

const readSubmodules = `cd /workspace; git status --porcelain; git submodule status; git -C lib status --porcelain; ` +
	`git -C lib log -1 --format='log: %s'
cat lib/top.txt lib/large.bin large.bin; git -C lib show HEAD:large.bin | head -1`

var inSubmodules = []string{"log: of the library", `one\nlarge content\nlarge content\nversion https://git-lfs`}

// A checkout has a submodule and files of LFS in both: the agent sees them, git works in both,
// and its changes come back by their paths. A file below the submodule is no file of the
// repository, so that 'action apply' refuses a patch with one.
func TestACheckoutWithSubmodules(t *testing.T) {
	for _, mode := range []string{"rw", "copy"} {
		t.Run(mode, func(t *testing.T) {
			hub := action.NewHub(t)
			checkoutWithSubmodule(t, hub)
			s := stepInSubmodules(t, hub, readSubmodules+`
echo two >>lib/top.txt; echo two >>top.txt; git -C lib commit -qam inside && git add top.txt && git commit -qm outside && echo both are `+
				`committed; git status --porcelain`, mode)
			for _, want := range append(inSubmodules, "both are committed") {
				if !strings.Contains(s.said(), want) {
					t.Errorf("the agent does not see %q:\n%s", want, s.said())
				}
			}
			if strings.Contains(s.said(), "?? ") || strings.Contains(s.said(), " M large.bin") {
				t.Errorf("git takes what is unchanged for changed:\n%s", s.said())
			}
			if got := s.output("changed_files"); got != "lib/top.txt\ntop.txt" {
				t.Errorf("changed_files: %q", got)
			}
			patch := read(t, s.output("patch_file"))
			for _, name := range []string{"top.txt", "lib/top.txt"} {
				if !strings.Contains(patch, "+++ b/"+name+"\n@@ -1,1 +1,2 @@\n one\n+two\n") {
					t.Errorf("the patch lacks %s", name)
				}
			}
			if strings.Contains(patch, "160000") || strings.Contains(patch, "large") {
				t.Errorf("the patch has more:\n%s", patch)
			}
			own := []string{"-c", "safe.directory=*", "-c", "core.hooksPath=/dev/null"}
			if bundled := command(t, hub.Checkout, "git",
				append(own, "bundle", "list-heads", s.output("bundle_file"))...); !strings.Contains(bundled, "refs/heads/") {
				t.Errorf("the bundle: %s", bundled)
			}
			after := map[string]string{"rw": "one\ntwo\n", "copy": "one\n"}[mode]
			for _, name := range []string{"top.txt", "lib/top.txt"} {
				if got := read(t, filepath.Join(hub.Checkout, name)); got != after {
					t.Errorf("%s of the checkout: %q", name, got)
				}
			}
			if log := applied(t, hub, s.output("patch_file")); !strings.Contains(log, "lib/top.txt") ||
				!strings.Contains(log, "\nrefused\n") || len(hub.Told()) > 0 {
				t.Errorf("apply: %s\n%q", log, hub.Told())
			}
		})
	}
	t.Run("ro", func(t *testing.T) {
		hub := action.NewHub(t)
		checkoutWithSubmodule(t, hub)
		s := stepInSubmodules(t, hub, readSubmodules+"\necho two >>lib/top.txt || echo cannot be written", "ro")
		for _, want := range append(inSubmodules, "cannot be written") {
			if !strings.Contains(s.said(), want) {
				t.Errorf("the agent does not see %q:\n%s", want, s.said())
			}
		}
		if s.output("changed_files") != "" || s.output("patch_file") != "" {
			t.Errorf("changed: %q", s.output("changed_files"))
		}
	})
	t.Run("the repository's own files", func(t *testing.T) {
		hub := action.NewHub(t)
		checkoutWithSubmodule(t, hub)
		s := stepInSubmodules(t, hub, "cd /workspace; echo two >>top.txt", "copy")
		log := applied(t, hub, s.output("patch_file"))
		if told := strings.Join(hub.Told(), "\n"); !strings.Contains(told, "draft false") {
			t.Fatalf("apply: %s\n%s", log, told)
		}
		branch := strings.TrimSpace(hub.Git("for-each-ref", "--format=%(refname)", "refs/heads/claude-sandbox"))
		if got := hub.Git("ls-tree", "-r", branch); !strings.Contains(got, "160000 commit") ||
			hub.Git("show", branch+":top.txt") != "one\ntwo\n" {
			t.Errorf("the branch has\n%s", got)
		}
	})
}

// Attack: the agent has the submodule name another commit and another address, and makes one
// more. None of it is in the branch that a later job makes.
func TestAttackASubmoduleIsLedElsewhere(t *testing.T) {
	hub := action.NewHub(t)
	checkoutWithSubmodule(t, hub)
	s := stepInSubmodules(t, hub, `cd /workspace; git -C lib commit -q --allow-empty -m evil; git add lib
git init -q more; git -C more commit -q --allow-empty -m evil; git add more
sed -i 's#url = .*#url = https://evil.example/x#' .gitmodules; printf '[submodule "more"]\n\tpath = more\n\turl = `+
		`https://evil.example/y\n' >>.gitmodules
git add -A; git commit -qm evil; echo done`, "copy")
	patch := read(t, s.output("patch_file"))
	if strings.Contains(patch, "160000") || !strings.Contains(patch, "evil.example/x") {
		t.Errorf("the patch:\n%s", patch)
	}
	if !strings.Contains("\n"+s.output("protected_files")+"\n", "\n.gitmodules\n") {
		t.Errorf("protected_files: %q", s.output("protected_files"))
	}
	log := applied(t, hub, s.output("patch_file"))
	if told := strings.Join(hub.Told(), "\n"); !strings.Contains(told, "draft true") {
		t.Errorf("it waits for nobody: %s\n%s", told, log)
	}
	branch := strings.TrimSpace(hub.Git("for-each-ref", "--format=%(refname)", "refs/heads/claude-sandbox"))
	if got := hub.Git("diff", "--raw", "main", branch); !strings.HasSuffix(got, "M\t.gitmodules\n") || strings.Contains(got, "160000") {
		t.Errorf("%q: %s\n%s", branch, got, log)
	}
}
