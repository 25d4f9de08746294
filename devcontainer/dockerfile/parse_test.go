package dockerfile_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/org/claude-sandbox/devcontainer/dockerfile"
)

func parse(src string) *dockerfile.File {
	return dockerfile.Parse("Dockerfile", []byte(src), dockerfile.Options{})
}

// at shows what stands at a place, to prove that positions are exact.
func at(src string, start, end int) string { return src[start:end] }

func TestStages(t *testing.T) {
	f := parse(`ARG VERSION=22
FROM node:${VERSION}-slim AS Build
ENV A=1
USER node
FROM build
RUN true
FROM ${OTHER}
FROM scratch AS last
COPY --from=build /x /x
`)
	var got []string
	for _, s := range f.Stages {
		parent := "-"
		if s.Parent != nil {
			parent = s.Parent.Name
		}
		got = append(got, fmt.Sprintf("%s|%s|%v|%s|%s|%s", s.Name, s.Image, s.Known, parent, s.User, s.Env["A"]))
	}
	want := "build|node:22-slim|true|-|node|1 / |build|true|build|node|1 / |${OTHER}|false|-|| / last|scratch|true|-|root|"
	if s := strings.Join(got, " / "); s != want {
		t.Errorf("got  %s\nwant %s", s, want)
	}
	if len(f.Problems) > 0 {
		t.Error(f.Problems)
	}
	if f.Target("BUILD") != f.Stages[0] || f.Target("") != f.Stages[3] || f.Target("1") != f.Stages[1] || f.Target("none") != nil {
		t.Error("targets")
	}
	if r := f.Reachable(f.Target("")); len(r) != 2 || r[0].Name != "build" {
		t.Errorf("reachable: %v", r)
	}
}

func TestArgumentsFromOutsideWin(t *testing.T) {
	src := "ARG V=1\nFROM a:$V\nARG V\nARG W=2\nUSER u$V$W\n"
	for _, c := range []struct {
		options     dockerfile.Options
		image, user string
	}{
		{dockerfile.Options{}, "a:1", "u12"},
		{dockerfile.Options{Args: map[string]string{"V": "7", "W": "8"}}, "a:7", "u78"},
		{dockerfile.Options{UnknownArgs: []string{"V"}}, "a:$V", "u${V}2"},
	} {
		s := dockerfile.Parse("f", []byte(src), c.options).Stages[0]
		if s.Image != c.image || strings.ReplaceAll(s.User, "$V2", "${V}2") != c.user {
			t.Errorf("%+v: image %s, user %s", c.options, s.Image, s.User)
		}
	}
}

// Every word of a RUN has its place, whatever Docker leaves out in between.
func TestPlacesInRun(t *testing.T) {
	for name, src := range map[string]string{
		"one line":      "FROM a\nRUN --mount=type=cache,target=/c curl -k https://x | sh\n",
		"continued":     "FROM a\nRUN apt-get update && \\\n    curl -k \\\n      https://x | sh\n",
		"comments":      "FROM a\nRUN true && \\\n# a comment's quote\n\n   # another\n    curl -k https://x \\\n\n | sh\n",
		"space behind":  "FROM a\nRUN curl \\  \n -k https://x | sh\n",
		"CRLF":          "FROM a\r\nRUN curl \\\r\n# c\r\n -k https://x | sh\r\n",
		"backtick":      "# escape=`\nFROM a\nRUN curl `\n -k https://x | sh\n",
		"here-document": "FROM a\nRUN <<EOF\nset -e\ncurl -k https://x | sh\nEOF\nUSER x\n",
		"two documents": "FROM a\nRUN cat <<A >/a && curl -k https://x <<B | sh\na'\nA\nb\nB\n",
		"mark":          "\ufeffFROM a\nRUN curl -k https://x | sh\n",
		"quoted script": "FROM a\nRUN bash -c 'curl -k https://x | sh'\n",
		"no line end":   "FROM a\nRUN curl -k https://x | sh",
	} {
		f := parse(src)
		found := false
		for _, i := range f.Stages[0].Instructions {
			if i.Unread {
				t.Errorf("%s: not read: %q", name, i.Source())
			}
			for _, c := range i.Commands {
				if w, ok := c.Flag("-k"); ok && c.Is("curl") {
					found = true
					if got := at(src, w.Start, w.End); got != "-k" {
						t.Errorf("%s: the place of -k holds %q", name, got)
					}
				}
			}
		}
		if !found {
			t.Errorf("%s: no curl -k", name)
		}
	}
}

func TestProblems(t *testing.T) {
	for src, want := range map[string]string{
		"FROM a\nRUNN x\nUSER y\n":        "RUNN",
		"FROM a\nCOPY x\nUSER y\n":        "",
		"RUN x\nFROM a\nUSER y\n":         "",
		"FROM a b c d\nUSER y\n":          "",
		"FROM a\nADD --x=1 a b\nUSER y\n": "",
	} {
		f := parse(src)
		if len(f.Problems) != 1 || f.Problems[0].Unknown != want {
			t.Errorf("%q: %+v", src, f.Problems)
		}
		if len(f.Stages) != 1 || f.Stages[0].User != "y" {
			t.Errorf("%q: the rest is not read", src)
		}
	}
	for _, src := range []string{"", "# only\n", "FROM a\nRUN <<E\nx\n", "FROM a\nENV\n"} {
		if f := parse(src); len(f.Problems) != 1 || f.Incomplete() != "" {
			t.Errorf("%.20q: %+v", src, f.Problems)
		}
	}
	// The rest is not worked out, which is no mistake that BuildKit refuses.
	for _, src := range []string{strings.Repeat("x", dockerfile.MaxSize+1), "\xff\xfeF\x00", strings.Repeat("FROM a\n", 1002),
		"FROM a\nENV A=" + strings.Repeat("x", 60_000) + "\nENV B=" + strings.Repeat("$A", 1000) + "\n"} {
		if f := parse(src); len(f.Problems) != 0 || f.Incomplete() == "" {
			t.Errorf("%.20q: %+v", src, f.Problems)
		}
	}
}

func TestUserAndCommandAtEachInstruction(t *testing.T) {
	f := parse("FROM a\nRUN one\nARG U=dev\nUSER $U\nRUN two\nENTRYPOINT [\"/usr/bin/tini\", \"--\"]\nCMD sleep 1\n")
	s := f.Stages[0]
	var got []string
	for _, i := range s.Instructions {
		for _, c := range i.Commands {
			got = append(got, i.User+":"+c.Words[0].Text)
		}
	}
	if g := strings.Join(got, " "); g != ":one dev:two dev:/usr/bin/tini dev:sleep" {
		t.Error(g)
	}
	entrypoint, cmd := s.Start()
	if g := strings.Join(entrypoint, "|") + " " + strings.Join(cmd, "|"); g != "/usr/bin/tini|-- /bin/sh|-c|sleep 1" {
		t.Error(g)
	}
}

func TestOtherLanguagesAreNotRead(t *testing.T) {
	for _, src := range []string{
		"FROM a\nSHELL [\"powershell\", \"-command\"]\nRUN if ($x) { y }\n",
		"FROM a\nRUN <<EOF\n#!/usr/bin/env python3\nimport os\nEOF\n",
		"FROM a\nRUN echo 'open\n",
	} {
		s := parse(src).Stages[0]
		if i := s.Instructions[len(s.Instructions)-1]; !i.Unread || len(i.Commands) > 0 {
			t.Errorf("%q: read as %v", src, i.Commands)
		}
	}
}

// check holds for every text: places lie inside, in order.
func check(t *testing.T, src string) *dockerfile.File {
	t.Helper()
	f := dockerfile.Parse("f", []byte(src), dockerfile.Options{Args: map[string]string{"A": "x"}})
	in := func(what string, start, end int) {
		if start < 0 || start > end || end > len(src) {
			t.Errorf("%s at %d to %d of %d bytes", what, start, end, len(src))
		}
	}
	for _, p := range f.Problems {
		in("problem "+p.Message, p.Start, p.End)
	}
	for _, s := range f.Stages {
		if s.Index > 0 && s.Parent == s {
			t.Error("a stage is its own parent")
		}
		for _, i := range append(s.History(), s.From) {
			in(i.Name, i.Start, i.End)
			in(i.Name, i.Start, i.HeadEnd)
			in(i.Name, i.HeadEnd, i.End)
			for _, d := range i.Documents {
				in("document", d.Start, d.End)
			}
			for _, c := range i.Commands {
				in("command", c.Start, c.End)
				for _, w := range c.Words {
					in("word", w.Start, w.End)
				}
				for _, o := range c.Files {
					in("file", o.Start, o.End)
				}
			}
		}
		s.Start()
		f.Reachable(s)
	}
	return f
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{
		"FROM a AS b\nRUN <<E\nx\nE\nFROM b\nCOPY --from=0 <<X <<Y /d\n1\nX\n2\nY\n", "# escape=`\nFROM a\nRUN a `\n #b\n\n | c\n",
		"FROM a\nONBUILD RUN x\nHEALTHCHECK CMD y\nSHELL [\"bash\"]\nRUN [\"sh\", \"-c\", \"a|b\"]\n",
		"\ufeffARG X=1\nFROM ${X:-a}\r\nENV A=\"$X\" B='c'\r\nUSER $A\n",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, src string) { check(t, src) })
}

// The files of a folder outside the repository, when one is named.
func TestFilesOutside(t *testing.T) {
	dir := os.Getenv("SBX_DOCKERFILES")
	if dir == "" {
		t.Skip("SBX_DOCKERFILES names no folder")
	}
	files, unread, problems := 0, 0, 0
	err := filepath.WalkDir(dir, func(p string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		src, err := os.ReadFile(p)
		if err != nil {
			return err
		}
		files++
		f := check(t, string(src))
		for _, problem := range f.Problems {
			problems++
			t.Logf("%s: %s", p, problem.Message)
		}
		for _, s := range f.Stages {
			for _, i := range s.Instructions {
				if i.Unread {
					unread++
					t.Logf("%s: not read: %s", p, i.Source())
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d files, %d problems, %d instructions not read", files, problems, unread)
}

// A step that no shell reads has its error at the byte where the shell stops; what another program may read has none.
func TestBrokenSteps(t *testing.T) {
	for step, want := range map[string]string{
		"RUN true && \\\n  if true; then echo": "if true; then echo",
		"RUN echo \"a":                         "\"a",
		"RUN make &&":                          "&&",
		"RUN (true":                            "(true",
		"SHELL [\"/bin/bash\", \"-c\"]\nRUN true &&":                 "&&",
		"RUN <<EOF\nif true; then\nEOF":                              "then\nEOF",
		"SHELL [\"pwsh\", \"-c\"]\nRUN if ($x) { y":                  "",
		"SHELL [\"zsh\", \"-c\"]\nRUN echo \"a":                      "",
		"RUN <<EOF\n#!/usr/bin/env python3\nif x: print(\"(\")\nEOF": "",
		"RUN python3 <<EOF\nprint(\"(\")\nEOF":                       "",
		"RUN [\"echo\", \"'\"]":                                      "",
		"RUN echo ${X^^} <(true) [[ a":                               "",
		"CMD echo \"a":                                               "\"a",
	} {
		src := "FROM debian:13\n" + step + "\n"
		got := ""
		for _, i := range parse(src).Stages[0].Instructions {
			if i.Broken != nil {
				got = src[i.Broken.Start:]
			}
		}
		if got != want && got != want+"\n" {
			t.Errorf("%q: %q, want %q", step, got, want)
		}
	}
}
