package engine

import (
	"archive/tar"
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/moby/moby/client"
)

// File is a file or folder to put into a container, owned by root.
type File struct {
	Path string // absolute
	Mode int64  // permission bits
	Data []byte // nil for a folder
	Link string // target of a symbolic link, which has no Data and no Mode
}

// CopyIn writes files into a container, started or not. Folders that are
// missing must be listed before what they hold. What lies in a volume goes by
// CopyTo.
func (e *Engine) CopyIn(ctx context.Context, id string, files []File) error {
	return e.CopyTo(ctx, id, "/", files)
}

// CopyTo is CopyIn for files below folder, which exists and may be a volume.
func (e *Engine) CopyTo(ctx context.Context, id, folder string, files []File) error {
	below := len(strings.TrimSuffix(folder, "/")) + 1
	var archive bytes.Buffer
	tw := tar.NewWriter(&archive)
	for _, f := range files {
		h := &tar.Header{Name: f.Path[below:], Mode: f.Mode, Size: int64(len(f.Data)), Typeflag: tar.TypeReg}
		switch {
		case f.Link != "":
			h.Linkname, h.Typeflag, h.Mode = f.Link, tar.TypeSymlink, 0o777
		case f.Data == nil:
			h.Name, h.Typeflag = h.Name+"/", tar.TypeDir
		}
		if err := tw.WriteHeader(h); err != nil {
			return fmt.Errorf("packing %s: %w", f.Path, err)
		}
		if _, err := tw.Write(f.Data); err != nil {
			return fmt.Errorf("packing %s: %w", f.Path, err)
		}
	}
	if err := tw.Close(); err != nil {
		return fmt.Errorf("packing files: %w", err)
	}
	_, err := e.client.CopyToContainer(ctx, id, client.CopyToContainerOptions{DestinationPath: folder, Content: &archive})
	return wrap(err, "copying files into container", short(id))
}

// CopyTar unpacks an archive below folder of a container, which exists. Owners
// and modes are those of the archive.
func (e *Engine) CopyTar(ctx context.Context, id, folder string, archive io.Reader) error {
	_, err := e.client.CopyToContainer(ctx, id, client.CopyToContainerOptions{DestinationPath: folder, Content: archive})
	return wrap(err, "copying files into container", short(id))
}

// OpenTar reads a folder of a container, running or not, as an archive whose
// names begin with the folder's own. A missing folder is ErrNotFound. The
// container's programs decide how much it holds.
func (e *Engine) OpenTar(ctx context.Context, id, folder string) (io.ReadCloser, error) {
	r, err := e.client.CopyFromContainer(ctx, id, client.CopyFromContainerOptions{SourcePath: folder})
	if err != nil {
		return nil, wrap(err, "copying "+folder+" from container", short(id))
	}
	return r.Content, nil
}

// CopyOut writes one regular file of a container, running or not, to w.
// A missing file is ErrNotFound. What lies on a tmpfs is out of reach.
func (e *Engine) CopyOut(ctx context.Context, id, path string, w io.Writer) error {
	r, err := e.client.CopyFromContainer(ctx, id, client.CopyFromContainerOptions{SourcePath: path})
	if err != nil {
		return wrap(err, "copying "+path+" from container", short(id))
	}
	defer r.Content.Close()
	tr := tar.NewReader(r.Content)
	h, err := tr.Next()
	if err != nil {
		return fmt.Errorf("copying %s from container %s: %w", path, short(id), err)
	}
	if h.Typeflag != tar.TypeReg {
		return fmt.Errorf("copying %s from container %s: not a regular file", path, short(id))
	}
	if _, err := io.Copy(w, tr); err != nil {
		return fmt.Errorf("copying %s from container %s: %w", path, short(id), err)
	}
	return nil
}
