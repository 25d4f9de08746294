package detect

import (
	"bytes"

	"github.com/org/claude-sandbox/internal/lazyregexp"
)

// source is a kind of file that names where packages come from.
type source struct {
	name    string             // file name, below any of the tree's folders
	reason  string             //
	address *lazyregexp.Regexp // its first group is the address
}

// sources are written line by line; a token stands elsewhere in each of them
// than the address, and an address with a password loses it in offer.
var sources = []source{
	{".npmrc", "registry of npm", lazyregexp.New(`^\s*(?:@[\w.~-]+:)?registry\s*=\s*["']?(https?://[^\s"']+)`)},
	{".yarnrc.yml", "registry of yarn", lazyregexp.New(`^\s*npmRegistryServer\s*:\s*["']?(https?://[^\s"']+)`)},
	{".yarnrc", "registry of yarn", lazyregexp.New(`^\s*registry\s+["']?(https?://[^\s"']+)`)},
	{"package-lock.json", "packages in the lock file", lazyregexp.New(`"resolved"\s*:\s*"((?:git\+)?(?:https?|ssh)://[^"]+)"`)},
	{"yarn.lock", "packages in the lock file", lazyregexp.New(`^\s*resolved\s+"(https?://[^"]+)"`)},
	{"pnpm-lock.yaml", "packages in the lock file", lazyregexp.New(`\btarball\s*:\s*["']?(https?://[^\s"',}]+)`)},
	{"pip.conf", "index of pip", lazyregexp.New(`^\s*(?:extra-)?index-url\s*=\s*(https?://\S+)`)},
	{"requirements.txt", "index of pip",
		lazyregexp.New(`^\s*(?:--extra-index-url|--index-url|-i|--find-links|-f)[\s=]+(https?://\S+)`)},
	{"pyproject.toml", "index of Python packages", lazyregexp.New(`^\s*(?:index-)?url\s*=\s*["'](https?://[^"']+)`)},
	{"Pipfile", "index of Python packages", lazyregexp.New(`^\s*url\s*=\s*["'](https?://[^"']+)`)},
	{"uv.lock", "packages in the lock file", lazyregexp.New(`\b(?:registry|url)\s*=\s*"(https?://[^"]+)"`)},
	{"poetry.lock", "packages in the lock file", lazyregexp.New(`^\s*url\s*=\s*"(https?://[^"]+)"`)},
	{"go.env", "proxy of Go modules", lazyregexp.New(`^\s*(?:export\s+)?GOPROXY\s*=\s*["']?(https?://[^\s"',|]+)`)},
	{".envrc", "proxy of Go modules", lazyregexp.New(`^\s*(?:export\s+)?GOPROXY\s*=\s*["']?(https?://[^\s"',|]+)`)},
	{".cargo/config.toml", "registry of Cargo", lazyregexp.New(`^\s*(?:index|registry)\s*=\s*"((?:sparse\+)?https?://[^"]+)`)},
	{"Cargo.lock", "packages in the lock file", lazyregexp.New(`^\s*source\s*=\s*"(?:registry|git)\+(https?://[^"]+)"`)},
	{"Gemfile", "source of gems", lazyregexp.New(`^\s*source\s+["'](https?://[^"']+)`)},
	{"nuget.config", "source of .NET packages", nugetSource}, {"NuGet.Config", "source of .NET packages", nugetSource},
	{"NuGet.config", "source of .NET packages", nugetSource},
	{"build.gradle", "repository of Gradle", gradleRepository}, {"build.gradle.kts", "repository of Gradle", gradleRepository},
	{"settings.gradle", "repository of Gradle", gradleRepository}, {"settings.gradle.kts", "repository of Gradle", gradleRepository},
}

var (
	nugetSource = lazyregexp.New(`\bvalue\s*=\s*"(https?://[^"]+)"`)
	// gradleRepository is the address of a repository, and none of a package's own page, which
	// is set as "url.set(…)".
	gradleRepository = lazyregexp.New(`(?:\burl\s*=?\s*|\bmaven\s*\(\s*)(?:uri\s*\(\s*)?["'](https?://[^"']+)`)
)

// registries proposes the hosts that packages come from.
func (l *look) registries() {
	for _, s := range sources {
		l.tree.each(s.name, func(file string) {
			l.lines(file, func(line int, text []byte) {
				for _, m := range s.address.FindAllSubmatch(text, maxProposals) {
					l.offer(string(m[1]), s.reason, file, line)
				}
			})
		})
	}
}

// lines calls visit for each line of a file, which is read up to its bound.
func (l *look) lines(file string, visit func(line int, text []byte)) {
	line := 0
	for text := range bytes.Lines(l.tree.read(file)) {
		line++
		visit(line, text)
	}
}
