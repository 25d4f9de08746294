package dockerfile

import (
	"bytes"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/moby/buildkit/frontend/dockerfile/parser"
)

// What the parser makes of an abridged file is what it makes of the whole one.
func sameNodes(t *testing.T, src string) (plain int) {
	t.Helper()
	got, gotErr := nodes([]byte(src))
	want, wantErr := parser.Parse(bytes.NewReader([]byte(src)))
	if wantErr == nil && !strings.Contains(src, "check=") {
		for _, node := range slices.Concat(got.AST.Children, want.AST.Children) {
			node.PrevComment = nil
		}
	}
	switch {
	case (gotErr == nil) != (wantErr == nil) || gotErr != nil && gotErr.Error() != wantErr.Error():
		t.Errorf("%q: %v, want %v", src, gotErr, wantErr)
	case wantErr == nil && !reflect.DeepEqual(got, want):
		t.Errorf("%q:\n%s\n%v\nwant\n%s\n%v", src, got.AST.Dump(), got.Warnings, want.AST.Dump(), want.Warnings)
	}
	return len(abridge([]byte(src)).plain)
}

func TestNodesOfAbridgedFiles(t *testing.T) {
	for name, c := range map[string]struct {
		src   string
		plain int
	}{
		"one line":   {"FROM a\nRUN make all && make install\nUSER x\n", 3},
		"at the end": {"FROM a\nRUN make all && make install", 2},
		"continued": {"FROM a\n# about\n run\tmake all && \\\n  make install; \\ \t\n" +
			"# and\n   # more\n\\\n  true\n\nUSER x\n", 3},
		"Windows":          {"FROM a\r\nRUN make all && \\\r\n  make install\r\nUSER x\r\n", 3},
		"blank line":       {"FROM a\nRUN make all && \\\n\n  make install\nUSER x\n", 2},
		"no end":           {"FROM a\nRUN make all && \\\n  make install \\\n", 1},
		"comment at end":   {"FROM a\nRUN make all && \\\n  make install \\\n# and", 1},
		"empty":            {"FROM a\nRUN\nRUN \nRUN x\n", 2},
		"flag":             {"FROM a\nRUN --mount=type=cache,target=/c make all && make install\n", 2},
		"array":            {"FROM a\nRUN [\"make\", \"all\"]\nRUN [ make all\n", 2},
		"two escapes":      {"FROM a\nRUN make all \\\\\nUSER x\nRUN \\\\\\\nUSER y\n", 5},
		"here-document":    {"FROM a\nRUN <<E\nRUN make all\nE\nRUN make all\n", 1},
		"above one":        {"FROM a\nRUN make all && make install\nCOPY <<E /x\nRUN make all\nE\nRUN make all\n", 2},
		"name continues":   {"FROM a\nRU\\\nN make all && make install\nRUN\\\n make all && make install\n", 3},
		"other escape":     {"# Escape=`\nFROM a\nRUN make all && `\n make install\nRUN x \\\nUSER x\n", 0},
		"second directive": {"# syntax=x\n#escape = `\nFROM a\nRUN make all && `\n make install\n", 0},
		"no directive":     {"# about\n# escape=`\nFROM a\nRUN make all && \\\n make install\n", 0},
		"spaces in front":  {"  # escape=`\nFROM a\nRUN make all && `\n make install\n", 0},
		"comment below":    {"FROM a\n# escape=`\nRUN make all && \\\n make install\n", 2},
		"mark":             {"\ufeffFROM a\nRUN make all && make install\n", 0},
		"other spaces":     {"FROM a\nRUN\vmake all and more\u00a0\nRUN \u00a0make\nRUN\u0085make all\n\u2028RUN make all\n", 3},
		"backslash first":  {"\\\nFROM a\n\\\n  RUN make all && make install\n", 2},
		"ONBUILD":          {"FROM a\nONBUILD RUN make all && make install\n", 1},
		"error below":      {"FROM a\nRUN make all && make install\nENV\n", 2},
		"words":            {"FROM a\nCOPY  a\tb \\\n  /c \nADD \"a b\" '/c'\nVOLUME /a /b\nexpose 80 443/tcp\nENTRYPOINT a b\n", 6},
		"flags and arrays": {"FROM a\nCOPY --from=b a /c\nADD [\"a\", \"b\"]\nVOLUME [\"/a\"]\nCMD [\"a\"]\nEXPOSE\n", 5},
		"check":            {"FROM a\n# check=skip=X\nUSER x\n", 0},
		"comments":         {"# syntax=x\n# a\n\n# b\nFROM a\n# c\nUSER x\n# d\nENV A=b\n\n# e\n", 3},
		"same directive":   {"# syntax=x\n# syntax=y\nFROM a\nUSER x\n", 2},
		"no FROM":          {"# about\nUSER x\n", 1},
		"pairs": {"FROM a\nENV A=b C=\"d\"\\\n E=\"f\"g h=\nlabel a=b\nARG A=$B" +
			"\nARG A\nENV A b\nENV A=\"b c\"\nENV A='b'\nENV A=b\\ c\nENV A=b c\n", 9},
		"nothing":      {"", 0},
		"quoted flags": {"FROM --platform=\"a\" b\nCOPY --chown='a' b /c\nCOPY --from=a\\b c /\nCOPY --a\t--b\u00a0c /\nRUN -- x\nRUN --\n", 0},
		"arrays":       {"FROM a\nSHELL [\"a\", \"b\"]\nCMD []\nCOPY --link [\"a\", \"b\"]\nUSER [\"a\"]\nRUN [\"a\", 1]\n", 4},
		"long comment": {"FROM a\n#" + string(bytes.Repeat([]byte("x"), 70_000)) + "\nUSER x\n", 2},
		"long line":    {"FROM a\nRUN make all && make install\nRUN " + string(bytes.Repeat([]byte("x"), 70_000)) + "\n", 2},
	} {
		if plain := sameNodes(t, c.src); plain != c.plain {
			t.Errorf("%s: %d plain instructions", name, plain)
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
	f.Add("# a\nfrom a\n# b\ncopy a\\\n b  /c\nUSER \\\n# c\n d\n\nadd --link a b\nvolume [\"/a\"]\ncmd [a\nENV A=b\n")
	f.Add("ARG 0\x80\nENV A=\x80\nCMD [\"a\", null]\n")
	f.Add("ENV A b\\ 'c'\nLABEL a='b \\' c=\"d \\\" e\" f=\\\" g\nARG \"a b\" c\\\\\nENV A=\"b\nENV 'a b=c\n")
	f.Fuzz(func(t *testing.T, src string) { sameNodes(t, src) })
}
