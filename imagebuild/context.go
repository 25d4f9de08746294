package imagebuild

import (
	"archive/tar"
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/org/claude-sandbox/internal/filekind"
)

// packContext writes the folder dir as a tar, without what ignore excludes and
// without sockets, devices and pipes. Owners become root, as the docker
// command does it.
func packContext(w io.Writer, dir string, ignore ignoreList) error {
	tw := tar.NewWriter(w)
	err := filepath.WalkDir(dir, func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, file)
		if err != nil || rel == "." {
			return err
		}
		rel = filepath.ToSlash(rel)
		if ignore.excludes(rel) {
			// A later "!" line may still want something below the folder.
			if entry.IsDir() && !ignore.hasExceptions {
				return fs.SkipDir
			}
			return nil
		}
		return packFile(tw, file, rel, entry)
	})
	if err != nil {
		return fmt.Errorf("packing the build context: %w", err)
	}
	return tw.Close()
}

func packFile(tw *tar.Writer, file, rel string, entry fs.DirEntry) error {
	info, err := entry.Info()
	if err != nil {
		return err
	}
	var link string
	switch info.Mode().Type() {
	case 0, fs.ModeDir:
	case fs.ModeSymlink:
		if link, err = os.Readlink(file); err != nil {
			return err
		}
	default:
		return nil
	}
	h, err := tar.FileInfoHeader(info, filepath.ToSlash(link))
	if err != nil {
		return err
	}
	h.Name, h.Uid, h.Gid, h.Uname, h.Gname = rel, 0, 0, "", ""
	if entry.IsDir() {
		h.Name += "/"
	}
	if err := tw.WriteHeader(h); err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return nil
	}
	f, err := filekind.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = io.Copy(tw, f)
	return err
}

// ignoreList is a parsed .dockerignore. The last line that matches a path or
// one of its parents decides.
type ignoreList struct {
	rules         []ignoreRule
	hasExceptions bool
}

type ignoreRule struct {
	pattern *regexp.Regexp
	keep    bool // a "!" line
}

// maxIgnore bounds a .dockerignore, in bytes.
const maxIgnore = 1 << 20

// readIgnore reads DOCKERFILE.dockerignore or .dockerignore of a context. The
// Dockerfile and the ignore file themselves are always kept: the builder reads
// them.
func readIgnore(dir, dockerfile string) (ignoreList, error) {
	var list ignoreList
	for _, file := range []string{dockerfile + ".dockerignore", ".dockerignore"} {
		name := filepath.Join(dir, filepath.FromSlash(file))
		text, err := filekind.Read(name, maxIgnore)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return list, fmt.Errorf("reading the build context: %w", err)
		}
		list, err = parseIgnore(bytes.NewReader(text))
		if err != nil {
			return list, fmt.Errorf("reading %s: %w", name, err)
		}
		for _, always := range []string{dockerfile, file} {
			list.rules = append(list.rules, ignoreRule{regexp.MustCompile("^" + regexp.QuoteMeta(always) + "$"), true})
		}
		list.hasExceptions = true
		return list, nil
	}
	return list, nil
}

// parseIgnore reads the lines of a .dockerignore: "#" comments, "!" exceptions,
// "*", "?", "[…]" within a path element and "**" across elements.
func parseIgnore(r io.Reader) (ignoreList, error) {
	var list ignoreList
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		line := strings.TrimSpace(strings.TrimPrefix(lines.Text(), "\ufeff"))
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		line, keep := strings.CutPrefix(line, "!")
		line = strings.TrimPrefix(path.Clean("/"+filepath.ToSlash(strings.TrimSpace(line))), "/")
		if line == "" {
			continue
		}
		pattern, err := globPattern(line)
		if err != nil {
			return list, fmt.Errorf("pattern %q: %w", line, err)
		}
		list.rules = append(list.rules, ignoreRule{pattern, keep})
		list.hasExceptions = list.hasExceptions || keep
	}
	return list, lines.Err()
}

// globPattern compiles a glob so that it matches the path and all below it.
func globPattern(glob string) (*regexp.Regexp, error) {
	var b strings.Builder
	b.WriteString("^")
	for i := 0; i < len(glob); i++ {
		switch c := glob[i]; c {
		case '*':
			switch {
			case strings.HasPrefix(glob[i:], "**/"):
				b.WriteString("(?:.*/)?")
				i += 2
			case strings.HasPrefix(glob[i:], "**"):
				b.WriteString(".*")
				i++
			default:
				b.WriteString("[^/]*")
			}
		case '?':
			b.WriteString("[^/]")
		case '[', ']':
			b.WriteByte(c)
		case '\\':
			if i++; i < len(glob) {
				b.WriteString(regexp.QuoteMeta(glob[i : i+1]))
			}
		default:
			b.WriteString(regexp.QuoteMeta(string(c)))
		}
	}
	b.WriteString("(?:/.*)?$")
	return regexp.Compile(b.String())
}

// ParseIgnore reads a .dockerignore and returns which files and folders it leaves
// out, by their paths relative to the build's context, slash-separated. A folder
// that may hold exceptions is not left out as a whole.
func ParseIgnore(r io.Reader) (excludes func(rel string, folder bool) bool, err error) {
	list, err := parseIgnore(r)
	if err != nil {
		return nil, err
	}
	return func(rel string, folder bool) bool { return list.excludes(rel) && !(folder && list.hasExceptions) }, nil
}

func (l ignoreList) excludes(rel string) bool {
	for i := len(l.rules) - 1; i >= 0; i-- {
		if l.rules[i].pattern.MatchString(rel) {
			return !l.rules[i].keep
		}
	}
	return false
}

// File is a file of a build context.
type File struct {
	Name       string // slash-separated, relative to the context
	Executable bool
	Data       []byte
}

// InFolder writes files into a folder of their own for as long as use works.
func InFolder(files []File, use func(folder string) error) error {
	dir, err := os.MkdirTemp("", "claude-sandbox-image-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	for _, f := range files {
		mode := fs.FileMode(0o644)
		if f.Executable {
			mode = 0o755
		}
		if !filepath.IsLocal(filepath.FromSlash(f.Name)) {
			return fmt.Errorf("%s leads out of its folder", f.Name)
		}
		name := filepath.Join(dir, filepath.FromSlash(f.Name))
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(name, f.Data, mode); err != nil {
			return err
		}
	}
	return use(dir)
}
