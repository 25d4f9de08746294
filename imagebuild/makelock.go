package imagebuild

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/org/claude-sandbox/imagebuild/artifact"
	"github.com/org/claude-sandbox/imagebuild/base"
	"github.com/org/claude-sandbox/imagebuild/lock"
	"github.com/org/claude-sandbox/imagebuild/npm"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/exitcode"
	"github.com/org/claude-sandbox/internal/release"
)

// LockOptions says what MakeLock looks up.
type LockOptions struct {
	// Bases are sources of base images (see package base), each for all
	// platforms or, written PLATFORM=SOURCE, for one. Empty = those of Old.
	Bases     []string
	Platforms []string // "linux/amd64"; empty = what the base has of amd64 and arm64
	// Claude is the version of Claude Code: "latest", "2.1.329", "" = that of
	// Old, or the latest without Old. NoClaude = none.
	Claude   string
	NoClaude bool
	// Old is the lock that is brought up to date; nil = a new one. In an old
	// lock only the parts that Update names change: "base", "claude", "sbx".
	Old        *lock.Lock
	Update     []string
	SourceDate time.Time
}

// lockParts are the parts of a lock that Update names.
var lockParts = []string{"base", "claude", "sbx"}

// check refuses what cannot become a lock, before anything is fetched.
func (o LockOptions) check() error {
	wrong := func(hint, format string, args ...any) error {
		return exitcode.With(exitcode.Usage, diag.WithHint(fmt.Errorf(format, args...), "%s", hint))
	}
	for _, part := range o.Update {
		if !slices.Contains(lockParts, part) {
			return wrong("accepted: "+strings.Join(lockParts, ", "), "unknown --update %q", part)
		}
	}
	for _, b := range o.Bases {
		platform, source := base.ForPlatform(b)
		kind, rest := base.KindOf(source)
		switch {
		case kind == base.KindRootfs && (rest == "" || platform == ""):
			return wrong("write --base linux/amd64=rootfs:FILE, and the same for linux/arm64 if you have it",
				"--base %q: a root file system does not say which platform it is for", b)
		case rest == "" || strings.HasSuffix(rest, ":"):
			return wrong("see --help for its forms", "--base %q names nothing", b)
		}
	}
	if o.Old == nil && len(o.Bases) == 0 {
		return wrong("name one with --base, for example --base engine:my-base; see --help for its forms", "no base is named")
	}
	return CheckPlatforms(o.Platforms)
}

// MakeLock looks up by digest what an image is made of, and checks it: Claude
// Code's tarballs entry by entry, the base for what a sandbox needs. Options that make
// no lock are an error with the exit code 64.
func MakeLock(ctx context.Context, m Materials, o LockOptions) (lock.Lock, error) {
	if err := o.check(); err != nil {
		return lock.Lock{}, err
	}
	l := lock.Lock{SchemaVersion: 1, SourceDate: o.SourceDate.UTC().Truncate(time.Second)}
	if o.Old != nil {
		l = *o.Old
		l.SourceDate = o.SourceDate.UTC().Truncate(time.Second)
	}
	update := func(what string) bool {
		return o.Old == nil || len(o.Update) == 0 || slices.Contains(o.Update, what)
	}
	if len(o.Bases) > 0 || update("base") {
		b, err := m.lockBase(ctx, o)
		if err != nil {
			return lock.Lock{}, err
		}
		l.Base = b
	}
	if o.NoClaude {
		l.Claude = nil
	} else if update("claude") || l.Claude == nil || o.Claude != "" {
		c, err := m.lockClaude(ctx, o.Claude, l.PlatformNames())
		if err != nil {
			return lock.Lock{}, err
		}
		l.Claude = c
	}
	if update("sbx") || l.Init.SHA256 == nil {
		l.Init = lock.Init{Version: release.Version, SHA256: map[string]string{}}
		for _, p := range l.PlatformNames() {
			_, sum, err := m.initLayer(lock.Arch(p), initPath)
			if err != nil {
				return lock.Lock{}, err
			}
			l.Init.SHA256[p] = sum
		}
	}
	return l, nil
}

func (m Materials) lockBase(ctx context.Context, o LockOptions) (lock.Base, error) {
	bases := o.Bases
	if len(bases) == 0 && o.Old != nil {
		for _, p := range o.Old.Base.Platforms {
			if p.Ref != "" {
				bases = append(bases, p.Platform+"="+p.Ref)
			}
		}
		if len(bases) == 0 {
			bases = []string{o.Old.Base.Ref}
		}
	}
	var out lock.Base
	for _, b := range bases {
		platforms := o.Platforms
		platform, source := base.ForPlatform(b)
		single := platform != ""
		if single {
			platforms = []string{platform}
		} else if len(bases) > 1 {
			return lock.Base{}, diag.WithHint(fmt.Errorf("several bases, and %q does not say for which platform", b),
				"write --base linux/amd64=… --base linux/arm64=…")
		}
		m.Notice("reading the base %s", source)
		opened, err := base.Open(ctx, m.sources(), source, platforms)
		if err != nil {
			return lock.Base{}, err
		}
		if !single {
			out.Ref, out.Digest = source, opened.Index
		}
		for platform, image := range opened.Images {
			p, err := m.lockPlatform(ctx, platform, image)
			if err != nil {
				return lock.Base{}, fmt.Errorf("the base %s for %s: %w", source, platform, err)
			}
			if single {
				p.Ref = source
			}
			out.Platforms = append(out.Platforms, p)
		}
	}
	slices.SortFunc(out.Platforms, func(a, b lock.BasePlatform) int { return strings.Compare(a.Platform, b.Platform) })
	if out.Ref == "" {
		out.Ref = out.Platforms[0].Ref
	}
	return out, nil
}

func (m Materials) lockPlatform(ctx context.Context, platform string, image base.Image) (lock.BasePlatform, error) {
	p := lock.BasePlatform{Platform: platform, Digest: image.Digest, Config: inherited(image.Config.Config), Layers: []lock.Layer{}}
	for _, l := range image.Layers {
		p.Layers = append(p.Layers, locked(l))
	}
	facts, err := m.facts(ctx, image)
	if err != nil {
		return p, err
	}
	p.Packages = strings.Count("\n"+string(facts.Dpkg), "\nPackage: ")
	sandbox, err := m.sandboxLayer(ctx, image)
	p.Sandbox = locked(sandbox)
	return p, err
}

// inherited is what a sandbox takes over of its base's configuration.
func inherited(c v1.Config) v1.Config {
	return v1.Config{Env: c.Env, Labels: c.Labels, WorkingDir: c.WorkingDir, StopSignal: c.StopSignal, Shell: c.Shell}
}

func locked(l artifact.Layer) lock.Layer {
	return lock.Layer{MediaType: types.MediaType(l.MediaType), Digest: l.Digest, Size: l.Size, DiffID: l.DiffID}
}

func (m Materials) lockClaude(ctx context.Context, version string, platforms []string) (*lock.Claude, error) {
	version = cmp.Or(version, "latest")
	out := &lock.Claude{}
	for _, platform := range platforms {
		name, err := npm.PlatformPackage(lock.Arch(platform))
		if err != nil {
			return nil, err
		}
		p, err := m.NPM.Resolve(ctx, name, version)
		if err != nil {
			return nil, err
		}
		version, out.Version = p.Version, p.Version // the same one for every platform
		t, err := m.FetchClaude(ctx, p, lock.Arch(platform))
		if err != nil {
			return nil, err
		}
		out.Platforms = append(out.Platforms, lock.ClaudePlatform{
			Platform: platform, Package: name, Integrity: t.Integrity, SHA256: t.SHA256, Size: t.Size, DiffID: t.DiffID,
		})
	}
	return out, nil
}
