package devcontainer

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/org/claude-sandbox/devcontainer/shell"
	"github.com/org/claude-sandbox/internal/jsonc"
)

// image looks at how the image is named.
func (c *pass) image() {
	c.composeImages()
	n := c.root.Member("image")
	s, ok := n.Str()
	if !ok || s == "" || strings.Contains(s, "${") || c.builds() {
		return
	}
	name, tag, digest := splitImage(s)
	switch {
	case digest != "":
	case tag == "" || tag == "latest":
		c.at(n, "SBX602", fmt.Sprintf("the image %s is whatever was published last", name), "name a version, or better a digest: "+name+":VERSION@sha256:…")
	default:
		c.at(n, "SBX601", fmt.Sprintf("the image %s is not pinned to a digest", s), "add @sha256:…, as the registry reports it")
	}
}

// builds reports whether a Dockerfile or Compose wins over the image.
func (c *view) builds() bool {
	return c.root.Member("dockerFile") != nil || c.root.Member("build").Member("dockerfile") != nil || c.root.Member("dockerComposeFile") != nil
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

// features looks at how each Feature is named.
func (c *pass) features() {
	features := c.root.Member("features")
	if features == nil || features.Kind != jsonc.Object {
		return
	}
	for _, m := range features.Members {
		if strings.Contains(m.Name, "${") {
			continue
		}
		switch sourceOf(m.Name) {
		case legacyFeature:
			c.name(m, "SBX604", fmt.Sprintf("%q names a Feature in the old way", m.Name), "write it as REGISTRY/NAMESPACE/ID:VERSION, such as ghcr.io/devcontainers/features/go:1.3.2")
		case tarballFeature:
			if strings.HasPrefix(m.Name, "http://") {
				c.name(m, "SBX604", "the Feature comes over plain http", "use https, or a registry")
			}
		case registryFeature:
			if _, tag, digest := splitImage(m.Name); digest == "" && !exactVersion.MatchString(tag) && !c.locked(m.Name) {
				c.name(m, "SBX603", fmt.Sprintf("the Feature %s is the newest of its kind at each build", m.Name), "name a whole version or a digest, or keep a devcontainer-lock.json")
			}
		}
	}
}

// lockEntries returns the lock's Features, or nil.
func (c *pass) lockEntries() *jsonc.Node {
	if c.Lock == nil || c.Lock.Root == nil {
		return nil
	}
	return c.Lock.Root.Member("features")
}

func (c *pass) locked(id string) bool { return c.lockEntries().Member(id) != nil }

// lock compares the lock with what the configuration asks for. The reference
// CLI locks what comes from registries and tarballs.
func (c *pass) lock() {
	features := c.root.Member("features")
	if c.Tree == nil || features == nil || features.Kind != jsonc.Object {
		return
	}
	var wanted []jsonc.Member
	for _, m := range features.Members {
		if s := sourceOf(m.Name); s == registryFeature || s == tarballFeature {
			wanted = append(wanted, m)
		}
	}
	if len(wanted) == 0 || strings.Contains(string(c.Config.Src), "${templateOption:") {
		return
	}
	if c.Lock == nil {
		if m := wanted[0]; !strings.Contains(m.Name, "@sha256:") {
			c.name(m, "SBX610", "no devcontainer-lock.json holds the Features' digests", "devcontainer upgrade writes one; commit it")
		}
		return
	}
	entries := c.lockEntries()
	if entries == nil {
		return // its own schema says so
	}
	for _, m := range wanted {
		entry := entries.Member(m.Name)
		if entry == nil {
			c.name(m, "SBX605", fmt.Sprintf("devcontainer-lock.json does not hold %s", m.Name), "run devcontainer upgrade")
			continue
		}
		c.lockEntry(m.Name, entry)
	}
	for _, m := range entries.Members {
		if features.Member(m.Name) == nil && !dependedOn(entries, m.Name) {
			c.in(c.Lock, m.NameStart, m.NameEnd, m.Value.Pointer, "SBX605", fmt.Sprintf("the lock holds %s, which nothing asks for", m.Name), "run devcontainer upgrade")
		}
	}
}

func (c *pass) lockEntry(id string, entry *jsonc.Node) {
	_, tag, _ := splitImage(id)
	if version, ok := entry.Member("version").Str(); ok && sourceOf(id) == registryFeature && exactPart.MatchString(tag) && version != tag && !strings.HasPrefix(version, tag+".") {
		c.in(c.Lock, entry.Member("version").Start, entry.Member("version").End, entry.Pointer+"/version", "SBX605",
			fmt.Sprintf("version %s is locked, %s is asked for", version, tag), "run devcontainer upgrade")
	}
	resolved, _ := entry.Member("resolved").Str()
	integrity, _ := entry.Member("integrity").Str()
	if _, _, digest := splitImage(resolved); digest != "" && integrity != "" && digest != integrity {
		n := entry.Member("integrity")
		c.in(c.Lock, n.Start, n.End, n.Pointer, "SBX605", "integrity is not the digest that resolved names", "run devcontainer upgrade, and find out who changed it")
	}
}

var exactPart = regexp.MustCompile(`^\d+(\.\d+){0,2}$`)

func dependedOn(entries *jsonc.Node, id string) bool {
	return slices.ContainsFunc(entries.Members, func(m jsonc.Member) bool {
		return slices.ContainsFunc(texts(m.Value.Member("dependsOn")), func(n *jsonc.Node) bool { return n.Text == id })
	})
}

// piped reports downloads that are run unseen.
func (c *pass) piped() {
	for _, name := range lifecycle {
		c.root.Member(name).Walk(func(n *jsonc.Node) {
			if n.Kind != jsonc.String || !strings.Contains(n.Text, "curl") && !strings.Contains(n.Text, "wget") {
				return
			}
			commands := c.commandsOf(n, n.Text)
			if slices.ContainsFunc(commands, func(cmd *shell.Command) bool { _, ok := ranDownload(cmd); return ok }) {
				c.at(n, "SBX608", name+" runs what it downloads unseen", "install a pinned version in the Dockerfile, or download, check the sum, then run")
			}
		})
	}
}

// firewallOverwritten reports the Feature that replaces init-firewall.sh.
func (c *pass) firewallOverwritten() {
	features := c.root.Member("features")
	if features == nil {
		return
	}
	for _, m := range features.Members {
		if name, _, _ := splitImage(m.Name); strings.HasSuffix(name, "anthropics/devcontainer-features/claude-code") && strings.Contains(string(c.Config.Src)+c.dockerfileText(), "init-firewall") {
			c.name(m, "SBX609", "the Feature claude-code replaces /usr/local/bin/init-firewall.sh by its own", "install Claude Code in the Dockerfile instead")
		}
	}
}
