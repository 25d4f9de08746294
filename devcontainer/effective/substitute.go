package effective

import (
	"crypto/sha256"
	"fmt"
	"math/big"
	"path"
	"regexp"
	"strings"

	"github.com/org/claude-sandbox/devcontainer/budget"
)

// maxWork bounds the bytes that the variables of a project stand for.
const maxWork = 16 << 20

// variable is what the reference implementation takes for one.
var variable = regexp.MustCompile(`\$\{(.*?)\}`)

// Host is what variables of the host stand for.
type Host struct {
	Env       map[string]string
	Workspace string // absolute path of the folder that is opened
	Config    string // absolute path of the devcontainer.json
	GitRoot   string // absolute path of the repository around Workspace; "" without one
	Windows   bool
}

// substituter replaces variables in every text of a value; names of members
// stay. An unknown variable stays as it is written.
type substituter struct {
	host      Host
	container string         // ${containerWorkspaceFolder}
	work      *budget.Budget // bytes that variables may stand for; one for all substituters of a project
	err       error          // the first thing that the reference implementation refuses
}

func (s *substituter) value(v any) any {
	switch v := v.(type) {
	case string:
		return s.text(v)
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = s.value(e)
		}
		return out
	case Object:
		out := make(Object, len(v))
		for i, m := range v {
			out[i] = Member{m.Name, s.value(m.Value)}
		}
		return out
	}
	return v
}

func (s *substituter) text(t string) string {
	if !strings.Contains(t, "${") {
		return t
	}
	return variable.ReplaceAllStringFunc(t, func(match string) string {
		if value := s.variable(match); s.work.Spend(len(value)) {
			return value
		}
		return match
	})
}

// variable returns what one stands for; itself where that is not known.
func (s *substituter) variable(match string) string {
	parts := strings.Split(match[2:len(match)-1], ":")
	switch parts[0] {
	case "env", "localEnv":
		return s.lookup(match, parts[1:])
	case "localWorkspaceFolder":
		return s.host.Workspace
	case "localWorkspaceFolderBasename":
		return s.base(s.host.Workspace)
	case "containerWorkspaceFolder":
		if s.container != "" {
			return s.container
		}
	case "containerWorkspaceFolderBasename":
		if s.container != "" {
			return path.Base(s.container)
		}
	}
	return match
}

func (s *substituter) base(folder string) string {
	if s.host.Windows {
		folder = strings.ReplaceAll(folder, `\`, "/")
	}
	return path.Base(folder)
}

// lookup finds a variable of the host. Only the text up to the next colon is
// the default: "${localEnv:X:http://y}" gives "http".
func (s *substituter) lookup(match string, args []string) string {
	if len(args) == 0 {
		if s.err == nil {
			s.err = fmt.Errorf("%s names no environment variable", match)
		}
		return match
	}
	for name, value := range s.host.Env {
		if name == args[0] || s.host.Windows && strings.EqualFold(name, args[0]) {
			return value
		}
	}
	if len(args) > 1 {
		return args[1]
	}
	return ""
}

// withID replaces ${devcontainerId}, which the reference implementation does
// only when it starts the container.
func withID(v any, id string) any {
	switch v := v.(type) {
	case string:
		return variable.ReplaceAllStringFunc(v, func(match string) string {
			if name, _, _ := strings.Cut(match[2:len(match)-1], ":"); name == "devcontainerId" {
				return id
			}
			return match
		})
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = withID(e, id)
		}
		return out
	case Object:
		out := make(Object, len(v))
		for i, m := range v {
			out[i] = Member{m.Name, withID(m.Value, id)}
		}
		return out
	}
	return v
}

// labels identify the container of a workspace.
func (h Host) labels() []string {
	return []string{"devcontainer.local_folder=" + h.Workspace, "devcontainer.config_file=" + h.Config}
}

// id is ${devcontainerId}: the SHA-256 of the labels as JSON with sorted names,
// as a number in base 32, 52 digits (specification, "devcontainerId").
func (h Host) id() string {
	labels, _ := marshal(Object{{"devcontainer.config_file", h.Config}, {"devcontainer.local_folder", h.Workspace}})
	sum := sha256.Sum256(labels)
	return fmt.Sprintf("%052s", new(big.Int).SetBytes(sum[:]).Text(32))
}
