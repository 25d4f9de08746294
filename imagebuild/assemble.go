package imagebuild

import (
	"cmp"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/org/claude-sandbox/imagebuild/artifact"
	"github.com/org/claude-sandbox/imagebuild/base"
	"github.com/org/claude-sandbox/imagebuild/layer"
	"github.com/org/claude-sandbox/imagebuild/lock"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/workspace/obeyed"
)

// Paths in the image; sbx-init, the Dockerfile templates and run share them.
const (
	initPath   = "usr/local/sbin/sbx-init"
	policyPath = "etc/sbx/sandbox.jsonc"
	claudePath = "usr/local/bin/claude"
)

//go:embed files/00-sbx.sh
var profileScript []byte

// About describes an image: org.opencontainers.image.* as labels and as
// annotations on the index and each image. Empty fields write nothing.
type About struct {
	Title, Description, URL, Source, Documentation string
	Version                                        string // without a leading v
	Revision                                       string // the commit
	Licenses                                       string // an SPDX expression
}

// Spec says what Assemble makes.
type Spec struct {
	Lock          lock.Lock
	Policy        []byte   // sandbox.jsonc: what the sandbox lets out
	Platforms     []string // of the lock's; empty = all
	WithoutClaude bool     // leave Claude Code out although the lock has it
	About         About
}

// Assemble returns the image that a lock and a policy describe. No content is
// read but sbx-init, so nothing is fetched until somebody needs a blob. Equal
// specs give equal digests.
func Assemble(m Materials, s Spec) (artifact.Artifact, error) {
	opened := m.open(s.Lock.Base)
	var images []artifact.Manifest
	for _, p := range s.Lock.Base.Platforms {
		if len(s.Platforms) > 0 && !slices.Contains(s.Platforms, p.Platform) {
			continue
		}
		image, err := m.image(s, opened, p)
		if err != nil {
			return artifact.Artifact{}, err
		}
		images = append(images, image)
	}
	if len(images) == 0 || len(s.Platforms) > len(images) {
		return artifact.Artifact{}, diag.WithHint(fmt.Errorf("%w: it has no %s", ErrLock, strings.Join(s.Platforms, ", ")), "it has: %s",
			strings.Join(s.Lock.PlatformNames(), ", "))
	}
	annotations := s.annotations()
	setBase(annotations, s.Lock.Base.Ref, s.Lock.Base.Digest)
	return artifact.Index(images, annotations)
}

func (m Materials) image(s Spec, o *opened, p lock.BasePlatform) (artifact.Manifest, error) {
	layers := o.layers(p)
	claude, withClaude := s.Lock.ClaudeFor(p.Platform)
	withClaude = withClaude && !s.WithoutClaude
	if withClaude {
		// Directly on the base: the layers above change more often, and engines
		// fetch everything above a layer that changed.
		layers = append(layers, m.claudeLayer(s.Lock.Claude.Version, claude))
	}
	arch := lock.Arch(p.Platform)
	program, sum, err := m.initLayer(arch, initPath)
	if err != nil {
		return artifact.Manifest{}, err
	}
	if want := s.Lock.Init.SHA256[p.Platform]; sum != want {
		return artifact.Manifest{}, diag.WithHint(fmt.Errorf("%w: this sbx-devc carries another sbx-init for %s (sha256 %.12s…, the "+
			"lock has %.12s… of version %s)", ErrLock, p.Platform, sum, want, s.Lock.Init.Version),
			"take it with 'sbx-devc image lock --update sbx'")
	}
	config, err := m.configLayer(s.Policy, withClaude)
	if err != nil {
		return artifact.Manifest{}, err
	}
	layers = append(layers, o.sandboxLayer(p), program, config)
	annotations := s.annotations()
	ref := cmp.Or(p.Ref, s.Lock.Base.Ref)
	setBase(annotations, ref, p.Digest)
	file := v1.ConfigFile{OS: "linux", Architecture: arch, Created: v1.Time{Time: s.Lock.SourceDate}}
	if file.Config, err = containerConfig(p.Config, annotations); err != nil {
		return artifact.Manifest{}, fmt.Errorf("the base for %s: %w", p.Platform, err)
	}
	return artifact.Image(file, layers, annotations)
}

// configEntries is what sbx-devc configures: the policy, the wait for the
// firewall, the command claude.
func configEntries(policy []byte, withClaude bool) []layer.Entry {
	entries := []layer.Entry{
		{Path: "etc/sbx/"},
		{Path: policyPath, Data: policy},
		{Path: "etc/profile.d/00-sbx.sh", Data: profileScript},
	}
	if withClaude {
		entries = append(entries, layer.Entry{Path: claudePath, Link: "/package/claude"})
	}
	return entries
}

// configLayer holds them.
func (m Materials) configLayer(policy []byte, withClaude bool) (artifact.Layer, error) {
	entries := configEntries(policy, withClaude)
	h := sha256.New()
	if err := layer.Tar(h, entries, epoch); err != nil {
		return artifact.Layer{}, err
	}
	l, err := layer.Pack(m.Store, "tar "+hex.EncodeToString(h.Sum(nil)), func(w io.Writer) error { return layer.Tar(w, entries, epoch) })
	l.What, l.CreatedBy = "configuration files", "sbx-devc: policy and configuration"
	return l, err
}

const prefix = "org.opencontainers.image."

func (a About) annotations() map[string]string {
	out := map[string]string{}
	for key, value := range map[string]string{
		"title": a.Title, "description": a.Description, "url": a.URL, "source": a.Source, "documentation": a.Documentation,
		"version": a.Version, "revision": a.Revision, "licenses": a.Licenses,
	} {
		if value != "" {
			out[prefix+key] = value
		}
	}
	return out
}

func (s Spec) annotations() map[string]string {
	out := s.About.annotations()
	out[prefix+"created"] = s.Lock.SourceDate.Format("2006-01-02T15:04:05Z")
	if s.Lock.Claude != nil && !s.WithoutClaude {
		out["claude-sandbox.claude.version"] = s.Lock.Claude.Version
	}
	out["claude-sandbox.init.version"] = s.Lock.Init.Version
	return out
}

func setBase(annotations map[string]string, ref string, digest v1.Hash) {
	if repo := registryRepo(ref); repo != "" { // a path of one machine means nothing to others
		annotations[prefix+"base.name"] = ref
		if digest.Hex != "" {
			annotations[prefix+"base.digest"] = digest.String()
		}
	}
}

// containerConfig lays the sandbox's settings over the base's. A setting that would open
// a way around the firewall's start is not taken over: entry point, user,
// ports, health checks (they run outside of the firewall), triggers of builds.
func containerConfig(b v1.Config, labels map[string]string) (v1.Config, error) {
	out := v1.Config{
		Env:        mergeEnv(b.Env, "LANG=C.UTF-8", "DISABLE_AUTOUPDATER=1", "DISABLE_UPDATES=1"),
		Labels:     map[string]string{},
		WorkingDir: b.WorkingDir, StopSignal: b.StopSignal, Shell: b.Shell,
		// As root: sbx-init sets the firewall up and then becomes the agent.
		User:       "root",
		Entrypoint: []string{"/" + initPath, "run", "--policy", "/" + policyPath, "--user", base.User, "--"},
		Cmd:        []string{"sleep", "infinity"},
	}
	for key, value := range b.Labels {
		// The base's statements about itself are not true of this image.
		if !strings.HasPrefix(key, prefix) {
			out.Labels[key] = value
		}
	}
	maps.Copy(out.Labels, labels)
	metadata, err := mergeMetadata(b.Labels[metadataLabel])
	out.Labels[metadataLabel] = metadata
	return out, err
}

// mergeEnv sets variables, keeping the order of those that are there.
func mergeEnv(env []string, set ...string) []string {
	out := slices.Clone(env)
	for _, s := range set {
		name, _, _ := strings.Cut(s, "=")
		at := slices.IndexFunc(out, func(e string) bool { return strings.HasPrefix(e, name+"=") })
		if at < 0 {
			out = append(out, s)
		} else {
			out[at] = s
		}
	}
	return out
}

// metadataLabel holds parts of a devcontainer.json (dev container
// specification, "image metadata").
const metadataLabel = "devcontainer.metadata"

// lendsRights are the properties of a base's metadata that would give the
// container more than a sandbox has; the editor would add them to ours.
var lendsRights = []string{"privileged", "capAdd", "securityOpt", "mounts", "entrypoint", "init", "containerUser", "overrideCommand"}

// mergeMetadata appends the sandbox's entry to the base's entries.
func mergeMetadata(old string) (string, error) {
	var entries []map[string]json.RawMessage
	if old != "" {
		if json.Unmarshal([]byte(old), &entries) != nil {
			var one map[string]json.RawMessage
			if err := json.Unmarshal([]byte(old), &one); err != nil {
				return "", fmt.Errorf("reading its label %s: %w", metadataLabel, err)
			}
			entries = append(entries, one)
		}
	}
	var kept []any
	for _, e := range entries {
		for _, key := range lendsRights {
			delete(e, key)
		}
		if len(e) > 0 {
			kept = append(kept, e)
		}
	}
	data, err := json.Marshal(append(kept, sandboxMetadata()))
	return string(data), err
}

// sandboxMetadata is what makes {"image": "…"} alone a right dev container.
// The template's devcontainer.json says why each line is there; it also mounts
// the project's own files read-only, which an image cannot know.
func sandboxMetadata() map[string]any {
	noEditor := map[string]any{}
	for _, name := range obeyed.EditorVariables() {
		noEditor[name] = nil
	}
	return map[string]any{
		"overrideCommand": false,
		"remoteUser":      base.User,
		"capAdd":          []string{"NET_ADMIN"},
		"securityOpt":     []string{"no-new-privileges"},
		"mounts": []string{
			"type=tmpfs,target=/run/sbx,tmpfs-mode=0755,tmpfs-size=160m",
			"type=volume,source=claude-${devcontainerId},target=" + base.Home + "/.claude",
		},
		"containerEnv": map[string]string{
			"SBX_WAIT_FOR": "/run/sbx/policy.json", "CLAUDE_CONFIG_DIR": base.Home + "/.claude",
		},
		"remoteEnv": noEditor,
	}
}
