package gitdir

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/org/claude-sandbox/internal/filekind"
)

// listTime bounds reading an index.
const listTime = 20 * time.Second

// HostOf is the git directory of a repository whose files are in folder, absolute
// and without symbolic links; "" = git finds none.
func HostOf(folder string) string {
	at := filepath.Join(folder, ".git")
	if text, err := readSmall(folder, ".git"); err == nil {
		leads, isPointer := strings.CutPrefix(strings.TrimRight(text, "\r\n"), "gitdir: ")
		if at = resolve(folder, leads); !isPointer {
			return ""
		}
	}
	if !IsGitDir(at) {
		return ""
	}
	return at
}

// Submodules lists the folders in which the index of the git directory dir has a
// submodule, checked out or not: git on the host looks for a repository in each.
// They are slash-separated and below the folder of the repository's files. Git
// reads the index in a repository of ours, so nothing of dir's is obeyed. nested says
// that an earlier run's agent may have made the repository, and less of it is read.
func Submodules(dir string, nested bool) ([]string, error) {
	limit := int64(maxIndex)
	if nested {
		limit = maxNested
	}
	index := filepath.Join(dir, "index")
	if info, err := os.Lstat(index); err != nil {
		return nil, nil // an empty one
	} else if !info.Mode().IsRegular() || info.Size() > limit {
		return nil, fmt.Errorf("%s is no index, or larger than %d MiB", index, limit>>20)
	}
	parts, _ := fs.Glob(os.DirFS(dir), "sharedindex.*") // of a split index
	if len(parts) == 0 {
		if may, err := mayHoldSubmodules(index); err != nil || !may {
			return nil, err
		}
	}
	work, err := os.MkdirTemp("", "sbx-index-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(work)
	config, err := readConfig(commonOf(dir), dir) // for the format of its objects
	if err != nil {
		return nil, err
	}
	ours, err := newScratch(filepath.Join(work, "git"), Store{Dir: work, Common: work, Config: config})
	if err != nil {
		return nil, err
	}
	for _, part := range parts {
		if err := os.Symlink(filepath.Join(dir, part), filepath.Join(ours.dir, part)); err != nil {
			return nil, err
		}
	}
	return listSubmodules(ours.dir, index)
}

// ofSubmodule is the mode of a submodule's entry in an index, in all versions of the format.
var ofSubmodule = []byte{0, 0, 0xe0, 0}

// mayHoldSubmodules reports whether an index that is not split can have an entry of a
// submodule. Most have none, and git takes long for the large ones.
func mayHoldSubmodules(index string) (bool, error) {
	f, err := filekind.Open(index)
	if err != nil {
		return false, err
	}
	defer f.Close()
	part, held := make([]byte, 64<<10), 0
	for {
		n, err := f.Read(part[held:])
		if bytes.Contains(part[:held+n], ofSubmodule) {
			return true, nil
		}
		if errors.Is(err, io.EOF) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		keep := min(held+n, len(ofSubmodule)-1) // it may begin there
		held = copy(part, part[held+n-keep:held+n])
	}
}

// listSubmodules asks git for the entries of an index. A sparse one needs an
// option that older versions do not know.
func listSubmodules(gitDir, index string) (folders []string, err error) {
	program, err := gitProgram()
	if errors.Is(err, ErrNoGit) {
		return nil, nil // nothing on this machine obeys a repository then
	}
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), listTime)
	defer cancel()
	var out []byte
	for _, args := range [][]string{{"ls-files", "-s", "-z", "--sparse"}, {"ls-files", "-s", "-z"}} {
		cmd := exec.CommandContext(ctx, program, args...)
		cmd.Dir, cmd.Env = gitDir, append(environment(), "GIT_DIR="+gitDir, "GIT_INDEX_FILE="+index, "GIT_ALLOW_PROTOCOL=none")
		if out, err = cmd.Output(); err == nil {
			break
		}
	}
	if err != nil {
		return nil, fmt.Errorf("git cannot read %s: %w", index, err)
	}
	for entry := range strings.SplitSeq(string(out), "\x00") {
		if info, folder, ok := strings.Cut(entry, "\t"); ok && strings.HasPrefix(info, "160000 ") {
			folders = append(folders, folder)
		}
	}
	return folders, nil
}
