package settings

import (
	"path"
	"strings"

	"github.com/org/claude-sandbox/firewall/credential"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/jsonc"
)

// The rules that Parse reports, in addition to the syntax rules of jsonc.
const (
	RuleUnknown  = "SBX201"
	RuleType     = "SBX202"
	RuleValue    = "SBX203"
	RuleNetwork  = "SBX210"
	RuleListFile = "SBX211"
	RuleReview   = "SBX212" // a warning
)

// Parse reads the settings in src. file is the name that findings quote; read
// resolves "@name" entries of lists (see DirReader and NoFiles). The result
// is nil when a finding is an error; then the findings hold every error of
// the file at once, sorted by position.
func Parse(file string, src []byte, read FileReader) (*Accepted, []diag.Finding) {
	return parse(file, src, read, nil)
}

// parse is Parse, and fills own, which is nil for files that are not the user's own.
func parse(file string, src []byte, read FileReader, own *Own) (*Accepted, []diag.Finding) {
	doc, findings := jsonc.Parse(file, src)
	if doc == nil {
		return nil, findings
	}
	d := &decoder{doc: doc, read: read, findings: findings, places: map[string][]place{}, own: own}
	s := d.settings(doc.Root)
	policy := d.policy(s.Network)
	diag.Sort(d.findings)
	if diag.Worst(d.findings, diag.SeverityError) > 0 {
		return nil, d.findings
	}
	return &Accepted{*s, policy, d.places}, d.findings
}

// decoder walks the document once and collects what is wrong.
type decoder struct {
	doc      *jsonc.Document
	read     FileReader
	findings []diag.Finding
	lines    int                // that list files have brought
	places   map[string][]place // where the entries of a network list stand
	own      *Own               // nil = the file is not the user's own
}

func (d *decoder) settings(root *jsonc.Node) *Settings {
	s := &Settings{}
	d.object(root, fields{
		"$schema": func(n *jsonc.Node) { d.text(n, new(string)) },
		"network": func(n *jsonc.Node) { d.networkSection(n, &s.Network) },
		"workspace": func(n *jsonc.Node) {
			d.object(n, fields{
				"mode": func(n *jsonc.Node) { d.choice(n, &s.Workspace.Mode, WorkspaceModes...) },
				"protect": func(n *jsonc.Node) {
					s.Workspace.Protect = d.localPaths(n, "workspace.protect", "the workspace", "write it relative to the workspace, without ..")
				},
			})
		},
		"mounts":  func(n *jsonc.Node) { d.each(n, func(e *jsonc.Node) { s.Mounts = append(s.Mounts, d.mount(e)) }) },
		"secrets": func(n *jsonc.Node) { d.each(n, func(e *jsonc.Node) { s.Secrets = append(s.Secrets, d.secret(e)...) }) },
		"env":     func(n *jsonc.Node) { s.Env = d.env(n) },
		"envPrefixes": func(n *jsonc.Node) {
			// A list without entries says that nothing is passed on.
			s.EnvPrefixes = d.accepted([]string{}, n, d.envName)
		},
		"limits": func(n *jsonc.Node) { d.limits(n, &s.Limits) },
		"budgets": func(n *jsonc.Node) {
			for _, e := range d.list(n) {
				b, bad := parseBudget(e.text)
				if bad != nil {
					d.at(e.place, RuleValue, "budgets: "+bad.message, bad.hint)
					continue
				}
				s.Budgets = append(s.Budgets, b)
			}
		},
		"models": func(n *jsonc.Node) { s.Models = d.models(n) },
		"mcp": func(n *jsonc.Node) {
			d.object(n, fields{"servers": func(n *jsonc.Node) {
				d.each(n, func(e *jsonc.Node) { s.MCP.Servers = append(s.MCP.Servers, d.server(e)) })
			}})
		},
		"instructions": func(n *jsonc.Node) {
			s.Instructions = d.localPaths(n, "instructions", "your folder of Claude Code",
				`such as "CLAUDE.md", "skills" or "agents/NAME.md", without ..`)
		},
		"image":        func(n *jsonc.Node) { d.nonEmpty(n, &s.Image) },
		"sandbox_mode": func(n *jsonc.Node) { d.ownOnly(n, func(o *Own) { d.choice(n, &o.SandboxMode, SandboxModes...) }) },
		"model":        func(n *jsonc.Node) { d.ownOnly(n, func(o *Own) { d.nonEmpty(n, &o.Model) }) },
		"providers": func(n *jsonc.Node) {
			d.ownOnly(n, func(o *Own) {
				d.each(n, func(e *jsonc.Node) { o.Providers = append(o.Providers, d.provider(e)) })
			})
		},
		"topology": func(n *jsonc.Node) {
			d.choice(n, (*string)(&s.Topology), string(TopologySingle), string(TopologySidecar))
		},
	})
	return s
}

// accepted appends those of a list to out that ok, which says what is wrong with others,
// reports.
func (d *decoder) accepted(out []string, n *jsonc.Node, ok func(e entry) bool) []string {
	for _, e := range d.list(n) {
		if ok(e) {
			out = append(out, e.text)
		}
	}
	return out
}

// localPaths reads paths that stay below a folder.
func (d *decoder) localPaths(n *jsonc.Node, list, folder, hint string) []string {
	return d.accepted(nil, n, func(e entry) bool {
		local := localPath(e.text)
		if !local {
			d.at(e.place, RuleValue, list+": "+quote(e.text)+" is not a path below "+folder, hint)
		}
		return local
	})
}

func (d *decoder) mount(n *jsonc.Node) Mount {
	var m Mount
	d.object(n, fields{
		"host":      func(n *jsonc.Node) { d.nonEmpty(n, &m.Host) },
		"container": func(n *jsonc.Node) { d.nonEmpty(n, &m.Container) },
		"readonly":  func(n *jsonc.Node) { d.boolean(n, &m.ReadOnly) },
	}, "host", "container")
	if c := n.Member("container"); m.Container != "" && m.Host != "" && c != nil {
		if bad := checkMount(m); bad != nil {
			d.node(c, RuleValue, bad.message, bad.hint)
		}
	}
	return m
}

// secret reads "NAME", "@file" (one name per line) or an object.
func (d *decoder) secret(n *jsonc.Node) []Secret {
	var out []Secret
	if n.Kind == jsonc.String {
		for _, e := range d.expand(n) {
			if d.envName(e) {
				out = append(out, Secret{Name: e.text})
			}
		}
		return out
	}
	if n.Kind != jsonc.Object {
		d.wrongType(n, "a name or an object with name, from, for and as")
		return nil
	}
	var s Secret
	var as *jsonc.Node
	d.object(n, fields{
		"name": func(n *jsonc.Node) {
			if d.text(n, &s.Name) {
				d.envName(entry{s.Name, d.placeOf(n)})
			}
		},
		"from": func(n *jsonc.Node) {
			if !d.text(n, &s.From) {
				return
			}
			if _, bad := parseReference(s.From); bad != nil {
				d.value(n, RuleValue, bad)
			}
		},
		"for": func(n *jsonc.Node) {
			if d.text(n, &s.For) {
				if message, hint := credential.CheckFor(s.For); message != "" {
					d.node(n, RuleValue, message, hint)
				}
			}
		},
		"as": func(n *jsonc.Node) { as = n },
	}, "name")
	switch {
	case as == nil:
	case s.For == "":
		d.choice(as, &s.As, "env", "file")
	case d.text(as, &s.As):
		if message, hint := credential.CheckForm(s.As); message != "" {
			d.node(as, RuleValue, message, hint)
		}
	}
	return []Secret{s}
}

func (d *decoder) env(n *jsonc.Node) map[string]string {
	if !d.want(n, jsonc.Object, "an object of names and texts") {
		return nil
	}
	env := map[string]string{}
	for _, m := range n.Members {
		d.envName(entry{m.Name, place{d.doc, m.NameStart, m.NameEnd, m.Value.Pointer}})
		var value string
		if d.text(m.Value, &value) {
			env[m.Name] = value
		}
	}
	return env
}

func (d *decoder) models(n *jsonc.Node) [][]string {
	// A list without entries lets no model be asked.
	return [][]string{d.accepted([]string{}, n, func(e entry) bool {
		bad := checkModel(e.text)
		if bad != nil {
			d.at(e.place, RuleValue, "models: "+bad.message, bad.hint)
		}
		return bad == nil
	})}
}

func (d *decoder) limits(n *jsonc.Node, l *Limits) {
	d.object(n, fields{
		"memory":  func(n *jsonc.Node) { d.size(n, &l.Memory); d.usable(n, Limits{Memory: l.Memory}) },
		"cpus":    func(n *jsonc.Node) { d.positive(n, &l.CPUs); d.usable(n, Limits{CPUs: l.CPUs}) },
		"pids":    func(n *jsonc.Node) { d.count(n, &l.PIDs); d.usable(n, Limits{PIDs: l.PIDs}) },
		"disk":    func(n *jsonc.Node) { d.size(n, &l.Disk); d.usable(n, Limits{Disk: l.Disk}) },
		"timeout": func(n *jsonc.Node) { d.duration(n, &l.Timeout) },
	})
}

func (d *decoder) server(n *jsonc.Node) MCPServer {
	var s MCPServer
	d.objectWith(MCPKeyHint, n, fields{
		"name": func(n *jsonc.Node) {
			if d.text(n, &s.Name) && !IsMCPName(s.Name) {
				d.node(n, RuleValue, n.Where()+" is not the name of a server", "letters, digits, _ and -, at most 64")
			}
		},
		"command": func(n *jsonc.Node) { d.nonEmpty(n, &s.Command) },
		"args": func(n *jsonc.Node) {
			// Arguments may start with @ ("@scope/package"), so no list files here.
			d.each(n, func(e *jsonc.Node) {
				var arg string
				if d.text(e, &arg) {
					s.Args = append(s.Args, arg)
				}
			})
		},
		"env": func(n *jsonc.Node) { s.Env = d.env(n) },
	}, "name", "command")
	return s
}

func (d *decoder) envName(e entry) bool {
	bad := checkVariable(e.text)
	if bad != nil {
		d.at(e.place, RuleValue, bad.message, bad.hint)
	}
	return bad == nil
}

// localPath reports whether p stays below the folder it is relative to.
func localPath(p string) bool {
	clean := path.Clean(p)
	leaves := path.IsAbs(clean) || clean == ".." || strings.HasPrefix(clean, "../")
	return clean != "." && !leaves && !strings.Contains(p, `\`) // Clean("") is "."
}
