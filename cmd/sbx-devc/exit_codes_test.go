package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/spf13/cobra"
)

// codeRow is a row of the table of exit codes in docs/cli.md.
type codeRow struct {
	code     int
	commands []string // none = every other one
	shownBy  []string
}

// codeRows reads that table.
func codeRows(t *testing.T) (rows []codeRow) {
	t.Helper()
	page, err := os.ReadFile("../../docs/cli.md")
	if err != nil {
		t.Fatal(err)
	}
	words := func(cell string) (all []string) {
		for _, m := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(cell, -1) {
			all = append(all, m[1])
		}
		return all
	}
	for _, m := range regexp.MustCompile(`(?m)^\| ([0-9]+) \| ([^|]+) \| [^|]+ \| ([^|]+) \|$`).FindAllStringSubmatch(string(page), -1) {
		code, _ := strconv.Atoi(m[1])
		rows = append(rows, codeRow{code, words(m[2]), words(m[3])})
	}
	return rows
}

// constantsOf are the numbers among the constants of a file, by their names.
func constantsOf(t *testing.T, name string) map[string]int {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]int{}
	ast.Inspect(file, func(n ast.Node) bool {
		if spec, ok := n.(*ast.ValueSpec); ok && len(spec.Values) == 1 {
			if value, ok := spec.Values[0].(*ast.BasicLit); ok && value.Kind == token.INT {
				found[spec.Names[0].Name], _ = strconv.Atoi(value.Value)
			}
		}
		return true
	})
	return found
}

// endSignals are the signals whose codes a program of ours ends with.
var endSignals = map[string]syscall.Signal{
	"SIGHUP": syscall.SIGHUP, "SIGINT": syscall.SIGINT, "SIGQUIT": syscall.SIGQUIT, "SIGKILL": syscall.SIGKILL,
	"SIGPIPE": syscall.SIGPIPE, "SIGTERM": syscall.SIGTERM,
}

// ourCodes are the exit codes that the programs have: those of package exitcode, those of a
// program that cannot be started, and those of signals. named has them by their names.
func ourCodes(t *testing.T) (all map[int]bool, named map[string]int) {
	t.Helper()
	named = constantsOf(t, "../../internal/exitcode/codes.go")
	maps.Copy(named, constantsOf(t, "../../initproc/become_linux.go"))
	if len(named) < 20 {
		t.Fatalf("the codes are %v", named)
	}
	all = map[int]bool{}
	for _, code := range named {
		all[code] = true
	}
	base := named["Signal"]
	delete(all, base)
	for _, n := range endSignals {
		all[base+int(n)] = true
	}
	return all, named
}

// scriptCodes are the codes with which scripts of testdata end, by script, code and command.
func scriptCodes(t *testing.T) map[string]map[int][]string {
	t.Helper()
	commands := root((&app{getenv: func(string) string { return "" }}).cli())
	names, err := filepath.Glob("testdata/script/*.txtar")
	if err != nil || len(names) < 20 {
		t.Fatal(names, err)
	}
	found := map[string]map[int][]string{}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		codes := map[int][]string{}
		for _, m := range regexp.MustCompile(`(?m)^(?:\[\S+\] )?code ([0-9]+) (?:sh -c ')?(?:sbx-devc|policies)(.*)`).
			FindAllStringSubmatch(string(text), -1) {
			code, _ := strconv.Atoi(m[1])
			command, _, err := commands.Find(strings.Fields(m[2]))
			if err != nil {
				command = commands
			}
			codes[code] = append(codes[code], commandWords(command))
		}
		for _, m := range regexp.MustCompile(`(?m)^([0-9]+) ([a-z]+.*)`).FindAllStringSubmatch(string(text), -1) { // of a loop
			code, _ := strconv.Atoi(m[1])
			if command, _, err := commands.Find(strings.Fields(m[2])); err == nil && command != commands {
				codes[code] = append(codes[code], commandWords(command))
			}
		}
		found[filepath.Base(name)] = codes
	}
	return found
}

// commandWords is a command without the program's name.
func commandWords(c *cobra.Command) string {
	_, words, _ := strings.Cut(c.CommandPath(), " ")
	return words
}

// goTest is a test function, with the exit codes that it compares with.
type goTest struct {
	text  string
	codes map[int]bool
	inCmd bool // others are about runs
}

// goTests are the test functions of this repository by their names.
func goTests(t *testing.T, named map[string]int) map[string]goTest {
	t.Helper()
	found := map[string]goTest{}
	for _, top := range []string{"cmd", "sandbox", "session"} {
		err := filepath.WalkDir(filepath.Join("../..", top), func(name string, d fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(name, "_test.go") || filepath.Base(name) == "exit_codes_test.go" {
				return err
			}
			text, err := os.ReadFile(name)
			if err != nil {
				return err
			}
			files := token.NewFileSet()
			file, err := parser.ParseFile(files, name, text, 0)
			if err != nil {
				return err
			}
			for _, decl := range file.Decls {
				if f, ok := decl.(*ast.FuncDecl); ok && f.Recv == nil && strings.HasPrefix(f.Name.Name, "Test") {
					body := string(text[files.Position(f.Pos()).Offset:files.Position(f.End()).Offset])
					found[f.Name.Name] = goTest{body, codesOf(f, named), top == "cmd"}
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return found
}

// codesOf are the exit codes that a function names: as constants, as numbers, as text that a
// shell shows (code=70), and as 128 and a signal.
func codesOf(f *ast.FuncDecl, named map[string]int) map[int]bool {
	codes, signals, sum := map[int]bool{}, []int{}, false
	note := func(name string) {
		code, ok := named[name]
		sum = sum || name == "Signal"
		if codes[code] = codes[code] || ok; !ok {
			delete(codes, code)
		}
		if n, ok := endSignals[name]; ok {
			signals = append(signals, int(n))
		}
	}
	ast.Inspect(f.Body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			note(n.Sel.Name)
		case *ast.Ident:
			if name, ok := strings.CutPrefix(n.Name, "exit"); ok {
				note(name)
			}
		case *ast.BasicLit:
			if code, err := strconv.Atoi(n.Value); err == nil {
				codes[code] = true
			}
			for _, m := range regexp.MustCompile(`\w=([0-9]+)\b`).FindAllStringSubmatch(n.Value, -1) {
				code, _ := strconv.Atoi(m[1])
				codes[code] = true
			}
		}
		return true
	})
	for _, n := range signals {
		if sum {
			codes[named["Signal"]+n] = true
		}
	}
	return codes
}

// The table of docs/cli.md has every exit code of the programs and no other. Each of its rows
// names tests that compare with its code, for each of its commands, and what a script ends
// with is in a row.
func TestEveryExitCodeIsDocumentedAndShown(t *testing.T) {
	rows, scripts := codeRows(t), scriptCodes(t)
	all, named := ourCodes(t)
	tests := goTests(t, named)
	documented := map[int]bool{}
	for _, row := range rows {
		documented[row.code] = true
		where := fmt.Sprintf("docs/cli.md: %d of %s", row.code, strings.Join(row.commands, ", "))
		if !all[row.code] {
			t.Errorf("%s: nothing ends with that", where)
		}
		missing := slices.Clone(row.commands)
		for _, name := range row.shownBy {
			shows, shown := tests[name].shows(row)
			if codes, ok := scripts[name]; ok {
				shown = codes[row.code]
				shows = len(shown) > 0
			}
			if !shows {
				t.Errorf("%s: %s does not compare with it", where, name)
			}
			missing = slices.DeleteFunc(missing, func(c string) bool { return slices.Contains(shown, c) })
		}
		if len(missing) > 0 || len(row.shownBy) == 0 {
			t.Errorf("%s: no test that it names shows it for %s", where, strings.Join(missing, ", "))
		}
	}
	for code := range all {
		if !documented[code] {
			t.Errorf("docs/cli.md lacks %d", code)
		}
	}
	for name, codes := range scripts {
		for code, commands := range codes {
			for _, command := range commands {
				if without := name == "run_no_sandbox.txtar" && command == "run" && code < named["Usage"]; without {
					continue // Claude's own
				}
				if !slices.ContainsFunc(rows, func(r codeRow) bool {
					return r.code == code && (len(r.commands) == 0 || slices.Contains(r.commands, command))
				}) {
					t.Errorf("docs/cli.md lacks %d of %q, which %s shows", code, command, name)
				}
			}
		}
	}
}

// shows says whether the test compares with a row's code, and for which of its commands.
func (g goTest) shows(row codeRow) (shows bool, commands []string) {
	if !g.codes[row.code] {
		return false, nil
	}
	for _, c := range row.commands {
		words := strings.Fields(c)
		if !g.inCmd && c == "run" || g.inCmd && (c == "run" || strings.Contains(g.text, words[len(words)-1])) {
			commands = append(commands, c)
		}
	}
	return true, commands
}

// Every exit code has a name: a number in the code could not be in the table.
func TestExitCodesHaveNames(t *testing.T) {
	number := regexp.MustCompile(`exitcode\.With\([0-9]|os\.Exit\([1-9]`)
	looked := 0
	for _, top := range []string{"cmd", "sandbox", "session", "imagebuild", "templates", "initproc", "demo", "workspace", "settings",
		"firewall", "internal/exitcode"} {
		err := filepath.WalkDir(filepath.Join("../..", top), func(name string, d fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") || strings.HasSuffix(name, "doc.go") {
				return err
			}
			text, err := os.ReadFile(name)
			if found := number.Find(text); found != nil {
				t.Errorf("%s: %s…", name, found)
			}
			looked++
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if looked < 300 {
		t.Errorf("looked at %d files", looked)
	}
}
