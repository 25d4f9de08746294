package obeyed

import (
	"bytes"
	"path"
	"slices"
	"strings"

	"github.com/org/claude-sandbox/internal/lazyregexp"
)

// lockFiles name the packages of an install and where they come from. packageSource is a
// place in one, with its host; registries are the domains of the public ones.
var (
	lockFiles = lazyregexp.New(`^(package-lock\.json|npm-shrinkwrap\.json|yarn\.lock|pnpm-lock\.yaml|bun\.lock|deno\.lock|poetry\.lock|` +
		`uv\.lock|pdm\.lock|pipfile\.lock|gemfile\.lock|cargo\.lock|requirements.*\.txt)$`)
	packageSource = lazyregexp.New(`(?i)(?:\bresolved"?:?|\btarball:|\bremote:|\b(?:registry|url|source) =|"url":|` +
		`--(?:extra-)?index-url|--find-links|\s@)[\s={"']*(?:[a-z]+\+)?(?:https?|git|ssh)://([^/\s"'#]+)`)
	registries = lazyregexp.New(`(^|\.)(npmjs\.org|yarnpkg\.com|jsr\.io|pypi\.org|pythonhosted\.org|rubygems\.org|crates\.io)$`)
	// cratesIndex is how every Cargo.lock names crates.io.
	cratesIndex = []byte(`source = "registry+https://github.com/rust-lang/crates.io-index"`)
)

// maxPackageHosts bounds PackageHosts.
const maxPackageHosts = 100

// IsLockFile reports whether an install takes the packages that the file names, from where
// it says.
func IsLockFile(file string) bool { return lockFiles.MatchString(Folded(path.Base(file))) }

// PackageHost is the host from which a line of a lock file takes a package; "" = it names
// none, or a public registry.
func PackageHost(line []byte) string {
	if !bytes.Contains(line, []byte("://")) || bytes.Equal(bytes.TrimSpace(line), cratesIndex) {
		return ""
	}
	found := packageSource.FindSubmatch(line)
	if found == nil {
		return ""
	}
	host := strings.ToLower(string(found[1]))
	host = host[strings.LastIndexByte(host, '@')+1:] // without a user and a password
	if !registries.MatchString(host) {
		return host
	}
	return ""
}

// PackageHosts are the hosts of all lines of a lock file, each once and sorted, at most 100;
// nil for another file.
func PackageHosts(file string, content []byte) (hosts []string) {
	if !IsLockFile(file) {
		return nil
	}
	for line := range bytes.Lines(content) {
		if host := PackageHost(line); host != "" && len(hosts) < maxPackageHosts && !slices.Contains(hosts, host) {
			hosts = append(hosts, host)
		}
	}
	slices.Sort(hosts)
	return hosts
}
