package repotest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/org/claude-sandbox"

// root is the repository's folder as seen from this package.
const root = "../../.."

// goPackage is what the tests need to know of one package.
type goPackage struct {
	docs    []string            // files that carry a package comment
	imports map[string][]string // own packages that non-test files import -> the files
	outside map[string][]string // other packages, alike
	files   int
}

// packages reads every non-test Go file of the module.
func packages(t *testing.T) map[string]*goPackage {
	t.Helper()
	found := map[string]*goPackage{}
	err := filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if name := d.Name(); name == "testdata" || name == "tools" || name == "node_modules" || (name != ".." && strings.HasPrefix(name, ".")) {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") {
			return nil
		}
		syntax, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly|parser.ParseComments)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, file)
		if err != nil {
			return err
		}
		dir := path.Dir(filepath.ToSlash(rel))
		p := found[dir]
		if p == nil {
			p = &goPackage{imports: map[string][]string{}, outside: map[string][]string{}}
			found[dir] = p
		}
		p.add(rel, syntax)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(found) < 10 {
		t.Fatalf("found only %d packages below %s: looking in the wrong place", len(found), root)
	}
	return found
}

func (p *goPackage) add(file string, syntax *ast.File) {
	p.files++
	if syntax.Doc != nil && strings.TrimSpace(syntax.Doc.Text()) != "" {
		p.docs = append(p.docs, file)
	}
	for _, spec := range syntax.Imports {
		name, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			continue
		}
		if own, ok := strings.CutPrefix(name, module+"/"); ok {
			p.imports[own] = append(p.imports[own], file)
		} else {
			p.outside[name] = append(p.outside[name], file)
		}
	}
}

// filesWithoutDoc is how many files a package may have for its comment to stand in any of
// them. In more, a reader looks for doc.go.
const filesWithoutDoc = 3

func TestEveryPackageHasOnePackageComment(t *testing.T) {
	for dir, p := range packages(t) {
		if len(p.docs) != 1 {
			t.Errorf("%s: want one file with a package comment, got %d %v", dir, len(p.docs), p.docs)
		} else if p.files > filesWithoutDoc && filepath.Base(p.docs[0]) != "doc.go" {
			t.Errorf("%s has %d files: its package comment belongs in doc.go, and is in %s", dir, p.files, p.docs[0])
		}
	}
}

// allowed says which packages of ours each room may import, by folder; a
// trailing /* covers what lies below. Rooms that are not listed may import
// nothing of ours but what is in everywhere.
var allowed = map[string][]string{
	"firewall": {
		"firewall/hostname",
		"firewall/operation",
	},
	"firewall/hostname": {},
	"firewall/operation": {
		"firewall/hostname",
		"firewall/operation/*",
	},
	"firewall/audit":      {"firewall"},
	"firewall/credential": {"firewall/operation"},
	"firewall/relay": {
		"firewall",
		"firewall/audit",
		"firewall/credential",
		"firewall/operation",
	},
	"firewall/resolver": {
		"firewall",
		"firewall/audit",
	},
	"firewall/guard": {
		"firewall",
		"firewall/audit",
		"firewall/operation",
		"firewall/relay",
	},
	"firewall/kernel": {"firewall"},
	"firewall/report": {
		"firewall",
		"firewall/audit",
		"firewall/credential",
		"firewall/operation",
	},
	"firewall/learn": {
		"firewall",
		"firewall/audit",
		"firewall/operation",
	},
	"firewall/explain": {
		"firewall",
		"firewall/audit",
		"firewall/credential",
		"firewall/operation",
	},
	"firewall/control": {
		"firewall",
		"internal/peercred",
	},
	"firewall/live": {
		"firewall",
		"firewall/audit",
		"firewall/credential",
		"firewall/guard",
		"firewall/kernel",
		"firewall/operation",
		"firewall/owner",
		"firewall/relay",
		"firewall/resolver",
	},
	"firewall/owner": {
		"firewall",
		"firewall/audit",
		"firewall/kernel",
		"internal/peercred",
	},
	"initproc": {
		"internal/lifeline",
		"internal/peercred",
	},
	"initproc/tamper": {"internal/mountinfo"},
	"settings": {
		"credproxy/spending",
		"firewall",
		"firewall/credential",
		"firewall/operation",
		"internal/jsonc",
	},
	"settings/trust": {
		"internal/filelock",
		"internal/userdir",
		"settings",
		"workspace/gitdir",
	},
	"devcontainer": {
		"devcontainer/budget",
		"devcontainer/compose",
		"devcontainer/dockerfile",
		"devcontainer/org",
		"devcontainer/rights",
		"internal/jsonc",
		"settings",
	},
	"devcontainer/rule": {
		"devcontainer",
		"devcontainer/compose",
		"devcontainer/dockerfile",
		"devcontainer/pages",
		"devcontainer/rights",
		"devcontainer/schema",
		"devcontainer/shell",
		"firewall",
		"internal/jsonc",
	},
	"devcontainer/contract": {
		"devcontainer",
		"devcontainer/compose",
		"devcontainer/dockerfile",
		"devcontainer/org",
		"devcontainer/rights",
		"devcontainer/rule",
		"devcontainer/shell",
		"firewall",
		"firewall/credential",
		"internal/jsonc",
		"workspace/obeyed",
	},
	"devcontainer/lint": {
		"devcontainer",
		"devcontainer/baseimage",
		"devcontainer/budget",
		"devcontainer/compose",
		"devcontainer/contract",
		"devcontainer/dockerfile",
		"devcontainer/effective",
		"devcontainer/org",
		"devcontainer/pages",
		"devcontainer/rights",
		"devcontainer/rule",
		"devcontainer/schema",
		"devcontainer/shell",
		"internal/jsonc",
		"settings",
		"workspace/obeyed",
	},
	"devcontainer/lsp": {
		"devcontainer",
		"devcontainer/lint",
		"devcontainer/manual",
		"devcontainer/schema",
		"internal/jsonc",
		"schemas",
	},
	"schemas": {},
	"devcontainer/manual": {
		"devcontainer/lint",
		"devcontainer/pages",
		"devcontainer/rule",
	},
	"devcontainer/selection": {
		"devcontainer",
		"devcontainer/lint",
		"devcontainer/org",
		"devcontainer/rule",
		"devcontainer/schema",
		"internal/jsonc",
	},
	"devcontainer/org": {
		"devcontainer/rights",
		"devcontainer/schema",
		"internal/jsonc",
	},
	"devcontainer/compose": {
		"devcontainer/budget",
		"internal/jsonc",
	},
	"devcontainer/dockerfile": {
		"devcontainer/budget",
		"devcontainer/shell",
		"internal/jsonc",
	},
	"devcontainer/rights": {
		"devcontainer/budget",
		"devcontainer/compose",
		"devcontainer/dockerfile",
		"internal/jsonc",
	},
	"devcontainer/schema": {
		"devcontainer/rights",
		"internal/jsonc",
	},
	"devcontainer/effective": {
		"devcontainer",
		"devcontainer/budget",
		"devcontainer/compose",
		"devcontainer/dockerfile",
		"devcontainer/rights",
		"internal/jsonc",
	},
	"templates": {
		"devcontainer",
		"devcontainer/lint",
		"internal/jsonc",
		"settings",
		"workspace",
		"workspace/obeyed",
	},
	"templates/scaffold": {
		"devcontainer",
		"devcontainer/lint",
		"firewall",
		"internal/carried",
		"settings",
		"templates",
		"templates/detect",
		"templates/lock",
		"templates/merge",
		"workspace/obeyed",
	},
	"templates/adopt": {
		"devcontainer",
		"devcontainer/contract",
		"devcontainer/lint",
		"features",
		"firewall",
		"internal/carried",
		"internal/jsonc",
		"templates",
		"templates/detect",
		"templates/lock",
		"templates/scaffold",
	},
	"templates/detect": {
		"devcontainer/compose",
		"firewall",
		"internal/jsonc",
	},
	"templates/lock": {
		"devcontainer/compose",
		"devcontainer/dockerfile",
		"internal/jsonc",
		"settings",
		"templates",
		"templates/merge",
	},
	"templates/merge": {"internal/jsonc"},
	"templates/publish": {
		"features",
		"imagebuild/artifact",
		"imagebuild/registry",
		"imagebuild/tags",
		"templates",
	},
	"features": {
		"internal/carried",
		"internal/jsonc",
	},
	"agent":              {},
	"agent/conversation": {},
	"agent/structured":   {"internal/jsonc"},
	"agent/transcript":   {"agent"},
	"credproxy":          {"credproxy/spending"},
	"credproxy/endpoint": {},
	"credproxy/spending": {},
	"imagebuild": {
		"imagebuild/*",
		"internal/carried",
		"internal/engine",
		"settings",
		"workspace/obeyed",
	},
	"imagebuild/base": {
		"imagebuild/artifact",
		"imagebuild/layer",
		"imagebuild/registry",
		"imagebuild/store",
	},
	"imagebuild/feature": {
		"imagebuild",
		"imagebuild/base",
		"imagebuild/registry",
	},
	"imagebuild/checkout": {"imagebuild"},
	"imagebuild/digest": {
		"imagebuild/base",
		"imagebuild/registry",
		"internal/engine",
	},
	"imagebuild/sign": {"imagebuild/registry"},
	"imagebuild/layer": {
		"imagebuild/artifact",
		"imagebuild/store",
	},
	"imagebuild/registry": {
		"imagebuild/artifact",
		"imagebuild/tags",
	},
	"imagebuild/sbom": {"imagebuild/artifact"},
	"sandbox": {
		"agent",
		"agent/conversation",
		"agent/structured",
		"credproxy",
		"credproxy/spending",
		"firewall",
		"firewall/audit",
		"firewall/credential",
		"firewall/relay",
		"firewall/report",
		"imagebuild",
		"internal/carried",
		"internal/delivery",
		"internal/engine",
		"internal/filelock",
		"internal/lifeline",
		"internal/mountinfo",
		"internal/terminal",
		"internal/tunnel",
		"sandbox/*",
		"settings",
		"workspace",
		"workspace/copytree",
		"workspace/gitdir",
	},
	"sandbox/runplan": {
		"agent",
		"agent/structured",
		"credproxy/spending",
		"firewall",
		"firewall/credential",
		"firewall/operation",
		"internal/cabundle",
		"internal/delivery",
		"internal/engine",
		"internal/mountinfo",
		"internal/tunnel",
		"sandbox/kept",
		"settings",
		"workspace",
		"workspace/gitdir",
	},
	"sandbox/changes": {
		"internal/gitbinary",
		"workspace/obeyed",
	},
	"sandbox/kept": {
		"agent/conversation",
		"internal/exitcode",
		"internal/filelock",
	},
	"workspace": {
		"internal/mountinfo",
		"workspace/gitdir",
		"workspace/obeyed",
	},
	"workspace/copytree":  {"internal/sparsefile"},
	"workspace/obeyed":    {"internal/jsonc", "internal/lazyregexp"},
	"workspace/diskwatch": {"internal/mountinfo"},
	"workspace/mountwatch": {
		"internal/mountinfo",
		"workspace/obeyed",
	},
	"workspace/gitdir": {},
	"session": {
		"credproxy",
		"devcontainer",
		"firewall",
		"internal/engine",
		"internal/exitcode",
		"internal/userdir",
		"sandbox",
		"sandbox/kept",
		"sandbox/runplan",
		"session/images",
		"session/recipe",
		"settings",
		"settings/trust",
		"templates/detect",
		"workspace",
	},
	"session/accept": {
		"internal/userdir",
		"session",
		"session/instructions",
		"session/recipe",
		"settings",
		"settings/trust",
	},
	"session/volumes": {
		"internal/engine",
		"internal/filelock",
		"sandbox",
		"sandbox/runplan",
		"settings/trust",
	},
	"session/images": {
		"devcontainer",
		"devcontainer/effective",
		"features",
		"imagebuild",
		"imagebuild/feature",
		"imagebuild/npm",
		"imagebuild/registry",
		"imagebuild/store",
		"internal/carried",
		"internal/engine",
		"internal/progress",
		"sandbox",
		"sandbox/runplan",
		"session/recipe",
		"session/volumes",
		"templates/detect",
		"templates/lock",
		"templates/scaffold",
	},
	"session/instructions": {"sandbox"},
	"session/journal": {
		"internal/filelock",
		"session",
	},
	"session/supervisor": {
		"internal/exitcode",
		"internal/terminal",
	},
	"session/storedkey": {
		"internal/userdir",
		"session/secrets",
		"settings",
	},
	"session/decision": {
		"agent",
		"firewall/audit",
		"internal/ask",
		"internal/sparsefile",
		"sandbox",
		"sandbox/changes",
		"sandbox/runplan",
		"session/review",
		"session/runs",
		"workspace",
		"workspace/gitdir",
		"workspace/obeyed",
	},
	"session/review": {
		"agent",
		"firewall",
		"firewall/audit",
		"sandbox/changes",
		"workspace/obeyed",
	},
	"session/recipe": {
		"devcontainer",
		"devcontainer/dockerfile",
		"devcontainer/rights",
		"features",
		"imagebuild",
		"internal/jsonc",
		"settings",
		"settings/trust",
		"templates",
	},
	"session/runs": {
		"agent",
		"agent/conversation",
		"credproxy",
		"devcontainer",
		"firewall",
		"firewall/audit",
		"firewall/credential",
		"internal/engine",
		"internal/exitcode",
		"internal/filelock",
		"sandbox",
		"sandbox/kept",
		"sandbox/runplan",
		"session/ledger",
		"settings",
		"templates/adopt",
		"templates/scaffold",
		"workspace",
		"workspace/copytree",
		"workspace/gitdir",
	},
	"session/ledger":  {"credproxy/spending", "internal/filelock"},
	"session/mcp":     {"settings"},
	"session/migrate": {"settings"},
	"session/worker": {
		"agent",
		"agent/structured",
		"credproxy/spending",
		"internal/exitcode",
		"sandbox",
	},
	"session/unconfined": {
		"agent",
		"internal/exitcode",
		"settings",
	},
	"session/secrets": {
		"internal/exitcode",
		"settings",
	},
	"session/amend": {
		"devcontainer",
		"firewall",
		"firewall/control",
		"firewall/operation",
		"internal/engine",
		"internal/filelock",
		"internal/userdir",
		"sandbox",
		"sandbox/runplan",
		"session/recipe",
		"session/runs",
		"settings",
		"settings/trust",
		"templates",
		"templates/adopt",
		"templates/detect",
		"templates/scaffold",
		"workspace",
	},
	"action": {
		"action/github",
		"action/patch",
		"action/proposal",
		"action/review",
		"action/trigger",
		"agent",
		"agent/structured",
		"credproxy",
		"credproxy/spending",
		"firewall",
		"firewall/audit",
		"firewall/learn",
		"firewall/report",
		"internal/engine",
		"internal/hostprogram",
		"internal/mountinfo",
		"internal/progress",
		"sandbox",
		"sandbox/changes",
		"sandbox/runplan",
		"session",
		"session/images",
		"session/instructions",
		"session/mcp",
		"session/runs",
		"session/secrets",
		"settings",
		"workspace",
		"workspace/obeyed",
	},
	"action/github": {},
	"action/patch": {
		"internal/gitbinary",
		"workspace/obeyed",
	},
	"action/review":       {"agent/structured"},
	"scripts/scriptedapi": {"internal/fakeapi"},
	"action/trigger":      {},
	"action/proposal": {
		"action/patch",
		"workspace/obeyed",
	},
	"doctor": {
		"internal/engine",
		"internal/mountinfo",
	},
	"demo": {
		"agent/transcript",
		"internal/engine",
		"internal/fakeapi",
		"sandbox",
		"session/runs",
	},
	"cmd/sbx-init": {
		"firewall",
		"firewall/audit",
		"firewall/control",
		"firewall/credential",
		"firewall/kernel",
		"firewall/live",
		"firewall/operation",
		"firewall/owner",
		"initproc",
		"initproc/tamper",
		"internal/cabundle",
		"internal/delivery",
		"internal/lifeline",
		"internal/mountinfo",
		"internal/terminal",
		"internal/tunnel",
		"settings",
		"workspace/diskwatch",
		"workspace/mountwatch",
	},
	"scripts/sbom": {"imagebuild/sbom"},
	"cmd/sbx-devc": {"*"},
	"cmd/sbx-devc/cli": {
		"internal/ask",
		"internal/progress",
		"settings",
	},
	"cmd/sbx-devc/connect": {
		"cmd/sbx-devc/cli",
		"imagebuild",
		"imagebuild/registry",
		"internal/engine",
	},
	"cmd/sbx-devc/projects": {
		"cmd/sbx-devc/cli",
		"devcontainer",
		"internal/jsonc",
		"internal/userdir",
		"session",
		"session/accept",
		"session/runs",
		"settings",
		"templates/scaffold",
		"workspace",
	},
	"cmd/sbx-devc/image": {
		"cmd/sbx-devc/cli",
		"cmd/sbx-devc/connect",
		"cmd/sbx-devc/projects",
		"imagebuild",
		"imagebuild/*",
		"internal/carried",
		"internal/engine",
		"internal/progress",
		"session/images",
		"settings",
		"templates",
		"templates/lock",
	},
	"cmd/sbx-devc/policy": {
		"cmd/sbx-devc/cli",
		"cmd/sbx-devc/projects",
		"firewall",
		"firewall/*",
		"internal/engine",
		"internal/userdir",
		"session",
		"session/amend",
		"settings",
		"templates/adopt",
		"templates/scaffold",
	},
	"cmd/sbx-devc/checks": {
		"cmd/sbx-devc/cli",
		"cmd/sbx-devc/connect",
		"cmd/sbx-devc/projects",
		"devcontainer",
		"devcontainer/*",
		"imagebuild",
		"imagebuild/digest",
		"internal/ask",
		"internal/jsonc",
		"settings",
		"workspace",
	},
	"cmd/sbx-devc/devfiles": {
		"cmd/sbx-devc/cli",
		"cmd/sbx-devc/connect",
		"cmd/sbx-devc/projects",
		"firewall",
		"imagebuild",
		"imagebuild/digest",
		"imagebuild/registry",
		"internal/ask",
		"internal/carried",
		"internal/engine",
		"sandbox",
		"session/accept",
		"session/recipe",
		"settings",
		"templates",
		"templates/*",
		"workspace",
	},
	"cmd/sbx-devc/run": {
		"agent",
		"agent/conversation",
		"agent/structured",
		"agent/transcript",
		"cmd/sbx-devc/changes",
		"cmd/sbx-devc/cli",
		"cmd/sbx-devc/connect",
		"cmd/sbx-devc/projects",
		"credproxy",
		"firewall",
		"firewall/report",
		"internal/ask",
		"internal/engine",
		"internal/terminal",
		"internal/userdir",
		"sandbox",
		"sandbox/kept",
		"sandbox/runplan",
		"session",
		"session/accept",
		"session/images",
		"session/instructions",
		"session/journal",
		"session/keys",
		"session/mcp",
		"session/runs",
		"session/secrets",
		"session/storedkey",
		"session/supervisor",
		"session/unconfined",
		"session/worker",
		"settings",
		"settings/trust",
		"workspace",
	},
	"cmd/sbx-devc/proxy": {
		"cmd/sbx-devc/cli",
		"cmd/sbx-devc/projects",
		"cmd/sbx-devc/run",
		"credproxy",
		"credproxy/endpoint",
		"credproxy/spending",
		"firewall",
		"firewall/audit",
		"firewall/credential",
		"firewall/forward",
		"firewall/operation",
		"firewall/relay",
		"sandbox",
		"session",
		"session/runs",
		"settings",
	},
	"cmd/sbx-devc/changes": {
		"cmd/sbx-devc/cli",
		"cmd/sbx-devc/projects",
		"internal/ask",
		"sandbox",
		"sandbox/changes",
		"session",
		"session/decision",
		"session/keys",
		"session/review",
		"session/runs",
		"session/secrets",
		"workspace/gitdir",
	},
	"cmd/sbx-devc/history": {
		"agent",
		"agent/transcript",
		"cmd/sbx-devc/cli",
		"cmd/sbx-devc/connect",
		"cmd/sbx-devc/projects",
		"credproxy",
		"firewall",
		"firewall/audit",
		"internal/engine",
		"internal/progress",
		"sandbox",
		"sandbox/kept",
		"sandbox/runplan",
		"session/accept",
		"session/images",
		"session/ledger",
		"session/runs",
		"session/volumes",
		"templates/scaffold",
	},
	"cmd/sbx-devc/user": {
		"cmd/sbx-devc/cli",
		"cmd/sbx-devc/connect",
		"cmd/sbx-devc/projects",
		"cmd/sbx-devc/run",
		"internal/progress",
		"internal/userdir",
		"sandbox/kept",
		"sandbox/runplan",
		"session",
		"session/accept",
		"session/keys",
		"session/migrate",
		"session/storedkey",
		"settings",
		"settings/trust",
		"workspace",
	},
	"cmd/sbx-devc/machine": {
		"cmd/sbx-devc/cli",
		"cmd/sbx-devc/connect",
		"cmd/sbx-devc/image",
		"cmd/sbx-devc/projects",
		"cmd/sbx-devc/run",
		"cmd/sbx-devc/user",
		"devcontainer/org",
		"doctor",
		"imagebuild/npm",
		"internal/engine",
		"internal/userdir",
		"session",
		"session/images",
		"session/runs",
		"session/storedkey",
		"settings",
		"settings/trust",
		"workspace",
	},
	"internal/test/browsertest": {"internal/test/testenv"},
	"internal/test/enginetest": {
		"internal/carried",
		"internal/engine",
		"internal/test/testenv",
	},
	"internal/test/registrytest":  {"internal/test/testenv"},
	"internal/test/netnstest":     {"internal/test/testenv"},
	"internal/test/foldtest":      {"internal/test/testenv"},
	"internal/test/workspacetest": {"workspace"},
	"internal/test/attack/agent":  {"internal/test/attack"},
	"firewall/forward": {
		"firewall",
		"firewall/audit",
		"firewall/credential",
		"firewall/operation",
		"firewall/relay",
	},
}

// everywhere may be imported by every room.
var everywhere = []string{
	"internal/apierror",
	"internal/atomicfile",
	"internal/diag",
	"internal/excerpt",
	"internal/exitcode",
	"internal/filekind",
	"internal/hostprogram",
	"internal/lazyregexp",
	"internal/pathglob",
	"internal/pathwalk",
	"internal/redact",
	"internal/release",
	"internal/shellword",
	"internal/visible",
}

func TestImportsPointOneWay(t *testing.T) {
	for dir, p := range packages(t) {
		for target, files := range p.imports {
			if strings.HasPrefix(target, "internal/test/") && !strings.HasPrefix(dir, "internal/test/") {
				t.Errorf("%s ships, and must not import %s (%s)", dir, target, strings.Join(files, ", "))
			}
			if !mayImport(dir, target) {
				t.Errorf("%s must not import %s (%s)", dir, target, strings.Join(files, ", "))
			}
		}
	}
}

func mayImport(dir, target string) bool {
	if slices.Contains(everywhere, target) {
		return dir != target
	}
	return slices.ContainsFunc(allowed[dir], func(pattern string) bool {
		if below, ok := strings.CutSuffix(pattern, "*"); ok {
			return strings.HasPrefix(target, below)
		}
		return target == pattern
	})
}

// The container's init runs as root beside an agent that attacks it, so what
// is linked into it is kept small: no engine client, no registry client.
func TestInitStaysSmall(t *testing.T) {
	all := packages(t)
	banned := []string{"github.com/moby/", "github.com/google/go-containerregistry", "github.com/docker/"}
	seen := map[string]bool{}
	var visit func(dir string)
	visit = func(dir string) {
		if seen[dir] || all[dir] == nil {
			return
		}
		seen[dir] = true
		for name, files := range all[dir].outside {
			if slices.ContainsFunc(banned, func(prefix string) bool { return strings.HasPrefix(name, prefix) }) {
				t.Errorf("sbx-init links %s through %s", name, strings.Join(files, ", "))
			}
		}
		for next := range all[dir].imports {
			visit(next)
		}
	}
	visit("cmd/sbx-init")
	if !seen["firewall/kernel"] {
		t.Error("sbx-init no longer reaches firewall/kernel: this test looks at the wrong program")
	}
}
