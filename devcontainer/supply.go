package devcontainer

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/org/claude-sandbox/devcontainer/rights"
	"github.com/org/claude-sandbox/devcontainer/shell"
	"github.com/org/claude-sandbox/internal/jsonc"
)

// startImages returns the images that the configuration and its services start
// from without a digest, where a name does not depend on a variable and no build
// only gives it to its result.
func (v *view) startImages() (out []namedImage) {
	add := func(name string, at rights.Place) {
		if _, _, digest := splitImage(name); name != "" && digest == "" {
			out = append(out, namedImage{name, at})
		}
	}
	for _, s := range v.services() {
		n := s.Get("image")
		if _, _, _, builds := s.Build(); !builds && !strings.Contains(n.String(), "$") {
			add(n.String(), composePlace(n))
		}
	}
	n := v.root.Member("image")
	if s, ok := n.Str(); ok && !strings.Contains(s, "${") && !v.builds() {
		add(s, v.atValue(n, "", "").Place)
	}
	return out
}

// unpinnedImages reports images that can become others under the same name.
func unpinnedImages(v *view) (out []finding) {
	for _, i := range v.startImages() {
		if _, tag, _ := splitImage(i.name); tag != "" && tag != "latest" {
			out = append(out, finding{Place: i.at, message: fmt.Sprintf("the image %s is not pinned to a digest", i.name),
				hint: "add @sha256:…, as the registry reports it"})
		}
	}
	return out
}

// floatingImages reports images that are whatever is newest.
func floatingImages(v *view) (out []finding) {
	for _, i := range v.startImages() {
		if name, tag, _ := splitImage(i.name); tag == "" || tag == "latest" {
			out = append(out, finding{Place: i.at, message: fmt.Sprintf("the image %s is whatever was published last", name),
				hint: "name a version, or better a digest: " + name + ":VERSION@sha256:…"})
		}
	}
	return out
}

// builds reports whether a Dockerfile or Compose wins over the image.
func (c *view) builds() bool {
	return c.root.Member("dockerFile") != nil || c.root.Member("build").Member("dockerfile") != nil ||
		c.root.Member("dockerComposeFile") != nil
}

// splitImage takes an image reference apart: name, tag, digest.
func splitImage(s string) (name, tag, digest string) {
	s, digest, _ = strings.Cut(s, "@")
	if i := strings.LastIndexByte(s, ':'); i > strings.LastIndexByte(s, '/') {
		return s[:i], s[i+1:], digest
	}
	return s, "", digest
}

// featureSource says how a Feature is named: reference section 2.5 of the
// specification of Features.
type featureSource int

const (
	registryFeature featureSource = iota // REGISTRY/NAMESPACE/ID[:VERSION|@DIGEST]
	localFeature                         // ./FOLDER
	tarballFeature                       // https://…/devcontainer-feature-ID.tgz
	legacyFeature                        // ID, or OWNER/REPOSITORY/ID of releases
)

func sourceOf(id string) featureSource {
	first, rest, slash := strings.Cut(id, "/")
	switch {
	case strings.HasPrefix(id, "./"), strings.HasPrefix(id, "../"):
		return localFeature
	case strings.HasPrefix(id, "https://"), strings.HasPrefix(id, "http://"):
		return tarballFeature
	case !slash, !strings.ContainsAny(first, ".:") && first != "localhost", !strings.Contains(rest, "/"):
		return legacyFeature
	}
	return registryFeature
}

var exactVersion = regexp.MustCompile(`^v?\d+\.\d+\.\d+`)

// namedFeatures returns the configuration's Features whose names depend on no
// variable.
func (v *view) namedFeatures() (out []jsonc.Member) {
	features := v.root.Member("features")
	if features == nil || features.Kind != jsonc.Object {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(features.Members), func(m jsonc.Member) bool { return strings.Contains(m.Name, "${") })
}

// floatingFeatures reports Features that are the newest of their kind.
func floatingFeatures(v *view) (out []finding) {
	for _, m := range v.namedFeatures() {
		_, tag, digest := splitImage(m.Name)
		if sourceOf(m.Name) == registryFeature && digest == "" && !exactVersion.MatchString(tag) && !v.locked(m.Name) {
			out = append(out, v.atName(m, fmt.Sprintf("the Feature %s is the newest of its kind at each build", m.Name),
				"name a whole version or a digest, or keep a devcontainer-lock.json"))
		}
	}
	return out
}

// oldFeatureNames reports Features that are named in the old way, or come over
// plain http.
func oldFeatureNames(v *view) (out []finding) {
	for _, m := range v.namedFeatures() {
		switch source := sourceOf(m.Name); {
		case source == legacyFeature:
			out = append(out, v.atName(m, fmt.Sprintf("%q names a Feature in the old way", m.Name),
				"write it as REGISTRY/NAMESPACE/ID:VERSION, such as ghcr.io/devcontainers/features/go:1.3.2"))
		case source == tarballFeature && strings.HasPrefix(m.Name, "http://"):
			out = append(out, v.atName(m, "the Feature comes over plain http", "use https, or a registry"))
		}
	}
	return out
}

// lockEntries returns the lock's Features, or nil.
func (c *view) lockEntries() *jsonc.Node {
	if c.Lock == nil || c.Lock.Root == nil {
		return nil
	}
	return c.Lock.Root.Member("features")
}

func (c *view) locked(id string) bool { return c.lockEntries().Member(id) != nil }

// lockable returns the Features that the reference CLI locks: those of registries
// and tarballs. None where nobody can know of a lock, or what it would hold.
func (v *view) lockable() (out []jsonc.Member) {
	features := v.root.Member("features")
	if v.Tree == nil || features == nil || features.Kind != jsonc.Object || strings.Contains(string(v.Config.Src), "${templateOption:") {
		return nil
	}
	for _, m := range features.Members {
		if s := sourceOf(m.Name); s == registryFeature || s == tarballFeature {
			out = append(out, m)
		}
	}
	return out
}

// noLock notes Features whose digests nothing holds.
func noLock(v *view) []finding {
	wanted := v.lockable()
	if len(wanted) == 0 || v.Lock != nil || strings.Contains(wanted[0].Name, "@sha256:") {
		return nil
	}
	return []finding{v.atName(wanted[0], "no devcontainer-lock.json holds the Features' digests", "devcontainer upgrade writes one; commit it")}
}

// lockDiffers compares the lock with what the configuration asks for.
func lockDiffers(v *view) (out []finding) {
	entries, wanted := v.lockEntries(), v.lockable()
	if entries == nil || len(wanted) == 0 {
		return nil // without entries its own schema says so
	}
	for _, m := range wanted {
		entry := entries.Member(m.Name)
		if entry == nil {
			out = append(out, v.atName(m, fmt.Sprintf("devcontainer-lock.json does not hold %s", m.Name), "run devcontainer upgrade"))
			continue
		}
		out = append(out, v.lockEntry(m.Name, entry)...)
	}
	for _, m := range entries.Members {
		if v.root.Member("features").Member(m.Name) == nil && !dependedOn(entries, m.Name) {
			at := rights.Place{Doc: v.Lock, Start: m.NameStart, End: m.NameEnd, Pointer: m.Value.Pointer}
			out = append(out, finding{Place: at, message: fmt.Sprintf("the lock holds %s, which nothing asks for", m.Name),
				hint: "run devcontainer upgrade"})
		}
	}
	return out
}

func (v *view) lockEntry(id string, entry *jsonc.Node) (out []finding) {
	add := func(n *jsonc.Node, message, hint string) {
		out = append(out, finding{Place: rights.Place{Doc: v.Lock, Start: n.Start, End: n.End, Pointer: n.Pointer}, message: message, hint: hint})
	}
	_, tag, _ := splitImage(id)
	if version, ok := entry.Member("version").Str(); ok && sourceOf(id) == registryFeature && exactPart.MatchString(tag) && version != tag &&
		!strings.HasPrefix(version, tag+".") {
		add(entry.Member("version"), fmt.Sprintf("version %s is locked, %s is asked for", version, tag), "run devcontainer upgrade")
	}
	resolved, _ := entry.Member("resolved").Str()
	integrity, _ := entry.Member("integrity").Str()
	if _, _, digest := splitImage(resolved); digest != "" && integrity != "" && digest != integrity {
		add(entry.Member("integrity"), "integrity is not the digest that resolved names", "run devcontainer upgrade, and find out who changed it")
	}
	return out
}

var exactPart = regexp.MustCompile(`^\d+(\.\d+){0,2}$`)

func dependedOn(entries *jsonc.Node, id string) bool {
	return slices.ContainsFunc(entries.Members, func(m jsonc.Member) bool {
		return slices.ContainsFunc(rights.Texts(m.Value.Member("dependsOn")), func(n *jsonc.Node) bool { return n.Text == id })
	})
}

// piped reports downloads that are run unseen.
func pipedToShell(v *view) (out []finding) {
	for _, name := range lifecycle {
		v.root.Member(name).Walk(func(n *jsonc.Node) {
			if n.Kind != jsonc.String || !strings.Contains(n.Text, "curl") && !strings.Contains(n.Text, "wget") {
				return
			}
			commands := v.commandsOf(n, n.Text)
			if slices.ContainsFunc(commands, func(cmd *shell.Command) bool { _, ok := ranDownload(cmd); return ok }) {
				out = append(out, v.atValue(n, name+" runs what it downloads unseen",
					"install a pinned version in the Dockerfile, or download, check the sum, then run"))
			}
		})
	}
	return out
}

// firewallOverwritten reports the Feature that replaces init-firewall.sh.
func firewallOverwritten(v *view) (out []finding) {
	features := v.root.Member("features")
	if features == nil {
		return
	}
	for _, m := range features.Members {
		if name, _, _ := splitImage(m.Name); strings.HasSuffix(name, "anthropics/devcontainer-features/claude-code") &&
			strings.Contains(string(v.Config.Src)+v.dockerfileText(), "init-firewall") {
			out = append(out, v.atName(m, "the Feature claude-code replaces /usr/local/bin/init-firewall.sh by its own",
				"install Claude Code in the Dockerfile instead"))
		}
	}
	return out
}
