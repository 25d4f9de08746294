package dockerfile

import (
	"bytes"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/moby/buildkit/frontend/dockerfile/parser"
)

// What the parser makes of an abridged file is what it makes of the whole one.
func sameNodes(t *testing.T, src string) (shorter int) {
	t.Helper()
	got, gotErr := nodes([]byte(src))
	want, wantErr := parser.Parse(bytes.NewReader([]byte(src)))
	switch {
	case (gotErr == nil) != (wantErr == nil) || gotErr != nil && gotErr.Error() != wantErr.Error():
		t.Errorf("%q: %v, want %v", src, gotErr, wantErr)
	case wantErr == nil && !reflect.DeepEqual(got, want):
		t.Errorf("%q:\n%s\n%v\nwant\n%s\n%v", src, got.AST.Dump(), got.Warnings, want.AST.Dump(), want.Warnings)
	}
	return len(src) - len(abridge([]byte(src)).src)
}

func TestNodesOfAbridgedFiles(t *testing.T) {
	for name, c := range map[string]struct {
		src      string
		abridged bool
	}{
		"one line":   {"FROM a\nRUN make all && make install\nUSER x\n", true},
		"at the end": {"FROM a\nRUN make all && make install", true},
		"continued": {"FROM a\n# check=skip=X\n run\tmake all && \\\n  make install; \\ \t\n" +
			"# and\n   # more\n\\\n  true\n\nUSER x\n", true},
		"Windows":          {"FROM a\r\nRUN make all && \\\r\n  make install\r\nUSER x\r\n", true},
		"blank line":       {"FROM a\nRUN make all && \\\n\n  make install\nUSER x\n", false},
		"no end":           {"FROM a\nRUN make all && \\\n  make install \\\n", false},
		"comment at end":   {"FROM a\nRUN make all && \\\n  make install \\\n# and", false},
		"empty":            {"FROM a\nRUN\nRUN \nRUN x\n", false},
		"flag":             {"FROM a\nRUN --mount=type=cache,target=/c make all && make install\n", false},
		"array":            {"FROM a\nRUN [\"make\", \"all\"]\nRUN [ make all\n", false},
		"two escapes":      {"FROM a\nRUN make all \\\\\nUSER x\nRUN \\\\\\\nUSER y\n", true},
		"here-document":    {"FROM a\nRUN <<E\nRUN make all\nE\nRUN make all\n", false},
		"above one":        {"FROM a\nRUN make all && make install\nCOPY <<E /x\nRUN make all\nE\nRUN make all\n", true},
		"name continues":   {"FROM a\nRU\\\nN make all && make install\nRUN\\\n make all && make install\n", true},
		"other escape":     {"# Escape=`\nFROM a\nRUN make all && `\n make install\nRUN x \\\nUSER x\n", false},
		"second directive": {"# syntax=x\n#escape = `\nFROM a\nRUN make all && `\n make install\n", false},
		"no directive":     {"# about\n# escape=`\nFROM a\nRUN make all && \\\n make install\n", false},
		"spaces in front":  {"  # escape=`\nFROM a\nRUN make all && `\n make install\n", false},
		"comment below":    {"FROM a\n# escape=`\nRUN make all && \\\n make install\n", true},
		"mark":             {"\ufeffFROM a\nRUN make all && make install\n", false},
		"other spaces":     {"FROM a\nRUN\vmake all and more\u00a0\nRUN \u00a0make\nRUN\u0085make all\n\u2028RUN make all\n", true},
		"backslash first":  {"\\\nFROM a\n\\\n  RUN make all && make install\n", true},
		"ONBUILD":          {"FROM a\nONBUILD RUN make all && make install\n", false},
		"error below":      {"FROM a\nRUN make all && make install\nENV\n", true},
		"nothing":          {"", false},
		"long line":        {"FROM a\nRUN make all && make install\nRUN " + string(bytes.Repeat([]byte("x"), 70_000)) + "\n", true},
	} {
		if shorter := sameNodes(t, c.src); shorter > 0 != c.abridged {
			t.Errorf("%s: abridged by %d bytes", name, shorter)
		}
	}
}

// Neither does it differ for the files of a folder outside the repository, when one is named, or for this repository's.
func TestNodesOfFiles(t *testing.T) {
	files := 0
	for _, dir := range []string{filepath.Join("..", "..", "templates"), filepath.Join("..", "..", "images"), os.Getenv("SBX_DOCKERFILES")} {
		if dir == "" {
			continue
		}
		err := filepath.WalkDir(dir, func(name string, d os.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() {
				return err
			}
			src, err := os.ReadFile(name)
			files++
			sameNodes(t, string(src))
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d files", files)
}

func FuzzNodes(f *testing.F) {
	for _, s := range []string{
		"FROM a AS b\nRUN <<E\nx\nE\nFROM b\nCOPY --from=0 <<X <<Y /d\n1\nX\n2\nY\n", "# escape=`\nFROM a\nRUN a `\n #b\n\n | c\n",
		"FROM a\nRUN make \\\n\n# c\n  all\\\\\nrun x \\ \t\r\n\\\n y\n", "\\\nRUN \x85x\\\n",
		"\ufeffARG X=1\nFROM ${X:-a}\r\nRUN\vx <\\\n<E\nE\n",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, src string) { sameNodes(t, src) })
}
