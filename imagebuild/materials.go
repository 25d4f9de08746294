package imagebuild

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"sync"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/org/claude-sandbox/imagebuild/artifact"
	"github.com/org/claude-sandbox/imagebuild/base"
	"github.com/org/claude-sandbox/imagebuild/layer"
	"github.com/org/claude-sandbox/imagebuild/lock"
	"github.com/org/claude-sandbox/imagebuild/npm"
	"github.com/org/claude-sandbox/imagebuild/registry"
	"github.com/org/claude-sandbox/imagebuild/sbom"
	"github.com/org/claude-sandbox/imagebuild/store"
	"github.com/org/claude-sandbox/internal/diag"
)

// Materials is where an image's parts come from. All fields are required, but
// Save and InitSHA256.
type Materials struct {
	Store    *store.Store
	NPM      npm.Registry
	Registry registry.Options
	Save     func(ctx context.Context, name string) (io.ReadCloser, error) // see base.Sources
	// Init returns the sbx-init program for an architecture.
	Init func(arch string) ([]byte, error)
	// InitSHA256 is what Init's program hashes to, in hex by architecture, where
	// that is known: unpacking and hashing it takes longer than the rest of a
	// push. It is checked whenever the program itself is read.
	InitSHA256 map[string]string
	// Notice tells people what takes time.
	Notice func(format string, args ...any)
}

func (m Materials) sources() base.Sources {
	return base.Sources{Store: m.Store, Registry: m.Registry, Save: m.Save}
}

// ErrLock reports that the lock does not describe what is at hand.
var ErrLock error = lockError{}

// lockError counts as wrong content in an upload: a repetition would not help.
type lockError struct{}

func (lockError) Error() string        { return "the lock does not fit" }
func (lockError) Is(target error) bool { return target == registry.ErrContent }

// opened opens the base of a lock once, when something of it is first read.
type opened struct {
	m    Materials
	lock lock.Base
	once map[string]func() (base.Image, error)
}

func (m Materials) open(b lock.Base) *opened {
	o := &opened{m, b, map[string]func() (base.Image, error){}}
	for _, p := range b.Platforms {
		// The first caller's context must not end a download that others wait for.
		o.once[p.Platform] = sync.OnceValues(func() (base.Image, error) { return o.image(context.Background(), p) })
	}
	return o
}

// image opens the base for one platform and insists on what the lock says.
func (o *opened) image(ctx context.Context, p lock.BasePlatform) (base.Image, error) {
	ref := cmp.Or(p.Ref, o.lock.Ref)
	if repo := registryRepo(ref); repo != "" {
		ref = repo + "@" + p.Digest.String() // whatever the tag means by now
	}
	b, err := base.Open(ctx, o.m.sources(), ref, []string{p.Platform})
	if err != nil {
		return base.Image{}, err
	}
	image := b.Images[p.Platform]
	if image.Digest != p.Digest || len(image.Layers) != len(p.Layers) {
		return base.Image{}, diag.WithHint(fmt.Errorf("%w: %s for %s is now %s, not %s", ErrLock, ref, p.Platform, image.Digest, p.Digest),
			"take the new one with 'sbx-devc image lock --update base'")
	}
	for i, l := range image.Layers {
		if l.Digest != p.Layers[i].Digest {
			return base.Image{}, diag.WithHint(fmt.Errorf("%w: layer %d of %s for %s is %s here, not %s", ErrLock, i+1, ref, p.Platform,
				l.Digest, p.Layers[i].Digest), "take the new one with 'sbx-devc image lock --update base'")
		}
	}
	return image, nil
}

// registryRepo returns REGISTRY/NAME of a base in a registry, otherwise "".
func registryRepo(ref string) string {
	if kind, _ := base.KindOf(ref); kind != base.KindRegistry {
		return ""
	}
	repo, _ := base.SplitRef(ref)
	return repo
}

// publicName is a base's name for what is published: a path or an engine of one
// machine means nothing to others, and says more than they need to know.
func publicName(ref string) string {
	if kind, _ := base.KindOf(ref); kind != base.KindRegistry {
		return "from " + string(kind)
	}
	return ref
}

// layers returns the base's layers without opening it.
func (o *opened) layers(p lock.BasePlatform) []artifact.Layer {
	ref := cmp.Or(p.Ref, o.lock.Ref)
	var layers []artifact.Layer
	for i, l := range p.Layers {
		layers = append(layers, artifact.Layer{
			Blob: artifact.Blob{
				Descriptor: v1.Descriptor{MediaType: l.MediaType, Digest: l.Digest, Size: l.Size},
				From:       registryRepo(ref),
				What:       fmt.Sprintf("base layer %d for %s", i+1, p.Platform),
				Open: func(ctx context.Context) (io.ReadCloser, error) {
					if o.m.Store.Has(l.Digest, l.Size) {
						return o.m.Store.Opener(l.Digest)(ctx)
					}
					image, err := o.once[p.Platform]()
					if err != nil {
						return nil, err
					}
					return image.Layers[i].Open(ctx)
				},
			},
			DiffID:    l.DiffID,
			CreatedBy: fmt.Sprintf("base %s, layer %d", publicName(ref), i+1),
		})
	}
	return layers
}

// sandboxLayer returns the layer that is made from the base, without making it.
func (o *opened) sandboxLayer(p lock.BasePlatform) artifact.Layer {
	l := p.Sandbox
	return artifact.Layer{
		Blob: artifact.Blob{
			Descriptor: v1.Descriptor{MediaType: l.MediaType, Digest: l.Digest, Size: l.Size},
			What:       "account and rights for " + p.Platform,
			Open: func(ctx context.Context) (io.ReadCloser, error) {
				if !o.m.Store.Has(l.Digest, l.Size) {
					image, err := o.once[p.Platform]()
					if err != nil {
						return nil, err
					}
					made, err := o.m.sandboxLayer(ctx, image)
					if err != nil {
						return nil, err
					}
					if made.Digest != l.Digest {
						return nil, diag.WithHint(fmt.Errorf("%w: the layer made from the base is %s, not %s", ErrLock, made.Digest,
							l.Digest), "another version of sbx-devc wrote it: run 'sbx-devc image lock --update base'")
					}
				}
				return o.m.Store.Opener(l.Digest)(ctx)
			},
		},
		DiffID:    l.DiffID,
		CreatedBy: "sbx-devc: account agent, no program with root's rights",
	}
}

// epoch is the time of what we put into layers that are not made by a lock's
// date, so that layers stay the same from one lock to the next.
var epoch = time.Unix(0, 0).UTC()

// facts scans an image once.
func (m Materials) facts(ctx context.Context, image base.Image) (base.Facts, error) {
	var f base.Facts
	err := m.Store.Know("facts 1 "+diffKey(image), &f, func() (err error) {
		f, err = base.Scan(ctx, image.Layers)
		return err
	})
	return f, err
}

func diffKey(image base.Image) string {
	h := sha256.New()
	for _, id := range image.DiffIDs() {
		fmt.Fprintln(h, id)
	}
	return hex.EncodeToString(h.Sum(nil))
}

func (m Materials) sandboxLayer(ctx context.Context, image base.Image) (artifact.Layer, error) {
	f, err := m.facts(ctx, image)
	if err != nil {
		return artifact.Layer{}, err
	}
	entries, err := base.Sandbox(f)
	if err != nil {
		return artifact.Layer{}, err
	}
	return layer.Pack(m.Store, "sandbox 1 "+diffKey(image), func(w io.Writer) error { return layer.Tar(w, entries, epoch) })
}

// claudeLayer returns npm's tarball as a layer. It is fetched when it is read
// and not in the store.
func (m Materials) claudeLayer(version string, p lock.ClaudePlatform) artifact.Layer {
	return artifact.Layer{
		Blob: artifact.Blob{
			Descriptor: v1.Descriptor{MediaType: types.OCILayer, Digest: p.SHA256, Size: p.Size},
			What:       fmt.Sprintf("Claude Code %s for %s", version, p.Platform),
			Open: func(ctx context.Context) (io.ReadCloser, error) {
				if !m.Store.Has(p.SHA256, p.Size) {
					t, err := m.FetchClaude(ctx, npm.Package{Name: p.Package, Version: version, Integrity: p.Integrity,
						Tarball: m.NPM.TarballURL(p.Package, version)}, lock.Arch(p.Platform))
					if err != nil {
						return nil, err
					}
					if t.SHA256 != p.SHA256 || t.DiffID != p.DiffID {
						return nil, fmt.Errorf("%w: %s@%s is %s, not %s", ErrLock, p.Package, version, t.SHA256, p.SHA256)
					}
				}
				return m.Store.Opener(p.SHA256)(ctx)
			},
		},
		DiffID:    p.DiffID,
		CreatedBy: fmt.Sprintf("npm %s@%s, as published", p.Package, version),
	}
}

// FetchClaude brings a tarball of Claude Code for linux/arch into the store,
// checked; one that the store has and that was checked is not fetched again. It uses
// only the fields Store, NPM and Notice.
func (m Materials) FetchClaude(ctx context.Context, p npm.Package, arch string) (npm.Tarball, error) {
	var t npm.Tarball
	find := func() error {
		m.Notice("fetching %s@%s from npm", p.Name, p.Version)
		r, err := m.NPM.Open(ctx, p.Tarball)
		if err != nil {
			return err
		}
		defer r.Close()
		_, _, err = m.Store.Put(func(w io.Writer) (err error) {
			t, err = npm.Check(io.TeeReader(r, w))
			return err
		}, func(v1.Hash, int64) error {
			switch {
			case t.Integrity != p.Integrity:
				return fmt.Errorf("its checksum is %s, npm states %s", t.Integrity, p.Integrity)
			case t.Name != p.Name || t.Version != p.Version:
				return fmt.Errorf("it says that it is %s@%s", t.Name, t.Version)
			case t.Machine != arch:
				return fmt.Errorf("its program is for %s", t.Machine)
			}
			return nil
		})
		return err
	}
	err := m.Store.Know("npm 1 "+p.Integrity, &t, find)
	if err == nil && !m.Store.Has(t.SHA256, t.Size) {
		err = find()
	}
	if err != nil {
		return npm.Tarball{}, diag.OrHint(fmt.Errorf("the package %s@%s: %w", p.Name, p.Version, err),
			"nothing of it was used; report this to the package's publisher if it persists")
	}
	return t, nil
}

// initLayer returns the layer that holds sbx-init at dir, and the program's
// sha256 in hex.
func (m Materials) initLayer(arch, path string) (artifact.Layer, string, error) {
	sum, err := m.initSum(arch)
	if err != nil {
		return artifact.Layer{}, "", err
	}
	l, err := layer.Pack(m.Store, "file "+path+" "+sum, func(w io.Writer) error {
		program, err := m.initProgram(arch, sum)
		if err != nil {
			return err
		}
		return layer.Tar(w, []layer.Entry{{Path: path, Mode: 0o755, Data: program}}, epoch)
	})
	l.What, l.CreatedBy = "sbx-init for linux/"+arch, "sbx-devc: sbx-init"
	return l, sum, err
}

// initSum returns the sha256 of sbx-init in hex.
func (m Materials) initSum(arch string) (string, error) {
	if sum, ok := m.InitSHA256[arch]; ok {
		return sum, nil
	}
	program, err := m.initProgram(arch, "")
	return sha256Hex(program), err
}

// initProgram returns sbx-init, which must hash to sum; "" = to anything.
func (m Materials) initProgram(arch, sum string) ([]byte, error) {
	program, err := m.Init(arch)
	if err == nil && sum != "" && sha256Hex(program) != sum {
		err = fmt.Errorf("the carried sbx-init for linux/%s has sha256 %.12s…, not %.12s… as it says itself", arch, sha256Hex(program), sum)
	}
	if err != nil {
		return nil, diag.WithHint(err, "build sbx-devc with scripts/build, or use a released one")
	}
	return program, nil
}

// initModules returns what sbx-init was built from.
func (m Materials) initModules(arch, sum string) ([]sbom.Module, error) {
	var modules []sbom.Module
	err := m.Store.Know("go modules 1 "+sum, &modules, func() error {
		program, err := m.initProgram(arch, sum)
		if err == nil {
			modules, err = sbom.GoModules(program)
		}
		return err
	})
	return modules, err
}
