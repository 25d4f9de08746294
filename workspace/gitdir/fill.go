package gitdir

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Bounds on what is copied of a repository.
const (
	maxFiles = 200_000
	maxBytes = 4 << 30
)

// Owner is whose the files in a volume are, and how the agent signs.
type Owner struct {
	UID, GID    int
	Name, Email string // of the commits it makes
	IsDefault   bool   // the host's git names no author
}

// Fill adds what a layout's volumes are filled with to an archive for the root of
// the firewall's container.
func (l Layout) Fill(tw *tar.Writer, o Owner) error {
	f := &filler{tar: tw, owner: o, files: maxFiles, bytes: maxBytes}
	for _, p := range l.Private {
		f.top = strings.TrimPrefix(p.Volume, "/")
		if err := f.folder(""); err != nil {
			return err
		}
		for _, s := range p.Stores {
			if err := f.store(s); err != nil {
				return fmt.Errorf("copying %s: %w", s.Dir, err)
			}
		}
	}
	return nil
}

// filler writes to one archive.
type filler struct {
	tar   *tar.Writer
	owner Owner
	top   string // the volume's folder in the archive
	files int
	bytes int64
	made  map[string]bool
}

// Files of a git directory that are copied. A worktree's own part
// comes from its own folder, the rest from the one it shares.
var (
	ownFiles = []string{"index", "MERGE_HEAD", "MERGE_MSG", "MERGE_MODE", "CHERRY_PICK_HEAD", "REVERT_HEAD", "REBASE_HEAD",
		"ORIG_HEAD", "FETCH_HEAD", "info/sparse-checkout"}
	ownFolders  = []string{"rebase-merge", "rebase-apply", "sequencer"}
	sharedFiles = []string{"packed-refs", "shallow", "info/exclude", "info/attributes"}
	// refs/stash needs its log, and what is stashed is not part of the project.
	leftRefs = []string{"refs/stash", "refs/bisect", "refs/worktree", "refs/rewritten"}
)

func (f *filler) store(s Inner) error {
	own, err := os.OpenRoot(s.Dir)
	if err != nil {
		return err
	}
	defer own.Close()
	shared, err := os.OpenRoot(s.Common)
	if err != nil {
		return err
	}
	defer shared.Close()
	if err := f.folder(s.Sub); err != nil {
		return err
	}
	head, err := headText(own)
	if err == nil {
		err = f.text(path.Join(s.Sub, "HEAD"), head)
	}
	if err != nil {
		return err
	}
	if err := f.folder(path.Join(s.Sub, "info")); err != nil {
		return err
	}
	if s.Index != "" {
		return errors.Join(f.newIndex(s), f.shared(shared, s))
	}
	err = f.each(own, s.Sub, ownFiles)
	if indexes, globErr := fs.Glob(own.FS(), "sharedindex.*"); globErr == nil {
		err = errors.Join(err, f.each(own, s.Sub, indexes))
	}
	for _, folder := range ownFolders {
		err = errors.Join(err, f.tree(own, s.Sub, folder, nil))
	}
	if err != nil {
		return err
	}
	if s.Objects == "" { // a linked worktree within
		return errors.Join(
			f.text(path.Join(s.Sub, "commondir"), "../..\n"),
			f.text(path.Join(s.Sub, "gitdir"), path.Join(s.Worktree, ".git")+"\n"))
	}
	return f.shared(shared, s)
}

// shared copies what a linked worktree has from the repository around it. As git does, it
// reads refs before packed-refs: 'git gc' writes each there before it removes the file.
func (f *filler) shared(shared *os.Root, s Inner) error {
	return errors.Join(f.tree(shared, s.Sub, "refs", leftRefs), f.each(shared, s.Sub, sharedFiles), f.objects(s),
		f.text(path.Join(s.Sub, "config"), f.config(s)))
}

// newIndex copies an index of ours.
func (f *filler) newIndex(s Inner) error {
	file, err := os.Open(s.Index)
	if err != nil {
		return err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	return f.copy(path.Join(s.Sub, "index"), file, info.Size(), info.ModTime())
}

// headText is what HEAD says; very old repositories have a symbolic link.
func headText(root *os.Root) (string, error) {
	if target, err := root.Readlink("HEAD"); err == nil {
		return "ref: " + target + "\n", nil
	}
	file, _, err := openRegular(root, "HEAD")
	if err != nil {
		return "", err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, maxSmall))
	return string(text), err
}

// objects makes the folder of new objects, with the host's behind it.
func (f *filler) objects(s Inner) error {
	err := errors.Join(
		f.folder(path.Join(s.Sub, "objects")), f.folder(path.Join(s.Sub, "objects/info")), f.folder(path.Join(s.Sub, "objects/pack")),
		f.text(path.Join(s.Sub, "objects/info/alternates"), s.Objects+"\n"))
	for _, link := range s.Links {
		err = errors.Join(err, f.folder(path.Join(s.Sub, path.Dir(link.Path))), f.link(path.Join(s.Sub, link.Path), link.Target))
	}
	return err
}

// config is the configuration of a private git directory.
func (f *filler) config(s Inner) string {
	values := append([]Value{{Section: "core", Name: "repositoryformatversion", Value: "0"}, {Section: "core", Name: "bare", Value: "false"},
		{Section: "user", Name: "name", Value: f.owner.Name}, {Section: "user", Name: "email", Value: f.owner.Email}}, s.Config...)
	// The index may say that a cache or a monitor of the host's is to be used.
	values = append(values, Value{Section: "core", Name: "untrackedcache", Value: "false"}, Value{Section: "core", Name: "fsmonitor",
		Value: "false"})
	if s.Worktree != "" {
		values = append(values, Value{Section: "core", Name: "worktree", Value: s.Worktree})
	}
	return formatConfig(lastOfEach(values))
}

// lastOfEach drops the values of core and user that a later one replaces: 'git config NAME
// VALUE' refuses to change what has several.
func lastOfEach(values []Value) (out []Value) {
	for i, v := range values {
		replaced := (v.Section == "core" || v.Section == "user") && slices.ContainsFunc(values[i+1:], func(later Value) bool {
			return later.Section == v.Section && later.Sub == v.Sub && later.Name == v.Name
		})
		if !replaced {
			out = append(out, v)
		}
	}
	return out
}

// each copies files; those that are missing or no regular files are left out.
func (f *filler) each(root *os.Root, sub string, names []string) error {
	for _, name := range names {
		file, info, err := openRegular(root, name)
		if err != nil {
			continue
		}
		err = f.copy(path.Join(sub, name), file, info.Size(), info.ModTime())
		file.Close()
		if err != nil {
			return err
		}
	}
	return nil
}

// tree copies a folder with all regular files in it, but for those in left.
func (f *filler) tree(root *os.Root, sub, name string, left []string) error {
	if info, err := root.Lstat(name); err != nil || !info.IsDir() {
		return nil
	}
	return fs.WalkDir(root.FS(), name, func(file string, d fs.DirEntry, err error) error {
		for _, prefix := range left {
			if file == prefix || strings.HasPrefix(file, prefix+"/") {
				if d != nil && d.IsDir() {
					return fs.SkipDir
				}
				return nil
			}
		}
		switch {
		case err != nil:
			if errors.Is(err, fs.ErrNotExist) { // git removes empty folders as it goes
				return nil
			}
			return err
		case d.IsDir():
			return f.folder(path.Join(sub, file))
		case strings.HasSuffix(file, ".lock"):
			return nil
		}
		return f.each(root, sub, []string{file})
	})
}

func (f *filler) header(name string, h tar.Header) error {
	if f.files--; f.files < 0 {
		return fmt.Errorf("it has more than %d files in addition to its objects", maxFiles)
	}
	h.Name, h.Uid, h.Gid, h.Format = path.Join(f.top, name), f.owner.UID, f.owner.GID, tar.FormatPAX
	if h.Typeflag == tar.TypeDir {
		h.Name += "/"
	}
	return f.tar.WriteHeader(&h)
}

func (f *filler) folder(name string) error {
	if f.made == nil {
		f.made = map[string]bool{}
	}
	at := path.Join(f.top, name)
	if f.made[at] {
		return nil
	}
	if name != "" { // the engine gives the folders between to root
		if err := f.folder(parent(name)); err != nil {
			return err
		}
	}
	f.made[at] = true
	return f.header(name, tar.Header{Typeflag: tar.TypeDir, Mode: 0o755})
}

func parent(name string) string {
	if dir := path.Dir(name); dir != "." {
		return dir
	}
	return ""
}

func (f *filler) link(name, target string) error {
	return f.header(name, tar.Header{Typeflag: tar.TypeSymlink, Linkname: target, Mode: 0o777})
}

func (f *filler) text(name, text string) error {
	return f.copy(name, strings.NewReader(text), int64(len(text)), time.Time{})
}

// copy copies size bytes. An index keeps the time at which it was written: git takes
// files that are not older for changed until it has read them (racy-git).
func (f *filler) copy(name string, from io.Reader, size int64, written time.Time) error {
	if f.bytes -= size; f.bytes < 0 {
		return fmt.Errorf("it has more than %d MiB in addition to its objects", maxBytes>>20)
	}
	if err := f.header(name, tar.Header{Typeflag: tar.TypeReg, Mode: 0o644, Size: size, ModTime: written}); err != nil {
		return err
	}
	n, err := io.Copy(f.tar, io.LimitReader(from, size))
	if err == nil && n != size {
		err = fmt.Errorf("%s became shorter while it was read", filepath.FromSlash(name))
	}
	return err
}
