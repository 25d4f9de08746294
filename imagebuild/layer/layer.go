// Package layer writes layers whose bytes depend on their content alone: not on
// the machine, the user, the clock or the number of processors.
//
//	[]Entry ─► Tar ─► Gzip ─► the blob; its digest is the same everywhere
package layer

import (
	"archive/tar"
	"bytes"
	"fmt"
	"io"
	"path"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/klauspost/compress/gzip"
)

// Format names the bytes that Tar and Gzip make. It stands in the keys of
// cached layers and is raised with every change of them.
const Format = "1"

// Entry is a file, folder or link of a layer.
type Entry struct {
	Path string // relative to the root, slash separated; a folder ends with /
	Mode int64  // permission bits; 0 = 0644, 0755 for folders, 0777 for links
	UID  int
	GID  int
	Data []byte // a file's content
	Link string // target of a symbolic link; "" = no link
}

// Tar writes entries ordered by path, with the modification time when and no
// names of users. A path twice, absolute or with ".." in it is an error.
func Tar(w io.Writer, entries []Entry, when time.Time) error {
	entries = slices.Clone(entries)
	slices.SortFunc(entries, func(a, b Entry) int { return strings.Compare(a.Path, b.Path) })
	tw := tar.NewWriter(w)
	for i, e := range entries {
		clean := strings.TrimSuffix(e.Path, "/")
		if clean == "" || path.Clean("/"+clean) != "/"+clean {
			return fmt.Errorf("packing a layer: %q is no path below the root", e.Path)
		}
		if i > 0 && strings.TrimSuffix(entries[i-1].Path, "/") == clean {
			return fmt.Errorf("packing a layer: %q is there twice", e.Path)
		}
		h := &tar.Header{Name: e.Path, Mode: e.Mode, Uid: e.UID, Gid: e.GID, ModTime: when, Typeflag: tar.TypeReg, Size: int64(len(e.Data))}
		fallback := int64(0o644)
		switch {
		case e.Link != "":
			h.Typeflag, h.Linkname, h.Size, fallback = tar.TypeSymlink, e.Link, 0, 0o777
		case strings.HasSuffix(e.Path, "/"):
			h.Typeflag, h.Size, fallback = tar.TypeDir, 0, 0o755
		}
		if h.Mode == 0 {
			h.Mode = fallback
		}
		if err := tw.WriteHeader(h); err != nil {
			return fmt.Errorf("packing %s: %w", e.Path, err)
		}
		if h.Size > 0 {
			if _, err := tw.Write(e.Data); err != nil {
				return fmt.Errorf("packing %s: %w", e.Path, err)
			}
		}
	}
	return tw.Close()
}

// blockSize is how much is compressed on its own. Blocks are what can be done
// in parallel; 1 MiB costs about one percent in size.
const blockSize = 1 << 20

// Gzip copies r to w, compressed on all processors. The result is a series of
// gzip members (RFC 1952 section 2.2), one for each block, and so the same
// whatever the number of processors is.
func Gzip(w io.Writer, r io.Reader) error {
	type block struct {
		out bytes.Buffer
		err error
	}
	// Blocks in flight bound the memory: one worker, two buffers each.
	queue := make(chan chan *block, runtime.GOMAXPROCS(0))
	stop := make(chan struct{})
	defer close(stop)
	var readErr error
	go func() {
		defer close(queue)
		for first := true; ; first = false {
			data := make([]byte, blockSize)
			n, err := io.ReadFull(r, data)
			if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
				readErr = err
				return
			}
			if n == 0 && !first {
				return
			}
			done := make(chan *block, 1)
			select {
			case queue <- done:
			case <-stop:
				return
			}
			go func() {
				b := &block{}
				zw, _ := gzip.NewWriterLevel(&b.out, gzip.DefaultCompression) // the level is valid
				_, b.err = zw.Write(data[:n])
				if err := zw.Close(); b.err == nil {
					b.err = err
				}
				done <- b
			}()
			if n < blockSize {
				return
			}
		}
	}()
	for done := range queue {
		b := <-done
		if b.err != nil {
			return b.err
		}
		if _, err := w.Write(b.out.Bytes()); err != nil {
			return err
		}
	}
	return readErr
}
