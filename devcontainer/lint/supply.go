package lint

import (
	"fmt"
	"slices"
	"strings"

	"github.com/org/claude-sandbox/devcontainer/rights"
	"github.com/org/claude-sandbox/devcontainer/rule"
	"github.com/org/claude-sandbox/internal/jsonc"
	"github.com/org/claude-sandbox/internal/lazyregexp"
)

// changingImages returns the images without a digest whose names depend on no variable.
func changingImages(v *rule.View) []rights.Right {
	return slices.DeleteFunc(v.Of(rights.Image), func(r rights.Right) bool {
		_, _, digest := rights.SplitImage(r.Value)
		return r.Value == "" || digest != "" || strings.Contains(r.Value, "$")
	})
}

// The words for an image that can change, whichever file names it.
const hintDigest = "add @sha256:…, as the registry reports it"

func unpinnedMessage(image string) string {
	return fmt.Sprintf("the image %s is not pinned to a digest", image)
}

func newestMessage(image string) string {
	return fmt.Sprintf("the image %s names no version, so it changes as new ones are published", strings.TrimSuffix(image, ":latest"))
}

func hintVersion(image string) string {
	return "name a version, or better a digest: " + image + ":VERSION@sha256:…"
}

// unpinnedImages reports images that can become others under the same name.
func unpinnedImages(v *rule.View) (out []rule.Finding) {
	for _, r := range changingImages(v) {
		if _, tag, _ := rights.SplitImage(r.Value); tag != "" && tag != "latest" {
			out = append(out, pinned(r, unpinnedMessage(r.Value), hintDigest))
		}
	}
	return out
}

// floatingImages reports images that are whatever is newest.
func floatingImages(v *rule.View) (out []rule.Finding) {
	for _, r := range changingImages(v) {
		if name, tag, _ := rights.SplitImage(r.Value); tag == "" || tag == "latest" {
			out = append(out, pinned(r, newestMessage(name), hintVersion(name)))
		}
	}
	return out
}

// pinned is a finding at an image. It offers to pin one that the configuration itself names.
func pinned(r rights.Right, message, hint string) rule.Finding {
	f := rule.AtRight(r, message, hint)
	if r.Notation == rights.Property {
		f.Offer = rule.Offer{Image: r.Value}
	}
	return f
}

var exactVersion = lazyregexp.New(`^v?\d+\.\d+\.\d+`)

// namedFeatures returns the configuration's Features whose names depend on no
// variable.
func namedFeatures(v *rule.View) (out []jsonc.Member) {
	features := v.Root.Member("features")
	if features == nil || features.Kind != jsonc.Object {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(features.Members), func(m jsonc.Member) bool { return strings.Contains(m.Name, "${") })
}

// floatingFeatures reports Features that are the newest of their kind.
func floatingFeatures(v *rule.View) (out []rule.Finding) {
	for _, m := range namedFeatures(v) {
		_, tag, digest := rights.SplitImage(m.Name)
		if rights.SourceOf(m.Name) == rights.RegistryFeature && digest == "" && !exactVersion.MatchString(tag) && !locked(v, m.Name) {
			out = append(out, v.AtName(m, fmt.Sprintf("each build takes the newest version of the Feature %s", m.Name),
				"name a whole version or a digest, or keep a devcontainer-lock.json"))
		}
	}
	return out
}

// oldFeatureNames reports Features that are named in the old way, or come over
// plain http.
const left = "ghcr.io/devcontainers-contrib/"

func oldFeatureNames(v *rule.View) (out []rule.Finding) {
	for _, m := range namedFeatures(v) {
		switch source := rights.SourceOf(m.Name); {
		case source == rights.LegacyFeature && (refusedFeature(v, m) != nil || publishedFeature(v, m) != nil): // SBX325 says it
		case source == rights.LegacyFeature:
			out = append(out, v.AtName(m, fmt.Sprintf("%q names a Feature in the old way", m.Name),
				"write it as REGISTRY/NAMESPACE/ID:VERSION, such as ghcr.io/devcontainers/features/go:1.3.2"))
		case source == rights.TarballFeature && strings.HasPrefix(m.Name, "http://"):
			out = append(out, v.AtName(m, "the Feature is fetched over plain http", "use https, or a registry"))
		case strings.HasPrefix(strings.ToLower(m.Name), left): // devcontainers/cli#1044
			out = append(out, v.AtName(m, "devcontainers-contrib is a name that its owners have left; the reference CLI goes to devcontainers-extra",
				"write ghcr.io/devcontainers-extra/"+m.Name[len(left):]))
		}
	}
	return out
}

// lockEntries returns the lock's Features, or nil.
func lockEntries(c *rule.View) *jsonc.Node {
	if c.Lock == nil || c.Lock.Root == nil {
		return nil
	}
	return c.Lock.Root.Member("features")
}

func locked(c *rule.View, id string) bool { return lockEntries(c).Member(id) != nil }

// lockable returns the Features that the reference CLI locks: those of registries
// and tarballs. None where it is not known whether there is a lock, or what it would hold.
func lockable(v *rule.View) (out []jsonc.Member) {
	features := v.Root.Member("features")
	if v.Tree == nil || features == nil || features.Kind != jsonc.Object || strings.Contains(string(v.Config.Src), "${templateOption:") {
		return nil
	}
	for _, m := range features.Members {
		if s := rights.SourceOf(m.Name); s == rights.RegistryFeature || s == rights.TarballFeature {
			out = append(out, m)
		}
	}
	return out
}

// noLock notes Features whose digests nothing holds.
func noLock(v *rule.View) []rule.Finding {
	wanted := lockable(v)
	if len(wanted) == 0 || v.Lock != nil || strings.Contains(wanted[0].Name, "@sha256:") {
		return nil
	}
	return []rule.Finding{v.AtName(wanted[0], "no devcontainer-lock.json holds the Features' digests",
		"devcontainer upgrade writes one; commit it")}
}

// lockDiffers compares the lock with what the configuration asks for.
func lockDiffers(v *rule.View) (out []rule.Finding) {
	entries, wanted := lockEntries(v), lockable(v)
	if entries == nil || len(wanted) == 0 {
		return nil // without entries its own schema says so
	}
	for _, m := range wanted {
		entry := entries.Member(m.Name)
		if entry == nil {
			out = append(out, v.AtName(m, fmt.Sprintf("devcontainer-lock.json does not hold %s", m.Name), "run devcontainer upgrade"))
			continue
		}
		out = append(out, lockEntry(v, m.Name, entry)...)
	}
	for _, m := range entries.Members {
		if v.Root.Member("features").Member(m.Name) == nil && !dependedOn(entries, m.Name) {
			at := rights.Place{Doc: v.Lock, Start: m.NameStart, End: m.NameEnd, Pointer: m.Value.Pointer}
			out = append(out, rule.Finding{Place: at, Message: fmt.Sprintf("the lock holds %s, which nothing asks for", m.Name),
				Hint: "run devcontainer upgrade"})
		}
	}
	return out
}

func lockEntry(v *rule.View, id string, entry *jsonc.Node) (out []rule.Finding) {
	add := func(n *jsonc.Node, message, hint string) {
		out = append(out, rule.Finding{Place: rights.Place{Doc: v.Lock, Start: n.Start, End: n.End, Pointer: n.Pointer}, Message: message,
			Hint: hint})
	}
	_, tag, _ := rights.SplitImage(id)
	if version, ok := entry.Member("version").Str(); ok && rights.SourceOf(id) == rights.RegistryFeature && exactPart.MatchString(tag) &&
		version != tag &&
		!strings.HasPrefix(version, tag+".") {
		add(entry.Member("version"), fmt.Sprintf("version %s is locked, %s is asked for", version, tag), "run devcontainer upgrade")
	}
	resolved, _ := entry.Member("resolved").Str()
	integrity, _ := entry.Member("integrity").Str()
	name, _, digest := rights.SplitImage(resolved)
	asked, _, _ := rights.SplitImage(id)
	if strings.Contains(name, "/") && rights.SourceOf(id) == rights.RegistryFeature && !strings.EqualFold(name, asked) {
		add(entry.Member("resolved"), fmt.Sprintf("this is the Feature %s, not %s", name, asked), "run devcontainer upgrade")
	}
	if digest != "" && integrity != "" && digest != integrity {
		add(entry.Member("integrity"), "integrity is not the digest that resolved names", "run devcontainer upgrade, and find out who changed it")
	}
	return out
}

var exactPart = lazyregexp.New(`^\d+(\.\d+){0,2}$`)

func dependedOn(entries *jsonc.Node, id string) bool {
	return slices.ContainsFunc(entries.Members, func(m jsonc.Member) bool {
		return slices.ContainsFunc(rights.Texts(m.Value.Member("dependsOn")), func(n *jsonc.Node) bool { return n.Text == id })
	})
}

// piped reports downloads that are run unseen.
func pipedToShell(v *rule.View) (out []rule.Finding) {
	for _, r := range v.Of(rights.HostCommand, rights.Hook) {
		if rights.IsLocal(r.From.Name) {
			continue // found in the Feature's own file
		}
		r.Node.Walk(func(n *jsonc.Node) {
			if n.Kind != jsonc.String || !strings.Contains(n.Text, "curl") && !strings.Contains(n.Text, "wget") {
				return
			}
			commands := v.CommandsOf(n, n.Text)
			fetcher, cmd := savedThenRun(commands)
			for _, c := range commands {
				if from, ok := ranDownload(c); ok {
					fetcher, cmd = from, c
					break
				}
			}
			if fetcher == nil {
				return
			}
			r.Place = r.At(n)
			f := v.PolicyFinding(r, unseenMessage(fetcher, cmd), "install a pinned version in the Dockerfile, or download, check the sum, then run")
			f.Severity = unseenSeverity(fetcher)
			out = append(out, f)
		})
	}
	return out
}

// firewallOverwritten reports the Feature that replaces init-firewall.sh.
func firewallOverwritten(v *rule.View) (out []rule.Finding) {
	for _, m := range v.Root.Member("features").Fields() {
		if name, _, _ := rights.SplitImage(m.Name); strings.HasSuffix(name, "anthropics/devcontainer-features/claude-code") &&
			strings.Contains(string(v.Config.Src)+v.DockerfileText(), "init-firewall") {
			out = append(out, v.AtName(m, "the Feature claude-code replaces /usr/local/bin/init-firewall.sh by its own",
				"install Claude Code in the Dockerfile instead"))
		}
	}
	return out
}
