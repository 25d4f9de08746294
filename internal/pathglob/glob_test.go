package pathglob

import "testing"

func TestGlobs(t *testing.T) {
	for _, c := range []struct {
		glob, path string
		want       bool
	}{
		{"src/**", "src/a/b.go", true}, {"src/**", "src/a", true}, {"src/**", "srcs/a", false}, {"**", "a/b", true}, {"**/*.go", "a.go", true},
		{"**/*.go", "a/b.go", true}, {"*.go", "a/b.go", false}, {"src/*.go", "src/b.go", true}, {"a/**/z", "a/z", true},
		{"a/**/z", "a/b/c/z", true},
		{"src/../**", "etc/x", false}, {".github/**", ".github/workflows/ci.yml", true}, {"package.json", "sub/package.json", false},
	} {
		if Match(c.glob, c.path) != c.want || Check(c.glob) != nil {
			t.Errorf("%s %s", c.glob, c.path)
		}
	}
	for _, bad := range []string{"", "[", "**/a/**", "a**b**"} {
		if Check(bad) == nil {
			t.Error(bad)
		}
	}
}
