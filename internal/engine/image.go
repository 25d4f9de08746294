package engine

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"net/url"

	"github.com/moby/moby/client"
)

// Info is what the engine says about itself.
type Info struct {
	Arch   string // of its machine, in Go's words: "amd64", "arm64"
	Server string // version of the engine
}

// Info asks the engine about itself.
func (e *Engine) Info(ctx context.Context) (Info, error) {
	v, err := e.server(ctx)
	if err != nil {
		return Info{}, wrap(err, "asking", e.host)
	}
	return Info{Arch: v.Arch, Server: v.Version}, nil
}

// server is what the engine says about its programs. It asks them, so it is asked
// once.
func (e *Engine) server(ctx context.Context) (client.ServerVersionResult, error) {
	e.asking.Lock()
	defer e.asking.Unlock()
	if e.known != nil {
		return *e.known, nil
	}
	v, err := e.client.ServerVersion(ctx, client.ServerVersionOptions{})
	if err == nil {
		e.known = &v
	}
	return v, err
}

// Image is what the engine knows of an image.
type Image struct {
	ID     string // sha256:…
	Arch   string
	User   string
	Env    []string
	Labels map[string]string
	// Digests are the digests that registries know it by, as NAME@DIGEST; an
	// image that was neither pulled nor pushed has none.
	Digests []string
	// Entrypoint and Cmd are what a container of it runs.
	Entrypoint, Cmd []string
}

// ImageInspect looks an image up by reference or id. A missing one is ErrNotFound.
func (e *Engine) ImageInspect(ctx context.Context, ref string) (Image, error) {
	r, err := e.client.ImageInspect(ctx, ref)
	if err != nil {
		return Image{}, wrap(err, "looking up image", ref)
	}
	image := Image{ID: r.ID, Arch: r.Architecture, Digests: r.RepoDigests}
	if r.Config != nil {
		image.User, image.Env, image.Labels = r.Config.User, r.Config.Env, r.Config.Labels
		image.Entrypoint, image.Cmd = r.Config.Entrypoint, r.Config.Cmd
	}
	return image, nil
}

// ImageFiles looks at paths in an image and returns the types and permissions of
// those that exist; a link that leads nowhere does. Nothing of the image is run.
func (e *Engine) ImageFiles(ctx context.Context, ref string, paths ...string) (map[string]fs.FileMode, error) {
	id, err := e.Create(ctx, Spec{Image: ref, Process: Process{Command: paths}, Link: Link{Network: "none"}})
	if err != nil {
		return nil, err
	}
	defer e.Remove(context.WithoutCancel(ctx), id) //nolint:errcheck // it never ran
	found := map[string]fs.FileMode{}
	for _, path := range paths {
		r, err := e.client.ContainerStatPath(ctx, id, client.ContainerStatPathOptions{Path: path})
		if err = wrap(err, "looking for "+path+" in", ref); errors.Is(err, ErrNotFound) {
			mode, there, err := e.danglingLink(ctx, id, path)
			if err != nil {
				return nil, wrap(err, "looking for "+path+" in", ref)
			}
			if there {
				found[path] = mode
			}
			continue
		}
		if err != nil {
			return nil, err
		}
		found[path] = r.Stat.Mode
	}
	return found, nil
}

// danglingLink looks for a link that leads nowhere in a container. Podman calls it a
// missing file, and tells of it in a header of that answer alone (4.3). For Docker it is
// there.
func (e *Engine) danglingLink(ctx context.Context, id, path string) (mode fs.FileMode, there bool, err error) {
	response, err := e.send(ctx, http.MethodHead, "/containers/"+id+"/archive?path="+url.QueryEscape(path))
	if err != nil {
		return 0, false, err
	}
	defer response.Body.Close()
	header := response.Header.Get("X-Docker-Container-Path-Stat")
	if header == "" {
		return 0, false, nil
	}
	var stat struct {
		Mode fs.FileMode `json:"mode"`
	}
	text, err := base64.StdEncoding.DecodeString(header)
	if err == nil {
		err = json.Unmarshal(text, &stat)
	}
	return stat.Mode, err == nil, err
}

// Load reads a tar in docker-save's form into the engine.
func (e *Engine) Load(ctx context.Context, archive io.Reader) error {
	r, err := e.client.ImageLoad(ctx, archive, client.ImageLoadWithQuiet(true))
	if err != nil {
		return wrap(err, "loading an image into", e.host)
	}
	defer r.Close()
	_, err = progress(r, io.Discard)
	return wrap(err, "loading an image into", e.host)
}

// Save returns an image as a tar in docker-save's form.
func (e *Engine) Save(ctx context.Context, ref string) (io.ReadCloser, error) {
	r, err := e.client.ImageSave(ctx, []string{ref})
	return r, wrap(err, "reading image", ref)
}

// Tag gives an image a further name.
func (e *Engine) Tag(ctx context.Context, image, ref string) error {
	_, err := e.client.ImageTag(ctx, client.ImageTagOptions{Source: image, Target: ref})
	return wrap(err, "tagging image", ref)
}

// ImageRemove removes a name of an image, and the image with its last name.
func (e *Engine) ImageRemove(ctx context.Context, ref string) error {
	_, err := e.client.ImageRemove(ctx, ref, client.ImageRemoveOptions{PruneChildren: true})
	return wrap(err, "removing image", ref)
}

// NamedImage is one name of an image that the engine has.
type NamedImage struct {
	Name  string // with its tag
	Bytes int64  // of the image with all of its layers
}

// Images lists the images that have a name, one entry for each.
func (e *Engine) Images(ctx context.Context) (all []NamedImage, err error) {
	r, err := e.client.ImageList(ctx, client.ImageListOptions{})
	if err != nil {
		return nil, wrap(err, "listing images", "of the engine")
	}
	for _, image := range r.Items {
		for _, name := range image.RepoTags {
			all = append(all, NamedImage{name, image.Size})
		}
	}
	return all, nil
}
