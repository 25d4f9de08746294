package engine

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
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
// missing must be listed before what they hold. A file of a volume goes by
// CopyTar.
func (e *Engine) CopyIn(ctx context.Context, id string, files []File) error {
	var archive bytes.Buffer
	tw := tar.NewWriter(&archive)
	if err := errors.Join(WriteTar(tw, files), tw.Close()); err != nil {
		return err
	}
	return e.CopyTar(ctx, id, "/", &archive)
}

// WriteTar adds files to an archive for a container's root.
func WriteTar(tw *tar.Writer, files []File) error {
	for _, f := range files {
		h := &tar.Header{Name: strings.TrimPrefix(f.Path, "/"), Mode: f.Mode, Size: int64(len(f.Data)), Typeflag: tar.TypeReg}
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
	return nil
}

// CopyTar unpacks an archive below folder of a container, which exists. Owners
// and modes are those of the archive.
func (e *Engine) CopyTar(ctx context.Context, id, folder string, archive io.Reader) error {
	_, err := e.client.CopyToContainer(ctx, id, client.CopyToContainerOptions{DestinationPath: folder, Content: archive})
	return wrap(err, "copying files into container", short(id))
}

// Fill unpacks an archive for the root of a container that has not started, into
// its volumes, too. An engine takes the container for itself each time that something
// is copied in, so one archive is faster than several. folders are those that hold
// volumes: Podman reaches a volume by its own folder alone, so there each folder's
// entries, which must follow one another, are an archive of their own.
func (e *Engine) Fill(ctx context.Context, id string, folders []string, archive io.Reader) error {
	podman, err := e.podman(ctx)
	if err != nil {
		return wrap(err, "copying files into container", short(id))
	}
	if podman == nil {
		return e.CopyTar(ctx, id, "/", archive)
	}
	in := &pieces{tar: tar.NewReader(archive), folders: folders}
	for in.next(); in.err == nil; {
		folder := in.folder()
		r, w := io.Pipe()
		written := make(chan struct{})
		go func() {
			defer close(written)
			w.CloseWithError(in.piece(w, folder))
		}()
		err := e.CopyTar(ctx, id, folder, r)
		_ = r.CloseWithError(err)
		<-written
		if err != nil {
			return err
		}
	}
	if errors.Is(in.err, io.EOF) {
		return nil
	}
	return fmt.Errorf("packing files: %w", in.err)
}

// pieces cuts an archive for a container's root into one for each folder.
type pieces struct {
	tar     *tar.Reader
	folders []string
	header  *tar.Header // the next entry
	err     error
}

func (p *pieces) next() { p.header, p.err = p.tar.Next() }

// folder is the one of the folders that holds the next entry, or the root.
func (p *pieces) folder() string {
	for _, folder := range p.folders {
		if strings.HasPrefix("/"+p.header.Name, folder+"/") {
			return folder
		}
	}
	return "/"
}

// piece writes the entries that follow one another in a folder.
func (p *pieces) piece(to io.Writer, folder string) error {
	tw := tar.NewWriter(to)
	for ; p.err == nil && p.folder() == folder; p.next() {
		h := *p.header
		h.Name = strings.TrimPrefix("/"+h.Name, strings.TrimSuffix(folder, "/")+"/")
		if h.Typeflag == tar.TypeLink {
			h.Linkname = strings.TrimPrefix("/"+h.Linkname, strings.TrimSuffix(folder, "/")+"/")
		}
		if err := tw.WriteHeader(&h); err != nil {
			p.err = err
			return err
		}
		if _, err := io.Copy(tw, p.tar); err != nil {
			p.err = err
			return err
		}
	}
	if p.err != nil && !errors.Is(p.err, io.EOF) {
		return p.err
	}
	return tw.Close()
}

// OpenTar reads a folder of a container, running or not, as an archive whose
// names begin with the folder's own. A missing folder is ErrNotFound. The
// container's programs decide how much it holds. One that is empty or has no end, as when
// the engine stops while it writes, ends with io.ErrUnexpectedEOF.
func (e *Engine) OpenTar(ctx context.Context, id, folder string) (io.ReadCloser, error) {
	r, err := e.client.CopyFromContainer(ctx, id, client.CopyFromContainerOptions{SourcePath: folder})
	if err != nil {
		return nil, wrap(err, "copying "+folder+" from container", short(id))
	}
	return &wholeTar{ReadCloser: r.Content}, nil
}

// wholeTar reads an archive of a folder, which ends with blocks of its own: whoever reads it with package tar comes to
// the end of the stream only where it was broken off. An engine that is stopping sends one without an entry, or ends its
// answer between two, and package tar takes both for the end.
type wholeTar struct {
	io.ReadCloser
	begun bool
}

func (r *wholeTar) Read(p []byte) (int, error) {
	n, err := r.ReadCloser.Read(p)
	switch {
	case n > 0 && !r.begun && p[0] == 0: // the end, in front of the folder's own entry
		return 0, io.ErrUnexpectedEOF
	case err == io.EOF && n > 0: // the next Read says so
		err = nil
	case err == io.EOF:
		err = io.ErrUnexpectedEOF
	}
	r.begun = r.begun || n > 0
	return n, err
}

// CopyOut writes one regular file of a container, running or not, to w.
// A missing file is ErrNotFound. A file on a tmpfs is out of reach.
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
