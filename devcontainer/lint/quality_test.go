package lint_test

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/org/claude-sandbox/devcontainer"
	"github.com/org/claude-sandbox/devcontainer/lint"
	"github.com/org/claude-sandbox/internal/diag"
)

// label is a verdict on one finding in a public repository, by reading the file. The finding
// stands on a line of a file at a commit; the file itself is not in this repository. It is true
// when what it says of this file is so, and when who follows its hint is better off.
type label struct {
	Repository string `json:"repository"`
	Path       string `json:"path"`
	Line       int    `json:"line"`
	Rule       string `json:"rule"`
	True       bool   `json:"true"`
	Reason     string `json:"reason"`
}

// labelled are all verdicts, with the commit of each repository that they are about.
type labelled struct {
	Commits map[string]string `json:"commits"`
	Labels  []label           `json:"labels"`
}

func readLabels(t testing.TB) (all labelled) {
	t.Helper()
	src, err := os.ReadFile("testdata/labels.json")
	if err == nil {
		err = json.Unmarshal(src, &all)
	}
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// The labels are about rules and repositories that are known, and each says why.
func TestLabelsAreWhole(t *testing.T) {
	all := readLabels(t)
	if len(all.Labels) < 300 {
		t.Errorf("%d labels, not 300", len(all.Labels))
	}
	seen := map[label]bool{}
	for _, l := range all.Labels {
		key := label{Repository: l.Repository, Path: l.Path, Line: l.Line, Rule: l.Rule}
		if _, known := lint.LookupRule(l.Rule); !known || len(all.Commits[l.Repository]) != 40 || l.Line < 1 || l.Reason == "" || seen[key] {
			t.Errorf("%+v", l)
		}
		seen[key] = true
	}
}

// leastPrecision is the part of a rule's labelled findings that must be true.
const leastPrecision = 0.9

// TestQuality compares findings on public repositories with people's verdicts, and prints the
// precision of each rule. SBX_LINT_CORPUS is a folder with a git directory OWNER+NAME/repo of
// each repository ('git clone --bare https://github.com/OWNER/NAME OWNER+NAME/repo').
// SBX_LINT_LIST=FILE writes what is found as JSON lines, to be labelled.
func TestQuality(t *testing.T) {
	corpus := os.Getenv("SBX_LINT_CORPUS")
	if corpus == "" {
		t.Skip("needs public repositories: SBX_LINT_CORPUS names a folder with OWNER+NAME/repo, a git directory, of each")
	}
	all := readLabels(t)
	found := map[label][]diag.Finding{} // without verdict and reason
	missing := map[string]bool{}
	var list bytes.Buffer
	for _, repository := range slices.Sorted(maps.Keys(all.Commits)) {
		dir := filepath.Join(corpus, strings.ReplaceAll(repository, "/", "+"), "repo")
		root, err := checkOut(t, dir, all.Commits[repository], everyFile)
		if err != nil {
			t.Logf("%s is left out: %v", repository, err)
			missing[repository] = true
			continue
		}
		for _, f := range findingsBelow(t, root) {
			key := label{Repository: repository, Path: f.File, Line: f.Line, Rule: f.Rule}
			found[key] = append(found[key], f)
			fmt.Fprintf(&list, "%s\n", findingLine(t, repository, f))
		}
	}
	if name := os.Getenv("SBX_LINT_LIST"); name != "" {
		if err := os.WriteFile(name, list.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if len(missing) == len(all.Commits) {
		t.Skip("none of the labelled repositories is there")
	}
	report(t, all.Labels, missing, found)
}

func findingLine(t testing.TB, repository string, f diag.Finding) []byte {
	t.Helper()
	text, err := json.Marshal(map[string]any{"repository": repository, "path": f.File, "line": f.Line, "rule": f.Rule,
		"severity": f.Severity, "message": f.Message})
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// report prints the precision of each rule and fails for one that is too low, and for a true
// finding that is not made any more.
func report(t *testing.T, labels []label, missing map[string]bool, found map[label][]diag.Finding) {
	type score struct{ right, wrong, gone int }
	rules := map[string]*score{}
	total := score{}
	for _, l := range labels {
		if missing[l.Repository] {
			continue
		}
		s := rules[l.Rule]
		if s == nil {
			s = &score{}
			rules[l.Rule] = s
		}
		_, made := found[label{Repository: l.Repository, Path: l.Path, Line: l.Line, Rule: l.Rule}]
		switch {
		case made && l.True:
			s.right++
			total.right++
		case made:
			s.wrong++
			total.wrong++
			t.Logf("wrong: %s %s:%d %s: %s", l.Repository, l.Path, l.Line, l.Rule, l.Reason)
		case l.True:
			t.Errorf("a true finding is not made any more: %s %s:%d %s: %s", l.Repository, l.Path, l.Line, l.Rule, l.Reason)
		default:
			s.gone++
			total.gone++
		}
	}
	for _, id := range slices.Sorted(maps.Keys(rules)) {
		s := rules[id]
		made := s.right + s.wrong
		precision := 1.0
		if made > 0 {
			precision = float64(s.right) / float64(made)
		}
		rule, _ := lint.LookupRule(id)
		t.Logf("%s %-28s %3d of %3d true, %3.0f %%; %d wrong ones are gone", id, rule.Name, s.right, made, 100*precision, s.gone)
		if precision < leastPrecision {
			t.Errorf("%s: %.0f %% of its labelled findings are true, less than %.0f %%", id, 100*precision, 100*leastPrecision)
		}
	}
	t.Logf("all: %d of %d labelled findings are true; %d wrong ones are gone", total.right, total.right+total.wrong, total.gone)
}

// findingsBelow checks every dev container, Feature, Template and Dockerfile of a repository,
// and names files from its root.
func findingsBelow(t testing.TB, root string) []diag.Finding {
	t.Helper()
	files, _, err := devcontainer.DiscoverAll(root)
	if err != nil && !errors.Is(err, devcontainer.ErrNone) {
		t.Fatal(err)
	}
	err = filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		base := strings.ToLower(d.Name())
		if err == nil && d.Type().IsRegular() && isDockerfile(base) {
			files = append(files, name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	var all lint.Files
	if err := all.Open(t.Context(), files); err != nil {
		t.Log(err)
	}
	seen := map[diag.Finding]bool{}
	var out []diag.Finding
	for _, f := range all.Findings {
		rel, err := filepath.Rel(root, f.File)
		if err != nil {
			t.Fatal(err)
		}
		if f.File = filepath.ToSlash(rel); !seen[f] {
			seen[f] = true
			out = append(out, f)
		}
	}
	slices.SortFunc(out, func(a, b diag.Finding) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Rule, b.Rule))
	})
	return out
}

// checkOut writes the files of a commit into a temporary folder. An object that a partial copy
// lacks, and a file of more than a megabyte, is an empty file. Files that wanted refuses are left out.
func checkOut(t testing.TB, repository, commit string, wanted func(name string) bool) (root string, err error) {
	t.Helper()
	listed, err := exec.Command("git", "-C", repository, "ls-tree", "-r", "-z", "-l", commit).Output()
	if err != nil {
		return "", fmt.Errorf("%s has no commit %s: %w", repository, commit, err)
	}
	cat := exec.Command("git", "-C", repository, "cat-file", "--batch")
	objects, err := cat.StdinPipe()
	if err != nil {
		return "", err
	}
	contents, err := cat.StdoutPipe()
	if err != nil {
		return "", err
	}
	if err := cat.Start(); err != nil {
		return "", err
	}
	defer func() { objects.Close(); cat.Wait() }()
	read := bufio.NewReader(contents)
	root = t.TempDir()
	if err := os.MkdirAll(filepath.Join(root, ".git"), 0o755); err != nil {
		return "", err
	}
	for entry := range strings.SplitSeq(strings.TrimSuffix(string(listed), "\x00"), "\x00") {
		about, name, _ := strings.Cut(entry, "\t")
		if !wanted(name) {
			continue
		}
		fields := strings.Fields(about) // mode, type, object, size
		full := filepath.Join(root, filepath.FromSlash(path.Clean("/"+name)))
		if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
			return "", err
		}
		var text []byte
		if len(fields[3]) < 7 && fields[1] == "blob" {
			if text, err = object(objects, read, fields[2]); err != nil {
				return "", err
			}
		}
		switch mode := fields[0]; {
		case mode == "120000":
			err = os.Symlink(string(text), full)
		case mode == "160000":
			err = os.MkdirAll(full, 0o755)
		case mode == "100755":
			err = os.WriteFile(full, text, 0o755)
		default:
			err = os.WriteFile(full, text, 0o644)
		}
		if err != nil {
			return "", err
		}
	}
	return root, nil
}

func everyFile(string) bool { return true }

// object asks cat-file for one object; nothing when it is not there.
func object(ask io.Writer, answer *bufio.Reader, id string) ([]byte, error) {
	if _, err := fmt.Fprintln(ask, id); err != nil {
		return nil, err
	}
	head, err := answer.ReadString('\n')
	if err != nil || strings.HasSuffix(head, " missing\n") {
		return nil, err
	}
	var size int
	if _, err := fmt.Sscanf(head, "%s blob %d", &id, &size); err != nil {
		return nil, err
	}
	text := make([]byte, size+1) // and a newline
	_, err = io.ReadFull(answer, text)
	return text[:size], err
}

// isDockerfile reports whether a file is a Dockerfile by its name in small letters; with any other
// extension it is most likely a template of one.
func isDockerfile(name string) bool {
	return name == "dockerfile" || strings.HasSuffix(name, ".dockerfile")
}
