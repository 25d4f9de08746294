package imagebuild

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/org/claude-sandbox/imagebuild/artifact"
	"github.com/org/claude-sandbox/imagebuild/base"
	"github.com/org/claude-sandbox/imagebuild/lock"
	"github.com/org/claude-sandbox/imagebuild/npm"
	"github.com/org/claude-sandbox/imagebuild/registry"
	"github.com/org/claude-sandbox/imagebuild/sbom"
	"github.com/org/claude-sandbox/imagebuild/sign"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/exitcode"
	"github.com/org/claude-sandbox/internal/filekind"
)

// VerifyOptions says what Verify insists on.
type VerifyOptions struct {
	Digest   v1.Hash    // the reference must lead to it; zero = whatever it leads to
	Lock     *lock.Lock // the layers and settings must be its; nil = not compared
	Policy   []byte     // with Lock: the sandbox.jsonc that must be in it; nil = any
	Sandbox  bool       // it must be a sandbox's image: entry point, user, metadata
	SBOM     bool       // an SBOM that speaks of it must be attached
	Deep     bool       // read every blob, and every layer's content
	Platform string     // "linux/amd64"; "" = all
	// NPM is asked for the checksum of Claude Code's package when the lock has
	// one; nil = the lock's word is taken.
	NPM *npm.Registry
	// Signature checks a signature of REGISTRY/NAME@DIGEST; nil = none is required.
	Signature func(ctx context.Context, ref string) error
}

// Required names what a published image must agree with.
type Required struct {
	Lock      string // the file of its lock; "" = any
	Policy    string // with Lock: the sandbox.jsonc that must be in it; "" = any
	Signature sign.Requirement
}

// maxPolicy bounds a policy that is compared, in bytes.
const maxPolicy = 4 << 20

// Options reads the files. Errors of what the flags say have the exit code 64, a missing
// program for signatures 66.
func (r Required) Options(login registry.Credentials) (o VerifyOptions, err error) {
	if r.Policy != "" && r.Lock == "" {
		return o, exitcode.With(exitcode.Usage, diag.WithHint(errors.New("--policy is compared in the layers that an image's lock names"),
			"name it with --lock %s", lock.File))
	}
	if r.Lock != "" {
		l, err := lock.Read(r.Lock)
		if err != nil {
			return o, err
		}
		o.Lock = &l
	}
	if r.Policy != "" {
		if o.Policy, err = filekind.Read(r.Policy, maxPolicy); err != nil {
			return o, fmt.Errorf("reading the policy: %w", err)
		}
	}
	switch o.Signature, err = r.Signature.Checker(login); {
	case errors.Is(err, sign.ErrNotInstalled):
		return o, exitcode.With(exitcode.NoInput, err)
	case err != nil:
		return o, exitcode.With(exitcode.Usage, err)
	}
	return o, nil
}

// Check is one thing that Verify looked at.
type Check struct {
	Name   string `json:"name"`
	OK     bool   `json:"ok"`
	Detail string `json:"detail"` // what was found; with !OK what is wrong
}

// Verified is what Verify found.
type Verified struct {
	Repository string  `json:"repository"`
	Digest     v1.Hash `json:"digest"`
	OK         bool    `json:"ok"`
	Checks     []Check `json:"checks"`
}

// Err returns what is wrong, each with the name of its check; nil = everything
// holds.
func (v *Verified) Err() error {
	var wrong []error
	for _, check := range v.Checks {
		if !check.OK {
			wrong = append(wrong, fmt.Errorf("%s: %s", check.Name, check.Detail))
		}
	}
	return errors.Join(wrong...)
}

// Verify looks at a published image and reports everything that is wrong. The
// error says that it could not look.
func Verify(ctx context.Context, c *registry.Client, version string, o VerifyOptions) (*Verified, error) {
	a, err := fetch(ctx, c, version, o.Platform)
	if err != nil {
		return nil, err
	}
	digest := a.Index.Digest
	v := &verifier{ctx: ctx, c: c, a: a, o: o, out: &Verified{Repository: c.Name(), Digest: digest, OK: true}}
	if o.Digest != (v1.Hash{}) {
		v.add("digest", digest == o.Digest, "%s leads to %s, want %s", version, digest, o.Digest)
	} else {
		v.add("digest", true, "%s leads to %s; its manifests have the digests that the index names", version, digest)
	}
	for _, image := range a.Images {
		if err := v.image(image); err != nil {
			return nil, err
		}
	}
	if o.Lock != nil && o.Platform == "" {
		v.platforms()
	}
	if o.SBOM {
		if err := v.sbom(); err != nil {
			return nil, err
		}
	}
	if o.Signature != nil {
		err := o.Signature(ctx, c.Name()+"@"+digest.String())
		v.add("signature", err == nil, "%s", orText(err, "accepted"))
	}
	return v.out, nil
}

// Check is Verify for PullOptions: an error where anything does not hold.
func (o VerifyOptions) Check(ctx context.Context, c *registry.Client, digest v1.Hash, platform string) error {
	o.Platform = platform
	result, err := Verify(ctx, c, digest.String(), o)
	if err != nil {
		return err
	}
	return result.Err()
}

type verifier struct {
	ctx context.Context
	c   *registry.Client
	a   artifact.Artifact
	o   VerifyOptions
	out *Verified
}

func (v *verifier) add(name string, ok bool, format string, args ...any) {
	v.out.Checks = append(v.out.Checks, Check{name, ok, fmt.Sprintf(format, args...)})
	v.out.OK = v.out.OK && ok
}

func orText(err error, text string) string {
	if err != nil {
		return err.Error()
	}
	return text
}

func (v *verifier) platforms() {
	var have []string
	for _, image := range v.a.Images {
		have = append(have, image.Platform.OS+"/"+image.Platform.Architecture)
	}
	slices.Sort(have)
	want := v.o.Lock.PlatformNames()
	v.add("platforms", slices.Equal(have, want), "it has %s, the lock %s", strings.Join(have, ", "), strings.Join(want, ", "))
}

func (v *verifier) image(image artifact.Manifest) error {
	platform := image.Platform.OS + "/" + image.Platform.Architecture
	file, err := base.ReadConfig(v.ctx, image)
	if err != nil {
		return err
	}
	v.add("configuration "+platform, file.OS+"/"+file.Architecture == platform && len(file.RootFS.DiffIDs) == len(image.Blobs)-1,
		"for %s/%s, %d layers with %d digests of their content", file.OS, file.Architecture, len(image.Blobs)-1, len(file.RootFS.DiffIDs))
	if v.o.Sandbox {
		v.sandbox(platform, file)
	}
	if v.o.Lock != nil {
		if err := v.layers(platform, image, file); err != nil {
			return err
		}
	}
	for i, b := range image.Blobs[1:] { // the configuration was read
		if err := v.blob(platform, i, b, file); err != nil {
			return err
		}
	}
	return nil
}

// sandbox checks what makes an image a sandbox's.
func (v *verifier) sandbox(platform string, file v1.ConfigFile) {
	want := []string{"/" + initPath, "run", "--policy", "/" + policyPath, "--user", base.User, "--"}
	v.add("entry point "+platform, slices.Equal(file.Config.Entrypoint, want), "%q", file.Config.Entrypoint)
	detail, ok := sandboxed(file.Config.Labels[metadataLabel])
	v.add("dev container metadata "+platform, ok, "%s", detail)
	for _, key := range []string{"title", "created"} {
		if file.Config.Labels[prefix+key] == "" {
			v.add("label "+key+" "+platform, false, "missing")
		}
	}
}

// layers compares an image's layers with the lock's.
func (v *verifier) layers(platform string, image artifact.Manifest, file v1.ConfigFile) error {
	at := slices.IndexFunc(v.o.Lock.Base.Platforms, func(p lock.BasePlatform) bool { return p.Platform == platform })
	if at < 0 {
		v.add("lock "+platform, false, "the lock has no such platform")
		return nil
	}
	p := v.o.Lock.Base.Platforms[at]
	type want struct {
		name           string
		digest, diffID v1.Hash
	}
	var wants []want
	for i, l := range p.Layers {
		wants = append(wants, want{fmt.Sprintf("base layer %d", i+1), l.Digest, l.DiffID})
	}
	claude, locked := v.o.Lock.ClaudeFor(platform)
	published := slices.ContainsFunc(image.Blobs, func(b artifact.Blob) bool { return locked && b.Digest == claude.SHA256 })
	if published {
		wants = append(wants, want{"Claude Code's layer", claude.SHA256, claude.DiffID})
	}
	wants = append(wants, want{"account layer", p.Sandbox.Digest, p.Sandbox.DiffID})
	ok := len(image.Blobs)-1 == len(wants)+2 && len(file.RootFS.DiffIDs) == len(wants)+2 // and sbx-init, configuration
	detail := fmt.Sprintf("%d layers, the lock leads to %d", len(image.Blobs)-1, len(wants)+2)
	for i, w := range wants {
		if ok && (image.Blobs[i+1].Digest != w.digest || file.RootFS.DiffIDs[i] != w.diffID) {
			ok, detail = false, fmt.Sprintf("%s is %s, the lock has %s", w.name, image.Blobs[i+1].Digest, w.digest)
		}
	}
	v.add("layers "+platform, ok, "%s", detail)
	if ok {
		v.own(platform, image, file, published)
	}
	settings, err := containerConfig(p.Config, annotationsOf(file.Config.Labels))
	if err != nil {
		return fmt.Errorf("the base for %s: %w", platform, err)
	}
	v.add("settings "+platform, sameJSON(file.Config, settings),
		"variables, user, command and labels against those that the lock's base leads to")
	version := file.Config.Labels["claude-sandbox.claude.version"]
	switch {
	case !locked:
		v.add("Claude Code "+platform, version == "", "the lock has none, the image says %q", version)
		return nil
	case !published:
		v.add("Claude Code "+platform, version == "", "the image is without it, and says %q", version)
		return nil
	}
	return v.claude(platform, claude)
}

// claude compares the layer that is npm's tarball with what npm says about it.
func (v *verifier) claude(platform string, p lock.ClaudePlatform) error {
	if v.o.NPM != nil {
		got, err := v.o.NPM.Resolve(v.ctx, p.Package, v.o.Lock.Claude.Version)
		if err != nil {
			return err
		}
		v.add("npm's checksum "+platform, got.Integrity == p.Integrity, "npm states %s for %s@%s, the lock has %s", got.Integrity,
			p.Package, got.Version, p.Integrity)
	}
	if !v.o.Deep {
		return nil
	}
	r, err := v.c.Blob(v.ctx, v1.Descriptor{Digest: p.SHA256, Size: p.Size})
	if err != nil {
		return err
	}
	defer r.Close()
	t, err := npm.Check(r)
	if err != nil {
		v.add("Claude Code's layer "+platform, false, "%v", err)
		return nil
	}
	v.add("Claude Code's layer "+platform, t.Integrity == p.Integrity && t.DiffID == p.DiffID && "linux/"+t.Machine == platform,
		"as published: %s, a program for linux/%s, want %s", t.Integrity, t.Machine, p.Integrity)
	return nil
}

// blob checks that the layer i, from 0, is there; deep, also every byte of it.
func (v *verifier) blob(platform string, i int, b artifact.Blob, file v1.ConfigFile) error {
	name := fmt.Sprintf("layer %d %s", i+1, platform)
	if !v.o.Deep {
		found, err := v.c.HasBlob(v.ctx, b.Descriptor)
		if err == nil && !found {
			v.add(name, false, "the registry does not have %s in its size of %d bytes", b.Digest, b.Size)
		}
		return err
	}
	err := v.content(b, file.RootFS.DiffIDs, i)
	v.add(name, err == nil, "%s", orText(err, "every byte read"))
	return v.ctx.Err()
}

func (v *verifier) content(b artifact.Blob, diffIDs []v1.Hash, i int) error {
	r, err := b.Open(v.ctx)
	if err != nil {
		return err
	}
	defer r.Close()
	content, err := base.Decompress(b.MediaType, r)
	if err != nil {
		return err
	}
	defer content.Close()
	got, _, err := v1.SHA256(content)
	if err != nil {
		return err
	}
	if _, err := io.Copy(io.Discard, r); err != nil { // to the end, where the digest is checked
		return err
	}
	if i >= len(diffIDs) || got != diffIDs[i] {
		return fmt.Errorf("its content has %s, which the configuration does not name", got)
	}
	return nil
}

// sbom checks that an SBOM is attached and speaks of this image.
func (v *verifier) sbom() error {
	referrers, err := v.c.Referrers(v.ctx, v.out.Digest)
	if err != nil {
		return err
	}
	for _, d := range referrers {
		if d.ArtifactType != sbom.SPDXType {
			continue
		}
		document, err := v.document(d)
		if err != nil {
			v.add("SBOM", false, "%v", err)
			return v.ctx.Err()
		}
		packages, _ := document["packages"].([]any)
		about := strings.HasSuffix(fmt.Sprint(document["name"]), "@"+v.out.Digest.String())
		v.add("SBOM", about && len(packages) > 0, "%v lists %d packages", document["name"], len(packages))
		return nil
	}
	v.add("SBOM", false, "none is attached")
	return nil
}

// document reads a referrer's document.
func (v *verifier) document(d v1.Descriptor) (map[string]any, error) {
	raw, _, err := v.c.Manifest(v.ctx, d.Digest.String())
	if err != nil {
		return nil, err
	}
	var m v1.Manifest
	if err := json.Unmarshal(raw, &m); err != nil {
		return nil, err
	}
	if m.Subject == nil || m.Subject.Digest != v.out.Digest || len(m.Layers) != 1 {
		return nil, errors.New("it does not refer to this image")
	}
	r, err := v.c.Blob(v.ctx, m.Layers[0])
	if err != nil {
		return nil, err
	}
	defer r.Close()
	var document map[string]any
	if err := json.NewDecoder(io.LimitReader(r, 64<<20)).Decode(&document); err != nil {
		return nil, err
	}
	_, err = io.Copy(io.Discard, r)
	return document, err
}
