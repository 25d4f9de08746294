package obeyed

import (
	"slices"
	"testing"
)

func TestPackageHosts(t *testing.T) {
	for _, tt := range []struct {
		file, content string
		want          []string
	}{
		{"web/package-lock.json", "\"resolved\": \"https://npm.corp.example/a.tgz\",\n\"resolved\": \"https://packages.npmjs.org/b.tgz\"\n",
			[]string{"npm.corp.example"}},
		{"PACKAGE-LOCK.json", "\"resolved\": \"https://ann:s3cret@npm.corp.example:8443/a.tgz\"", []string{"npm.corp.example:8443"}},
		{"Cargo.lock", "source = \"registry+https://github.com/rust-lang/crates.io-index\"\n", nil},
		{"Cargo.lock", "source = \"registry+https://github.com/rust-lang/crates.io-index-evil\"\nsource = \"git+https://github.com/a/b\"\n",
			[]string{"github.com"}},
		{"requirements-dev.txt",
			"--extra-index-url https://b.example/simple\n--extra-index-url https://a.example/simple\na @ https://b.example/a.whl\n",
			[]string{"a.example", "b.example"}},
		{"Gemfile.lock", "  remote: https://rubygems.org@evil.example/\n", []string{"evil.example"}},
		{"package-lock.json", `{"a": {"resolved": "https://a.example/a.tgz", "funding": [{"url": "https://b.example"}]}}`, []string{"a.example"}},
		{"deno.lock", `{"redirects": {"https://a.example/x": "https://b.example/x"}}`, []string{"a.example", "b.example"}},
		{"yarn.lock", `resolved "https://a.example?@packages.npmjs.org/x"`, []string{"a.example?@packages.npmjs.org"}},
		{"README.md", "url = https://a.example/", nil},
	} {
		if got := PackageHosts(tt.file, []byte(tt.content)); !slices.Equal(got, tt.want) {
			t.Errorf("%s: %q: %q, want %q", tt.file, tt.content, got, tt.want)
		}
	}
}
