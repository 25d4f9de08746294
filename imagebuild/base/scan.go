package base

import (
	"archive/tar"
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/org/claude-sandbox/imagebuild/artifact"
)

// Limits of a scan: bytes of one file, and of all programs with root's rights.
const (
	maxFile       = 16 << 20
	maxPrivileged = 128 << 20
)

// Facts is what a sandbox needs to know of its base: the file system that its
// layers make together, as far as that matters.
type Facts struct {
	Accounts   map[string][]byte // etc/passwd, etc/group, etc/shadow, etc/gshadow, as far as they exist
	Dpkg       []byte            // status of dpkg and of status.d, in dpkg's form
	Privileged []File            // programs with setuid, setgid or capabilities, ordered by path
	Programs   map[string]bool   // names of what lies in a bin or sbin folder
}

// File is a regular file of the base.
type File struct {
	Path     string
	Mode     int64
	UID, GID int
	Data     []byte
}

// Scan reads the layers and returns the facts.
func Scan(ctx context.Context, layers []artifact.Layer) (Facts, error) {
	s := &scan{links: map[string]string{}, files: map[string]*File{}, privileged: map[string]*File{}, programs: map[string]bool{}}
	for _, l := range layers {
		if err := s.layer(ctx, l); err != nil {
			return Facts{}, fmt.Errorf("reading %s: %w", l.What, err)
		}
	}
	return s.facts(), nil
}

type scan struct {
	links      map[string]string // folders of the root that are links: "bin" -> "usr/bin"
	files      map[string]*File  // of interest, by path
	privileged map[string]*File
	programs   map[string]bool // by path
	size       int             // of the privileged files
}

// interesting reports whether the content of a file is kept.
func interesting(name string) bool {
	switch name {
	case "etc/passwd", "etc/group", "etc/shadow", "etc/gshadow", "var/lib/dpkg/status":
		return true
	}
	dir, base := path.Split(name)
	return dir == "var/lib/dpkg/status.d/" && !strings.HasSuffix(base, ".md5sums")
}

func inBin(name string) bool {
	switch path.Base(path.Dir(name)) {
	case "bin", "sbin":
		return strings.Count(name, "/") <= 3
	}
	return false
}

func (s *scan) layer(ctx context.Context, l artifact.Layer) error {
	blob, err := l.Open(ctx)
	if err != nil {
		return err
	}
	defer blob.Close()
	r, err := Decompress(l.MediaType, blob)
	if err != nil {
		return err
	}
	defer r.Close()
	h := sha256.New()
	content := io.TeeReader(r, h)
	// Whiteouts speak of the layers below, so what this layer brings is laid on
	// when all of it is known.
	above := &scan{links: s.links, files: map[string]*File{}, privileged: map[string]*File{}, programs: map[string]bool{}}
	for tr := tar.NewReader(content); ; {
		head, err := tr.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		name := s.resolve(strings.TrimPrefix(path.Clean("/"+head.Name), "/"))
		dir, base := path.Split(name)
		if base == ".wh..wh..opq" {
			s.remove(strings.TrimSuffix(dir, "/"), false)
			continue
		}
		if gone, ok := strings.CutPrefix(base, ".wh."); ok {
			s.remove(dir+gone, true)
			continue
		}
		if err := above.entry(name, head, tr); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		s.drop(name)
		if head.Typeflag != tar.TypeDir {
			s.remove(name, false) // a file in place of a folder
		}
	}
	if _, err := io.Copy(io.Discard, content); err != nil {
		return err
	}
	if got := hex.EncodeToString(h.Sum(nil)); got != l.DiffID.Hex {
		return fmt.Errorf("its content has sha256:%s, not %s", got, l.DiffID)
	}
	maps.Copy(s.files, above.files)
	maps.Copy(s.privileged, above.privileged)
	maps.Copy(s.programs, above.programs)
	if s.size += above.size; s.size > maxPrivileged {
		return fmt.Errorf("programs with root's rights of more than %d bytes", maxPrivileged)
	}
	return nil
}

// resolve follows a link of the root folder, as unpacking does: where /bin leads
// to /usr/bin, both name one file.
func (s *scan) resolve(name string) string {
	first, rest, below := strings.Cut(name, "/")
	if target, ok := s.links[first]; ok && below {
		return target + "/" + rest
	}
	return name
}

func (s *scan) entry(name string, h *tar.Header, r io.Reader) error {
	s.drop(name)
	if inBin(name) && (h.Typeflag == tar.TypeReg || h.Typeflag == tar.TypeLink || h.Typeflag == tar.TypeSymlink) {
		s.programs[name] = true
	}
	if !strings.Contains(name, "/") {
		delete(s.links, name)
		if h.Typeflag == tar.TypeSymlink {
			s.links[name] = strings.TrimPrefix(path.Clean("/"+h.Linkname), "/")
		}
	}
	if h.Typeflag == tar.TypeLink {
		target := s.resolve(strings.TrimPrefix(path.Clean("/"+h.Linkname), "/"))
		if f := s.privileged[target]; f != nil {
			linked := *f
			linked.Path = name
			s.privileged[name] = &linked
		}
		return nil
	}
	if h.Typeflag != tar.TypeReg {
		return nil
	}
	_, capable := h.PAXRecords["SCHILY.xattr.security.capability"]
	privileged := h.Mode&0o6000 != 0 || capable
	if !privileged && !interesting(name) {
		return nil
	}
	if h.Size > maxFile {
		return fmt.Errorf("more than %d bytes", maxFile)
	}
	data, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	f := &File{name, h.Mode & 0o7777, h.Uid, h.Gid, data}
	if privileged {
		s.privileged[name] = f
		s.size += len(data)
	}
	if interesting(name) {
		s.files[name] = f
	}
	return nil
}

func (s *scan) drop(name string) {
	delete(s.files, name)
	delete(s.privileged, name)
	delete(s.programs, name)
}

// remove forgets what lies below name, and with itself also name.
func (s *scan) remove(name string, itself bool) {
	if itself {
		s.drop(name)
	}
	prefix := name + "/"
	if name == "" {
		prefix = ""
	}
	below := func(key string) bool { return strings.HasPrefix(key, prefix) }
	maps.DeleteFunc(s.files, func(k string, _ *File) bool { return below(k) })
	maps.DeleteFunc(s.privileged, func(k string, _ *File) bool { return below(k) })
	maps.DeleteFunc(s.programs, func(k string, _ bool) bool { return below(k) })
}

func (s *scan) facts() Facts {
	f := Facts{Accounts: map[string][]byte{}, Programs: map[string]bool{}}
	for _, name := range slices.Sorted(maps.Keys(s.files)) {
		file := s.files[name]
		if strings.HasPrefix(name, "etc/") {
			f.Accounts[name] = file.Data
			continue
		}
		f.Dpkg = append(f.Dpkg, file.Data...)
		f.Dpkg = append(f.Dpkg, '\n', '\n') // paragraphs end with an empty line
	}
	for _, name := range slices.Sorted(maps.Keys(s.privileged)) {
		f.Privileged = append(f.Privileged, *s.privileged[name])
	}
	for name := range s.programs {
		f.Programs[path.Base(name)] = true
	}
	return f
}

// Decompress returns the tar of a layer.
func Decompress(m types.MediaType, r io.Reader) (io.ReadCloser, error) {
	buffered := bufio.NewReaderSize(r, 1<<17)
	switch m {
	case types.OCILayerZStd:
		zr, err := zstd.NewReader(buffered, zstd.WithDecoderMaxMemory(64<<20), zstd.WithDecoderConcurrency(1))
		if err != nil {
			return nil, err
		}
		return zr.IOReadCloser(), nil
	case types.OCIUncompressedLayer:
		return io.NopCloser(buffered), nil
	}
	return gzip.NewReader(buffered)
}

// DiffIDs returns the digests of the layers' content.
func (i Image) DiffIDs() []v1.Hash {
	var ids []v1.Hash
	for _, l := range i.Layers {
		ids = append(ids, l.DiffID)
	}
	return ids
}
