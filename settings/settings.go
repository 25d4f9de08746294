package settings

import (
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/org/claude-sandbox/credproxy/spending"
	"github.com/org/claude-sandbox/firewall"
)

// Settings is the whole of sandbox.jsonc. The zero value of every field means
// that the file does not say; the caller fills in defaults. A list of network
// that the file has and leaves empty is empty and not nil: the file says
// "nothing" there, and no default takes its place. A file with nothing but
// "network" is valid.
type Settings struct {
	Network     firewall.Network
	Workspace   Workspace
	Mounts      []Mount
	Secrets     []Secret
	Env         map[string]string
	EnvPrefixes []string // names of the caller's environment that are passed on, by prefix; empty and not nil: none
	Limits      Limits
	Budgets     []spending.Budget // all of them hold
	Models      [][]string        // patterns of the models that may be asked, a list of each file or flag, all of which hold
	MCP         MCP
	// Instructions are the user's own texts that Claude gets, below the user's folder of
	// Claude Code: "CLAUDE.md", "skills", "agents/NAME.md" and the like.
	Instructions []string
	Image        string // image reference of the sandbox
	Topology     Topology
}

// Topology says which container owns the network namespace.
type Topology string

// The topologies.
const (
	TopologySingle  Topology = "single"  // firewall and agent in one container
	TopologySidecar Topology = "sidecar" // the firewall's container owns the network; the agent's joins it without any capability
)

// Workspace says how the project gets into the sandbox.
type Workspace struct {
	Mode    string   // one of WorkspaceModes
	Protect []string // paths below the workspace that the agent may read and not write; slash-separated, relative
}

// WorkspaceModes are the ways into the sandbox: the folder itself, whose changes are seen
// at once; the same, read-only; an empty folder; a copy; or the files of the repository's
// last commit.
var WorkspaceModes = []string{"bind", "ro", "none", "copy", "clone"}

// Mount is one folder or file of the host that the sandbox sees.
type Mount struct {
	Host      string // path on the host; "~/" is the user's home, relative is to the settings file
	Container string // absolute path in the container
	ReadOnly  bool
}

// Secret names a value that is resolved on the host when a run starts.
type Secret struct {
	Name string // name of the variable or of the file
	From string // where to ask, see Reference; "" asks the caller's environment for Name
	As   string // "env" or "file"; "" means env. With For: a form, see credential.CheckForm

	// For names typed entries of the allowlist, see operation.Named: the secret is then a
	// key, which goes with the requests that they allow and is nowhere in the sandbox.
	For string
}

// Limits bounds a run. Zero means no limit of its own.
type Limits struct {
	Memory  int64         // bytes
	CPUs    float64       // processors; 1.5 is one and a half
	PIDs    int64         // processes and threads
	Disk    int64         // bytes
	Timeout time.Duration // wall clock
}

// MCP lists the servers of the Model Context Protocol that run in the sandbox.
type MCP struct {
	Servers []MCPServer
}

// MCPServer is one program that speaks the protocol on its standard streams, or one that
// is reached by HTTP. All values may hold ${NAME}, taken from the agent's environment.
type MCPServer struct {
	Name    string
	Type    string // "stdio", "http" or "sse"; "" means stdio
	Command string
	Args    []string
	Env     map[string]string
	URL     string            // instead of Command; no file of settings has one
	Headers map[string]string // of the requests to URL
}

var mcpName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// IsMCPName reports whether Claude Code takes name for a server's.
func IsMCPName(name string) bool { return mcpName.MatchString(name) }

// MCPKeyHint is what helps whoever gave a server a key for hosts of its own; "" for any
// other key.
func MCPKeyHint(key string) string {
	switch strings.ToLower(key) {
	case "network", "policy", "allow", "deny", "presets", "whitelist", "hosts", "alloweddomains", "permissions", "sandbox":
		return "a server has no policy of its own: it shares the agent's network; one that may reach less than the agent, or more, " +
			"runs outside of the sandbox, behind --mcp-passthrough"
	}
	return ""
}

// MergeMCPServers returns the servers of both lists, each name once: top's counts.
func MergeMCPServers(base, top []MCPServer) []MCPServer {
	out := slices.Clone(base)
	for _, s := range top {
		if i := slices.IndexFunc(out, func(b MCPServer) bool { return b.Name == s.Name }); i >= 0 {
			out[i] = s
			continue
		}
		out = append(out, s)
	}
	return out
}
