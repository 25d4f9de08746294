package obeyed

import (
	"bytes"
	"encoding/json"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/org/claude-sandbox/internal/lazyregexp"
)

// lockFiles name the packages of an install and where they come from. packageSource is an
// address in one, with its authority, and plainAuthority one that all programs read alike.
// registries are the domains of the public ones.
var (
	lockFiles = lazyregexp.New(`^(package-lock\.json|npm-shrinkwrap\.json|yarn\.lock|pnpm-lock\.yaml|bun\.lock|deno\.lock|poetry\.lock|` +
		`uv\.lock|pdm\.lock|pipfile\.lock|gemfile\.lock|cargo\.lock|requirements.*\.txt)$`)
	packageSource  = lazyregexp.New(`(?i)[a-z][a-z0-9+.-]*://([^/\s"'#<>]*)`)
	plainAuthority = lazyregexp.New(`^(?:[\w.~%:-]+@)?([a-z0-9.-]+(?::[0-9]+)?|\[[0-9a-f:.]+\](?::[0-9]+)?)$`)
	registries     = lazyregexp.New(`(^|\.)(npmjs\.org|yarnpkg\.com|jsr\.io|pypi\.org|pythonhosted\.org|rubygems\.org|crates\.io)$`)
	// cratesIndex is how every Cargo.lock names crates.io.
	cratesIndex = []byte(`source = "registry+https://github.com/rust-lang/crates.io-index"`)
	// noSources are the values in a lock file that no program fetches.
	noSources = map[string]bool{"funding": true, "deprecated": true, "license": true}
)

// maxPackageHosts bounds PackageHosts.
const maxPackageHosts = 100

// PackageHosts are the hosts from which a lock file takes packages, without the public
// registries, each once and sorted, at most 100; nil for another file. An address that
// programs could read in two ways stands for itself.
func PackageHosts(file string, content []byte) []string {
	if !lockFiles.MatchString(Folded(path.Base(file))) {
		return nil
	}
	hosts := map[string]bool{}
	var document any
	if json.Unmarshal(content, &document) == nil {
		addHosts(hosts, document)
	} else {
		for line := range bytes.Lines(content) {
			if line = bytes.TrimSpace(line); !isRemark(line) {
				addHosts(hosts, string(line))
			}
		}
	}
	sorted := slices.Sorted(maps.Keys(hosts))
	return sorted[:min(len(sorted), maxPackageHosts)]
}

// isRemark reports whether no program fetches an address of the line: a comment, the index
// that stands for crates.io, or pnpm's words about a package that is deprecated.
func isRemark(line []byte) bool {
	return bytes.HasPrefix(line, []byte("#")) || bytes.Equal(line, cratesIndex) ||
		bytes.HasPrefix(line, []byte("deprecated:")) && !bytes.Contains(line, []byte("tarball"))
}

// addHosts adds the hosts of all addresses in a JSON value, or in one line of another file.
func addHosts(hosts map[string]bool, value any) {
	switch v := value.(type) {
	case map[string]any:
		for key, member := range v {
			addHosts(hosts, key)
			if !noSources[key] {
				addHosts(hosts, member)
			}
		}
	case []any:
		for _, element := range v {
			addHosts(hosts, element)
		}
	case string:
		for _, found := range packageSource.FindAllStringSubmatch(v, -1) {
			host := strings.ToLower(found[1])
			if plain := plainAuthority.FindStringSubmatch(host); plain != nil {
				if host = plain[1]; registries.MatchString(host) {
					continue
				}
			}
			if host != "" {
				hosts[host] = true
			}
		}
	}
}
