package kept

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"
)

// Bounds of what is kept: an agent decides how much there is.
const (
	maxEntries = 200_000
	maxTree    = 1 << 30 // bytes of a folder that the user named
)

// ErrTooLarge reports more than is kept.
var ErrTooLarge = errors.New("it holds more than is kept")

// clean copies an archive, whose names begin with a folder, to out with the names
// below to. It passes folders, plain files, and links that stand for themselves, without
// owners and set-id bits. Nothing is passed whose way leads over anything but folders
// of this archive, or whose name was there before: whoever unpacks it writes nowhere
// else.
func clean(out *tar.Writer, in io.Reader, to string, uid, gid int) error {
	archive := tar.NewReader(in)
	seen := map[string]byte{".": tar.TypeDir}
	left := int64(maxTree)
	if err := out.WriteHeader(&tar.Header{Name: to + "/", Typeflag: tar.TypeDir, Mode: 0o700, Uid: uid, Gid: gid}); err != nil {
		return err
	}
	for entries := 0; ; entries++ {
		h, err := archive.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if entries > maxEntries {
			return fmt.Errorf("%w: %d files", ErrTooLarge, maxEntries)
		}
		_, rest, below := strings.Cut(strings.TrimSuffix(path.Clean("/" + h.Name)[1:], "/"), "/")
		if !below || seen[rest] != 0 || seen[path.Dir(rest)] != tar.TypeDir {
			continue
		}
		fresh := &tar.Header{Name: path.Join(to, rest), Typeflag: h.Typeflag, Mode: h.Mode & 0o777, ModTime: h.ModTime, Uid: uid, Gid: gid,
			Format: tar.FormatPAX}
		switch h.Typeflag {
		case tar.TypeDir:
			fresh.Name += "/"
		case tar.TypeReg:
			if left -= h.Size; left < 0 {
				return fmt.Errorf("%w: %d MiB", ErrTooLarge, maxTree>>20)
			}
			fresh.Size = h.Size
		case tar.TypeSymlink:
			fresh.Linkname = h.Linkname
		case tar.TypeLink:
			_, first, _ := strings.Cut(path.Clean("/" + h.Linkname)[1:], "/")
			if seen[first] != tar.TypeReg {
				continue
			}
			fresh.Linkname = path.Join(to, first)
		default:
			continue
		}
		seen[rest] = h.Typeflag
		if err := out.WriteHeader(fresh); err != nil {
			return err
		}
		if h.Typeflag == tar.TypeReg {
			if _, err := io.Copy(out, archive); err != nil {
				return err
			}
		}
	}
}
