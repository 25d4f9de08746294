package gitdir

import (
	"archive/tar"
	"bytes"
	"compress/zlib"
	"crypto/sha1"
	"crypto/sha256" //nolint:gosec // git's own names of objects
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/org/claude-sandbox/internal/redact"
	"github.com/org/claude-sandbox/internal/test/testenv"
)

// volume is a host's repository and the agent's own of it, on this machine's disk.
type volume struct {
	t          *testing.T
	host, dir  string // the repository's folder, and the agent's git directory
	secret     string // another repository of the host's
	layout     Layout
	secrets    *redact.Finder // of the run
	extra      []tar.Header   // that the archive ends with
	extraBytes map[string][]byte
}

func newVolume(t *testing.T) *volume {
	t.Helper()
	testenv.Program(t, "git")
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	v := &volume{t: t, host: filepath.Join(base, "host"), dir: filepath.Join(base, "own"), secret: filepath.Join(base, "secret"),
		extraBytes: map[string][]byte{}}
	for _, repository := range []string{v.host, v.secret} {
		v.command(base, "init", "-q", repository)
		if err := os.WriteFile(filepath.Join(repository, "a"), []byte(repository), 0o644); err != nil {
			t.Fatal(err)
		}
		v.command(repository, "add", "a")
		v.command(repository, "commit", "-q", "-m", "one")
	}
	v.layout = NewLayout(Look(v.host, []string{".git"}, nil), "/workspace")
	var archive bytes.Buffer
	tw := tar.NewWriter(&archive)
	err = v.layout.Fill(tw, Owner{UID: os.Getuid(), GID: os.Getgid(), Name: "a", Email: "a@b.example"})
	if err := errors.Join(err, tw.Close()); err != nil {
		t.Fatal(err)
	}
	for tr := tar.NewReader(&archive); ; {
		h, err := tr.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		name := strings.TrimPrefix("/"+h.Name, Volumes+"/0")
		file := filepath.Join(v.dir, filepath.FromSlash(name))
		if h.Typeflag == tar.TypeDir {
			err = errors.Join(err, os.MkdirAll(file, 0o755))
		} else {
			text, readErr := io.ReadAll(tr)
			err = errors.Join(err, readErr, os.WriteFile(file, text, 0o644))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	v.write("objects/info/alternates", filepath.Join(v.host, ".git", "objects")+"\n") // there it is another place
	return v
}

func (v *volume) write(name, text string) {
	v.t.Helper()
	file := filepath.Join(v.dir, filepath.FromSlash(name))
	if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(text), 0o644)); err != nil {
		v.t.Fatal(err)
	}
}

func (v *volume) command(dir string, args ...string) string {
	v.t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Env = append(environment(), "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b.example", "GIT_COMMITTER_NAME=a",
		"GIT_COMMITTER_EMAIL=a@b.example")
	if dir == v.dir {
		cmd.Env = append(cmd.Env, "GIT_DIR="+v.dir, "GIT_WORK_TREE="+v.t.TempDir())
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		v.t.Fatalf("git %q: %v: %s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// agent runs git in the agent's git directory.
func (v *volume) agent(args ...string) string { return v.command(v.dir, args...) }

// object writes an object and returns its name.
func (v *volume) object(kind, text string) string {
	v.t.Helper()
	whole := fmt.Sprintf("%s %d\x00%s", kind, len(text), text)
	sum := sha1.Sum([]byte(whole))
	name := hex.EncodeToString(sum[:])
	var z bytes.Buffer
	w := zlib.NewWriter(&z)
	if _, err := io.WriteString(w, whole); errors.Join(err, w.Close()) != nil {
		v.t.Fatal(err)
	}
	v.write("objects/"+name[:2]+"/"+name[2:], z.String())
	return name
}

// commit makes a commit of a tree with one entry on HEAD.
func (v *volume) commit(mode, name, object string) string {
	v.t.Helper()
	return v.tree([3]string{mode, name, object})
}

// tree makes a commit of a tree on HEAD. Its entries are modes, names and objects.
func (v *volume) tree(entries ...[3]string) string {
	v.t.Helper()
	var raw bytes.Buffer
	for _, e := range entries {
		fmt.Fprintf(&raw, "%s %s\x00%s", e[0], e[1], v.raw(e[2]))
	}
	tree := v.object("tree", raw.String())
	commit := v.agent("commit-tree", "-p", "HEAD", "-m", "evil", tree)
	v.agent("update-ref", "HEAD", commit)
	return commit
}

// raw is an object's name as a tree has it.
func (v *volume) raw(object string) string {
	v.t.Helper()
	id, err := hex.DecodeString(object)
	if err != nil {
		v.t.Fatal(err)
	}
	return string(id)
}

// take takes what is in the volume as a run does.
func (v *volume) take() (commits []Commits, notes []string, folder string, err error) {
	v.t.Helper()
	var archive bytes.Buffer
	tw := tar.NewWriter(&archive)
	if err := tw.AddFS(os.DirFS(v.dir)); err != nil {
		v.t.Fatal(err)
	}
	if err := tw.Flush(); err != nil {
		v.t.Fatal(err)
	}
	var renamed bytes.Buffer
	out := tar.NewWriter(&renamed)
	for tr := tar.NewReader(&archive); ; {
		h, err := tr.Next()
		if err != nil {
			break
		}
		h.Name = "0/" + h.Name
		if err := out.WriteHeader(h); err != nil {
			v.t.Fatal(err)
		}
		if _, err := io.Copy(out, tr); err != nil {
			v.t.Fatal(err)
		}
	}
	for _, h := range v.extra {
		h.Size = int64(len(v.extraBytes[h.Name]))
		if err := out.WriteHeader(&h); err != nil {
			v.t.Fatal(err)
		}
		if _, err := out.Write(v.extraBytes[h.Name]); err != nil {
			v.t.Fatal(err)
		}
	}
	if err := out.Close(); err != nil {
		v.t.Fatal(err)
	}
	taker := &Taker{Run: "run", Folder: v.t.TempDir(), Secrets: v.secrets}
	err = taker.Take(v.t.Context(), v.layout.Private[0], &renamed)
	commits, notes = taker.Taken()
	return commits, notes, taker.Folder, err
}

// Attack: one hostile object, so that no commit of the repository comes back. The branch that
// has it is refused by its name; others come, also those that the hostile one is made of.
func TestAttackAHostileBranchKeepsOthersBack(t *testing.T) {
	v := newVolume(t)
	v.commit("100644", "clean", v.object("blob", "clean"))
	v.agent("branch", "clean")
	v.commit("100644", ".gitmodules", v.object("blob", "[submodule \"x\"]\n\tpath = x\n\turl = --upload-pack=touch\n"))
	v.agent("branch", "also-hostile")
	v.agent("update-ref", "refs/heads/other", v.command(v.host, "rev-parse", "HEAD"))
	v.agent("symbolic-ref", "HEAD", "refs/heads/other")
	v.commit("100644", "other", v.object("blob", "other"))
	v.agent("symbolic-ref", "HEAD", "refs/heads/also-hostile")
	commits, notes, folder, err := v.take()
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range commits {
		got = append(got, c.From)
	}
	slices.Sort(got)
	if !slices.Equal(got, []string{"clean", "other"}) ||
		!strings.Contains(strings.Join(notes, "\n"), "the branch also-hostile of the agent's in the project does not come back") {
		t.Fatalf("%q come back; said is %q", got, notes)
	}
	if err := Apply(t.Context(), folder, commits); err != nil {
		t.Error(err)
	}
	if left, _ := filepath.Glob(filepath.Join(folder, "*")); len(left) != 1 {
		t.Errorf("left are %q", left)
	}
}

// A git directory that holds no repository any more, because the agent removed it, or because the
// engine gave an empty folder, is no repository without commits.
func TestAGitDirectoryThatIsGone(t *testing.T) {
	v := newVolume(t)
	for _, name := range []string{"HEAD", "packed-refs", "refs"} {
		if err := os.RemoveAll(filepath.Join(v.dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if commits, notes, _, err := v.take(); err != nil || len(commits) > 0 || len(notes) != 1 ||
		!strings.Contains(notes[0], "do not come back") {
		t.Errorf("%v, %q, %v", commits, notes, err)
	}
}

// A branch says which files it changes, and what they hold, before and after.
func TestTouchedFiles(t *testing.T) {
	v := newVolume(t)
	blob := v.object("blob", "new")
	v.tree([3]string{"100644", "b", blob}, [3]string{"120000", "link", blob}) // and no a any more
	commits, notes, _, err := v.take()
	if err != nil || len(commits) != 1 {
		t.Fatal(commits, notes, err)
	}
	sum := func(text string) string { at := sha256.Sum256([]byte(text)); return hex.EncodeToString(at[:]) }
	if want := []Touched{{"a", sum(v.host), ""}, {"b", "", sum("new")}}; !slices.Equal(commits[0].Touched, want) {
		t.Errorf("%+v, want %+v", commits[0].Touched, want)
	}
}

// TestAttackHostileObjectsComeBack: each is something that git must never be
// given, made by hand in the agent's git directory.
func TestAttackHostileObjectsComeBack(t *testing.T) {
	for _, c := range []struct {
		name string
		make func(v *volume)
		want string // in the notes
	}{
		{"a submodule whose address is an option", func(v *volume) {
			v.commit("100644", ".gitmodules", v.object("blob", "[submodule \"x\"]\n\tpath = x\n\turl = --upload-pack=touch\n"))
		}, "gitmodulesUrl"},
		{"a submodule whose name leaves .git", func(v *volume) {
			v.commit("100644", ".gitmodules", v.object("blob", "[submodule \"../../x\"]\n\tpath = x\n\turl = https://example.com/x\n"))
		}, "gitmodulesName"},
		{"a submodule that is updated by a command", func(v *volume) {
			v.commit("100644", ".gitmodules",
				v.object("blob", "[submodule \"x\"]\n\tpath = x\n\turl = https://example.com/x\n\tupdate = !touch x\n"))
		}, "gitmodulesUpdate"},
		{"a file named .git", func(v *volume) { v.commit("100644", ".git", v.object("blob", "gitdir: x\n")) }, "hasDotgit"},
		{"a name with a slash", func(v *volume) { v.commit("100644", "../x", v.object("blob", "x")) }, "fullPathname"},
		{"an object under another's name", func(v *volume) {
			blob := v.object("blob", "harmless")
			v.commit("100644", "x", blob)
			var z bytes.Buffer
			w := zlib.NewWriter(&z)
			fmt.Fprintf(w, "blob 4\x00evil")
			w.Close()
			file := filepath.Join("objects", blob[:2], blob[2:])
			if err := os.Remove(filepath.Join(v.dir, file)); err != nil {
				v.t.Fatal(err)
			}
			v.write(file, z.String())
		}, "do not come back"},
		{"objects of another repository of the host's", func(v *volume) {
			v.write("objects/info/alternates", filepath.Join(v.host, ".git", "objects")+"\n"+filepath.Join(v.secret, ".git", "objects")+"\n")
			v.agent("update-ref", "HEAD", v.command(v.secret, "rev-parse", "HEAD"))
		}, "does not come back"},
		{"a tree of another repository of the host's", func(v *volume) {
			v.write("objects/info/alternates", filepath.Join(v.host, ".git", "objects")+"\n"+filepath.Join(v.secret, ".git", "objects")+"\n")
			v.agent("update-ref", "HEAD", v.agent("commit-tree", "-p", "HEAD", "-m", "x", v.command(v.secret, "rev-parse", "HEAD^{tree}")))
		}, "do not come back"},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := newVolume(t)
			c.make(v)
			commits, notes, folder, err := v.take()
			said := strings.Join(append(notes, fmt.Sprint(err)), "\n")
			if len(commits) > 0 || !strings.Contains(said, c.want) {
				t.Errorf("%d branches come back; said is %s", len(commits), said)
			}
			if left, _ := os.ReadDir(folder); len(left) > 0 {
				t.Errorf("something is left: %v", left)
			}
		})
	}
}

// TestAttackNamesInTheVolume: names of refs, links and folders lead nowhere, and
// what is good beside them comes back.
func TestAttackNamesInTheVolume(t *testing.T) {
	v := newVolume(t)
	tree := v.agent("rev-parse", "HEAD^{tree}")
	commit := func(message string) string { return v.agent("commit-tree", "-p", "HEAD", "-m", message, tree) }
	packed := "# pack-refs with: peeled\n"
	for i, name := range []string{"sbx/../../heads/main", "../../../evil", "-x", "x.lock", "a\x1b[2J", "@{-1}", "sbx/run", "sbx/run-x", "a/b",
		"a/b/c", "..", strings.Repeat("long/", 100)} {
		packed += commit(fmt.Sprint(i)) + " refs/heads/" + name + "\n"
	}
	v.write("packed-refs", packed+commit("tag")+" refs/tags/v1\n"+commit("remote")+" refs/remotes/origin/x\n")
	v.write("refs/heads/link", "ref: refs/heads/a/b\n")
	passwd, _ := os.ReadFile("/etc/passwd")
	v.extra = []tar.Header{
		{Name: "0/objects/pack/pack-1.pack", Typeflag: tar.TypeSymlink, Linkname: "/etc/passwd"},
		{Name: "0/HEAD", Typeflag: tar.TypeSymlink, Linkname: "/etc/passwd"},
		{Name: "0/../../../refs/heads/evil", Typeflag: tar.TypeReg, Mode: 0o644},
		{Name: "0/hooks/post-update", Typeflag: tar.TypeReg, Mode: 0o755},
		{Name: "0/objects/pack/pack-2.idx", Typeflag: tar.TypeReg, Mode: 0o644},
		{Name: "0/refs/heads/hard", Typeflag: tar.TypeLink, Linkname: "/etc/passwd"},
	}
	v.extraBytes["0/hooks/post-update"] = passwd
	commits, notes, folder, err := v.take()
	if err != nil || len(commits) != 12 {
		t.Fatalf("%d branches: %+v, %q, %v", len(commits), commits, notes, err)
	}
	good := regexp.MustCompile(`^sbx/run-[A-Za-z0-9_-]+$`)
	for _, c := range commits {
		if !good.MatchString(c.Branch) || strings.Count(c.Branch, "/") != 1 {
			t.Errorf("a branch would be %q", c.Branch)
		}
	}
	before := v.command(v.host, "for-each-ref")
	// A branch that is there is never replaced, and then none is made.
	v.command(v.host, "branch", commits[3].Branch)
	if err := Apply(t.Context(), folder, commits); err == nil || !strings.Contains(err.Error(), "already, at another commit") {
		t.Errorf("got %v", err)
	}
	v.command(v.host, "branch", "-D", commits[3].Branch)
	if after := v.command(v.host, "for-each-ref"); after != before {
		t.Errorf("refs changed: %s", after)
	}
	if err := Apply(t.Context(), folder, commits); err != nil {
		t.Error(err)
	}
	refs := v.command(v.host, "for-each-ref", "--format=%(refname)")
	if strings.Count(refs, "refs/heads/sbx/run-") != 12 || strings.Contains(refs, "tags") || strings.Contains(refs, "remotes") {
		t.Errorf("the host has %s", refs)
	}
	// Whoever changed the bundle meanwhile changed nothing here.
	bundle := filepath.Join(folder, commits[0].Bundle)
	text, err := os.ReadFile(bundle)
	if err != nil {
		t.Fatal(err)
	}
	v.command(v.host, "update-ref", "-d", "refs/heads/"+commits[0].Branch)
	text[len(text)-30] ^= 1
	if err := errors.Join(os.WriteFile(bundle, text, 0o600), Apply(t.Context(), folder, commits)); err == nil {
		t.Error("a damaged bundle is taken")
	}
}

// TestAttackAVolumeWithoutEnd: what the host reads of a volume has bounds.
func TestAttackAVolumeWithoutEnd(t *testing.T) {
	t.Run("branches", func(t *testing.T) {
		v := newVolume(t)
		v.write("refs/heads/x", "x")
		for i := range maxRefs + 1 {
			v.extra = append(v.extra, tar.Header{Name: fmt.Sprintf("0/refs/heads/%d", i), Typeflag: tar.TypeReg})
		}
		if _, _, _, err := v.take(); err == nil || !strings.Contains(err.Error(), "branches") {
			t.Errorf("got %v", err)
		}
	})
	t.Run("branches with commits", func(t *testing.T) {
		v := newVolume(t)
		for i := range maxBranches + 3 {
			v.agent("update-ref", fmt.Sprintf("refs/heads/b%03d", i),
				v.agent("commit-tree", "-p", "HEAD", "-m", fmt.Sprint(i), v.agent("rev-parse", "HEAD^{tree}")))
		}
		commits, notes, _, err := v.take()
		if err != nil || len(commits) != maxBranches || !strings.Contains(strings.Join(notes, "\n"), "3 more branches") {
			t.Errorf("%d, %q, %v", len(commits), notes, err)
		}
	})
	t.Run("an object that claims a terabyte", func(t *testing.T) {
		v := newVolume(t)
		var z bytes.Buffer
		w := zlib.NewWriter(&z)
		fmt.Fprintf(w, "blob %d\x00x", int64(1)<<40)
		w.Close()
		v.write("objects/ab/"+strings.Repeat("c", 38), z.String())
		if _, _, _, err := v.take(); err == nil || !strings.Contains(err.Error(), "larger than") {
			t.Errorf("got %v", err)
		}
	})
	t.Run("damaged objects", func(t *testing.T) {
		v := newVolume(t)
		for i := range maxNotes + 2 {
			v.write(fmt.Sprintf("objects/ab/%038d", i), "no object")
		}
		if _, _, _, err := v.take(); err == nil || !strings.Contains(err.Error(), "too much of it is damaged") {
			t.Errorf("got %v", err)
		}
	})
}
