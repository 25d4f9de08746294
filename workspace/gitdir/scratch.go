package gitdir

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/org/claude-sandbox/internal/excerpt"
)

// scratch is a bare repository that we made: our configuration, no hooks, and
// the host's objects behind its own.
type scratch struct {
	dir     string
	sha256  bool
	partial bool
	known   map[string]bool // what the host's refs name
	extra   []string        // arguments of git before the command
	index   string          // "" = the repository's
}

// newScratch makes one for what comes from, or goes to, a repository of the host's.
func newScratch(dir string, s Store) (*scratch, error) {
	r := &scratch{dir: dir, sha256: s.isSHA256(), partial: s.isPartial(), known: hostRefs(s)}
	config := "[core]\n\trepositoryformatversion = 1\n\tbare = true\n[gc]\n\tauto = 0\n"
	if r.sha256 {
		config += "[extensions]\n\tobjectformat = sha256\n"
	}
	if r.partial {
		config += "[extensions]\n\tpartialclone = host\n[remote \"host\"]\n\turl = /nonexistent\n\tpromisor = true\n"
	}
	files := map[string]string{
		"HEAD": "ref: refs/heads/none\n", "config": config, "packed-refs": "", "objects/info/alternates": s.objects() + "\n",
	}
	var refs strings.Builder
	refs.WriteString("# pack-refs with: sorted \n")
	for i, hash := range sortedKeys(r.known) {
		fmt.Fprintf(&refs, "%s refs/host/%08d\n", hash, i)
	}
	files["packed-refs"] = refs.String()
	if text, err := readSmall(s.Common, "shallow"); err == nil {
		files["shallow"] = text
	}
	for _, folder := range []string{"objects/info", "objects/pack", "refs"} {
		if err := os.MkdirAll(filepath.Join(dir, folder), 0o700); err != nil {
			return nil, fmt.Errorf("taking the agent's commits: %w", err)
		}
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, filepath.FromSlash(name)), []byte(text), 0o600); err != nil {
			return nil, fmt.Errorf("taking the agent's commits: %w", err)
		}
	}
	return r, nil
}

// Bounds on one command of git. The agent made the objects that it reads: some bytes can claim
// to be an object of any size, and a few trees can lead to each other along 2^60 paths.
const (
	maxAlloc  = "512m"          // one piece of memory that git takes
	maxStream = "32m"           // a file from which on git holds none as a whole
	maxOutput = 128 << 20       // bytes that it prints
	maxTime   = 2 * time.Minute // that it takes
)

// errOutput is the error of a command that prints too much.
var errOutput = fmt.Errorf("it lists more than %d MiB", maxOutput>>20)

// git runs git in the repository and returns what it prints, within the bounds.
func (r *scratch) git(ctx context.Context, stdin io.Reader, args ...string) (string, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, maxTime, fmt.Errorf("it takes longer than %v", maxTime))
	defer cancel()
	program, err := gitProgram()
	if err != nil {
		return "", err
	}
	// A search for differences between objects would take time and memory without end.
	cmd := exec.CommandContext(ctx, program, append(append([]string{"-c", "core.hooksPath=" + os.DevNull, "-c", "core.fsmonitor=false",
		"-c", "core.bigFileThreshold=" + maxStream, "-c", "pack.window=0", "-c", "pack.threads=1"}, r.extra...), args...)...)
	cmd.WaitDelay = time.Second // git's own child may hold the streams
	cmd.Dir = r.dir
	// No protocol has this name: git fetches nothing.
	cmd.Env = append(environment(), "GIT_DIR="+r.dir, "GIT_ALLOW_PROTOCOL=none", "GIT_ALLOC_LIMIT="+maxAlloc)
	if r.index != "" {
		cmd.Env = append(cmd.Env, "GIT_INDEX_FILE="+r.index)
	}
	cmd.Stdin = stdin
	out, problem := &excerpt.Head{Most: maxOutput, TooMuch: errOutput}, &excerpt.Tail{Most: 2 << 10}
	cmd.Stdout, cmd.Stderr = out, problem
	if err := cmd.Run(); err != nil {
		if out.Over() {
			return "", fmt.Errorf("git %s: %w", args[0], errOutput)
		}
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return "", fmt.Errorf("git %s: %w: %s", args[0], err, strings.TrimSpace(problem.String()))
	}
	return out.String(), nil
}

// at is the object that a name such as a ref stands for; "" = none.
func (r *scratch) at(ctx context.Context, name string) string {
	text, err := r.git(ctx, nil, "rev-parse", "--verify", "--quiet", name)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(text)
}

// count is how many commits hash leads to that neither the host nor without has.
func (r *scratch) count(ctx context.Context, hash string, without []string) (int, error) {
	kind, err := r.git(ctx, nil, "cat-file", "-t", hash)
	if err != nil {
		return 0, errors.New("its last commit is missing")
	}
	if strings.TrimSpace(kind) != "commit" {
		return 0, fmt.Errorf("it names no commit but a %s", strings.TrimSpace(kind))
	}
	args := append([]string{"rev-list", "--count", "--ignore-missing", hash, "--not", "--glob=refs/host/*"}, without...)
	text, err := r.git(ctx, nil, args...)
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(strings.TrimSpace(text))
}

// bundle writes the branches, without what the host has.
func (r *scratch) bundle(ctx context.Context, file string, branches []Commits) error {
	args := []string{"bundle", "create", "-q", file}
	for _, b := range branches {
		if _, err := r.git(ctx, nil, "update-ref", "refs/heads/"+b.Branch, b.Head); err != nil {
			return err
		}
		args = append(args, "refs/heads/"+b.Branch)
	}
	_, err := r.git(ctx, nil, append(args, "--ignore-missing", "--not", "--glob=refs/host/*")...)
	return err
}

// receive puts a bundle's objects into the repository, if git finds nothing wrong
// with any of them and nothing is missing. No ref is made.
func (r *scratch) receive(ctx context.Context, bundle string, branches []Commits) error {
	f, pack, err := openBundle(bundle, branches)
	if err != nil {
		return err
	}
	defer f.Close()
	check := "--strict" // links as well
	if r.partial {      // where it is right that something is missing
		check = "--fsck-objects"
	}
	if _, err := r.git(ctx, pack, "index-pack", "--stdin", "--fix-thin", check); err != nil {
		return fmt.Errorf("git refuses them: %w", err)
	}
	args := []string{"rev-list", "--objects", "--quiet", "--ignore-missing"}
	if r.partial {
		args = append(args, "--exclude-promisor-objects")
	}
	for _, b := range branches {
		kind, err := r.git(ctx, nil, "cat-file", "-t", b.Head)
		if err != nil || strings.TrimSpace(kind) != "commit" {
			return fmt.Errorf("%s is no commit of the bundle", b.Head)
		}
		args = append(args, b.Head)
	}
	if _, err := r.git(ctx, nil, append(args, "--not", "--all")...); err != nil {
		return fmt.Errorf("something is missing: %w", err)
	}
	return nil
}
