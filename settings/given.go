package settings

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/org/claude-sandbox/firewall"
	"github.com/org/claude-sandbox/internal/diag"
)

// Given collects settings that come one by one, as from flags or the inputs of a
// workflow. Each value is judged as Parse judges a file's, and errors name it as
// whoever gave it knows it. Fields of Settings that need no judgement are set
// directly. It is not safe for concurrent use.
type Given struct {
	Settings
	// Read resolves "@name" entries of lists; nil = they are texts as any other.
	Read FileReader

	names map[string][]string // of the entries of each network list, in order
	lines int                 // that list files have brought
	errs  []error
}

// Mode sets the network's mode; "" leaves it open.
func (g *Given) Mode(name, mode string) {
	g.Network.Mode = firewall.Mode(mode)
	g.named("mode", name, 1)
}

// Entries adds to a list of the network: "presets", "allow", "deny" or "private".
func (g *Given) Entries(list, name string, entries []string) {
	entries = g.expand(name, entries)
	to := map[string]*[]string{
		"presets": &g.Network.Presets, "allow": &g.Network.Allow, "deny": &g.Network.Deny, "private": &g.Network.Private,
	}[list]
	*to = append(*to, entries...)
	g.named(list, name, len(entries))
}

// EnvPrefixes adds to the prefixes of variables that are passed on.
func (g *Given) EnvPrefixes(name string, prefixes []string) {
	if prefixes != nil && g.Settings.EnvPrefixes == nil {
		g.Settings.EnvPrefixes = []string{} // nothing, and not what is passed on by default
	}
	for _, prefix := range g.expand(name, prefixes) {
		g.check(name, checkVariable(prefix))
		g.Settings.EnvPrefixes = append(g.Settings.EnvPrefixes, prefix)
	}
}

// WorkspaceMode sets how the project gets into the sandbox; "" leaves it open.
func (g *Given) WorkspaceMode(name, mode string) {
	if g.Settings.Workspace.Mode = mode; mode != "" && !slices.Contains(WorkspaceModes, mode) {
		g.check(name, &problem{quote(mode) + " is not known", "accepted: " + strings.Join(WorkspaceModes, ", ")})
	}
}

// Mounts adds mounts as parseMount reads them. Relative host paths are those of the
// folder dir.
func (g *Given) Mounts(name string, texts []string, dir string) {
	for _, text := range g.expand(name, texts) {
		m, bad := parseMount(text)
		if bad == nil && strings.HasPrefix(m.Host, ".") {
			m.Host = filepath.Join(dir, filepath.FromSlash(m.Host))
		}
		g.check(name, bad)
		g.Settings.Mounts = append(g.Settings.Mounts, m)
	}
}

// Memory sets the limit of memory, such as "4g"; "" leaves it open.
func (g *Given) Memory(name, text string) {
	if text != "" {
		var bad *problem
		g.Limits.Memory, bad = parseSize(text)
		g.check(name, bad)
		g.usable(name, Limits{Memory: g.Limits.Memory})
	}
}

// Disk sets the limit of disk, such as "10g"; "" leaves it open.
func (g *Given) Disk(name, text string) {
	if text != "" {
		var bad *problem
		g.Limits.Disk, bad = parseSize(text)
		g.check(name, bad)
		g.usable(name, Limits{Disk: g.Limits.Disk})
	}
}

// CPUs sets the limit of processors; 0 leaves it open.
func (g *Given) CPUs(name string, n float64) {
	if n != 0 {
		g.Limits.CPUs = n
		g.check(name, checkPositive(n))
		g.usable(name, Limits{CPUs: n})
	}
}

// Budgets adds budgets as spending.Parse reads them.
func (g *Given) Budgets(name string, texts []string) {
	for _, text := range g.expand(name, texts) {
		b, bad := parseBudget(text)
		g.check(name, bad)
		g.Settings.Budgets = append(g.Settings.Budgets, b)
	}
}

// Models adds patterns of the models that may be asked; nil leaves them open.
func (g *Given) Models(name string, patterns []string) {
	if patterns = g.expand(name, patterns); patterns == nil {
		return
	}
	for _, pattern := range patterns {
		g.check(name, checkModel(pattern))
	}
	g.Settings.Models = append(g.Settings.Models, patterns)
}

// Accept judges the network as well and returns the settings, or everything that is wrong
// with what was given.
func (g *Given) Accept() (*Accepted, []error) {
	accepted, bad := Accept(g.Settings)
	for _, e := range bad {
		name := "network." + e.List
		if names := g.names[e.List]; e.Index < len(names) {
			name = names[e.Index]
		}
		g.check(name, &problem{e.Message, e.Hint})
	}
	if len(g.errs) > 0 {
		return nil, g.errs
	}
	return accepted, nil
}

// Expand returns a list with the lines of "@name" files in their place.
func (g *Given) Expand(name string, entries []string) []string { return g.expand(name, entries) }

func (g *Given) expand(name string, entries []string) (out []string) {
	for _, e := range entries {
		file, isFile := listFile(e)
		if !isFile || g.Read == nil {
			out = append(out, e)
			continue
		}
		content, err := g.Read(file)
		if err != nil {
			g.check(name, &problem{fmt.Sprintf("cannot read the list %q: %v", file, unread(err)),
				"after @ comes the path of a file with one entry a line"})
			continue
		}
		for _, line := range listLines(content) {
			if g.lines++; g.lines == maxLines+1 {
				g.check(name, tooManyLines())
			}
			if g.lines > maxLines {
				break
			}
			out = append(out, line)
		}
	}
	return out
}

func (g *Given) named(list, name string, times int) {
	if g.names == nil {
		g.names = map[string][]string{}
	}
	g.names[list] = append(g.names[list], slices.Repeat([]string{name}, times)...)
}

// usable notes a limit with which nothing can run.
func (g *Given) usable(name string, l Limits) {
	if err := l.Usable(); err != nil {
		g.errs = append(g.errs, fmt.Errorf("%s: %w", name, err))
	}
}

// check notes what is wrong with a value, if anything is.
func (g *Given) check(name string, bad *problem) {
	if bad == nil {
		return
	}
	err := fmt.Errorf("%s: %s", name, bad.message)
	if bad.hint != "" {
		err = diag.WithHint(err, "%s", bad.hint)
	}
	g.errs = append(g.errs, err)
}
