package rights

import (
	"net/url"
	"path"
	"strings"

	"github.com/org/claude-sandbox/internal/jsonc"
)

// known is what published Features bring by their metadata, by the last part
// of their id: those that open the host, and our firewall.
var known = map[string][]Right{
	"docker-in-docker":           {{Kind: Privileged, Key: "privileged"}},
	"docker-in-docker-on-podman": {{Kind: Privileged, Key: "privileged"}},
	"docker-outside-of-docker":   engineMount,
	"docker-from-docker":         engineMount,
	"firewall": {{Kind: Capability, Key: "capAdd", Value: "NET_ADMIN"},
		{Kind: SecurityOpt, Key: "securityOpt", Value: "no-new-privileges"}},
}

var engineMount = []Right{{Kind: Mounted, Key: "mounts",
	Mount: Mount{Type: "bind", Source: "/var/run/docker.sock", Target: "/var/run/docker-host.sock"}}}

// IsLocal reports whether a Feature's id names a folder of the repository.
func IsLocal(id string) bool { return strings.HasPrefix(id, "./") || strings.HasPrefix(id, "../") }

// FeatureID is the last part of a Feature's id, in lower case: without version
// or digest, and of a tarball's name what is between the usual words.
func FeatureID(id string) string {
	base := path.Base(id)
	if strings.Contains(id, "://") {
		if u, err := url.Parse(id); err == nil {
			base = path.Base(u.Path)
		}
		return strings.ToLower(strings.TrimSuffix(strings.TrimPrefix(base, "devcontainer-feature-"), ".tgz"))
	}
	base, _, _ = strings.Cut(base, "@")
	base, _, _ = strings.Cut(base, ":")
	return strings.ToLower(base)
}

// features reads those of the configuration, and those that they depend on: the
// metadata of local ones, and what is known of the published ones.
func (l *lister) features() {
	for _, m := range l.Config.Root.Member("features").Fields() {
		l.feature(m.Name, "", m, map[string]bool{})
	}
}

// feature reads one that the configuration's from brings, because the Feature dependent needs it.
func (l *lister) feature(id, dependent string, from jsonc.Member, seen map[string]bool) {
	if seen[id] {
		return
	}
	seen[id] = true
	var doc *jsonc.Document
	if IsLocal(id) && l.Metadata != nil {
		doc = l.Metadata(id)
	}
	installed := Right{Kind: Installed, Name: id, Value: dependent, Notation: Feature, Key: "features", From: from,
		Place: Place{l.Config, from.NameStart, from.NameEnd, from.Value.Pointer}}
	if doc != nil {
		installed.Node = doc.Root
	}
	l.add(installed)
	if !IsLocal(id) {
		for _, r := range known[FeatureID(id)] {
			r.Notation, r.From, r.Place = Feature, from, installed.Place
			l.add(r)
		}
	}
	if doc == nil {
		return
	}
	l.metadata(doc, doc.Root, Right{Notation: Feature, From: from})
	for _, m := range doc.Root.Member("dependsOn").Fields() {
		if l.Budget.Spend(1) {
			l.feature(m.Name, id, from, seen)
		}
	}
}
