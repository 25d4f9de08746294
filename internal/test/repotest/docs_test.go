package repotest

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// pages returns the repository's documentation: paths from the root to texts.
func pages(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/*/*.md"} {
		found, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range found {
			text, err := os.ReadFile(p)
			if err != nil {
				t.Fatal(err)
			}
			name, err := filepath.Rel(root, p)
			if err != nil {
				t.Fatal(err)
			}
			out[name] = string(text)
		}
	}
	if len(out) < 20 {
		t.Fatalf("only %d pages: the patterns are wrong", len(out))
	}
	return out
}

var (
	code    = regexp.MustCompile("(?s)```.*?```")
	heading = regexp.MustCompile(`(?m)^#+ (.*)$`)
	mdLink  = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	noSlug  = regexp.MustCompile(`[^\p{L}\p{N}_ -]`)
	goPath  = regexp.MustCompile("`([a-z][a-z0-9_/]*/[a-z0-9_]+\\.go)`")
	testRef = regexp.MustCompile(`\b(?:Test|Fuzz|Benchmark)[A-Z]\w*`)
)

// anchors returns the names that GitHub gives to a page's headings.
func anchors(text string) map[string]bool {
	out := map[string]bool{}
	for _, m := range heading.FindAllStringSubmatch(code.ReplaceAllString(text, ""), -1) {
		title := mdLink.ReplaceAllString(m[1], "]")
		out[strings.ReplaceAll(noSlug.ReplaceAllString(strings.ToLower(title), ""), " ", "-")] = true
	}
	return out
}

// Links between pages, and paths of source files in them, lead to files and
// headings that exist.
func TestDocumentationLinksResolve(t *testing.T) {
	all := pages(t)
	links := 0
	for name, text := range all {
		for _, m := range mdLink.FindAllStringSubmatch(code.ReplaceAllString(text, ""), -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			links++
			file, anchor, _ := strings.Cut(m[1], "#")
			target := name
			if file != "" {
				target = filepath.Join(filepath.Dir(name), file)
			}
			if _, err := os.Stat(filepath.Join(root, target)); err != nil {
				t.Errorf("%s: no file %s", name, m[1])
			} else if page, ok := all[target]; ok && anchor != "" && !anchors(page)[anchor] {
				t.Errorf("%s: no heading %s", name, m[1])
			}
		}
	}
	for name, text := range all {
		for _, m := range goPath.FindAllStringSubmatch(text, -1) {
			if _, err := os.Stat(filepath.Join(root, m[1])); err != nil {
				t.Errorf("%s: no file %s", name, m[1])
			}
		}
	}
	if links < 150 {
		t.Errorf("only %d links: the pattern is wrong", links)
	}
}

// A page that names a test as its proof names one that exists.
func TestDocumentedTestsExist(t *testing.T) {
	defined := map[string]bool{}
	function := regexp.MustCompile(`(?m)^func ((?:Test|Fuzz|Benchmark)[A-Z]\w*)\(`)
	err := filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && path != root && strings.HasPrefix(d.Name(), ".") {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(path, "_test.go") {
			return nil
		}
		text, err := os.ReadFile(path)
		for _, m := range function.FindAllStringSubmatch(string(text), -1) {
			defined[m[1]] = true
		}
		return err
	})
	if err != nil || len(defined) < 500 {
		t.Fatalf("%d tests found, %v", len(defined), err)
	}
	for name, text := range pages(t) {
		for _, test := range testRef.FindAllString(text, -1) {
			if !defined[test] {
				t.Errorf("%s names %s, and there is no such test", name, test)
			}
		}
	}
}
