package review

import "github.com/org/claude-sandbox/workspace/obeyed"

// Kind is why a person should look at a change.
type Kind string

// The kinds, the most dangerous first.
const (
	Value      Kind = "secret-value"
	Repository Kind = "repository"
	Git        Kind = "git"
	Shell      Kind = "shell"
	Editor     Kind = "editor"
	Agent      Kind = "agent"
	Hook       Kind = "hook"
	CI         Kind = "ci"
	Install    Kind = "install"
	Fetch      Kind = "fetch"
	Link       Kind = "link"
	Name       Kind = "name"
	Unseen     Kind = "invisible"
	Long       Kind = "long-line"
	Ends       Kind = "line-ends"
	Mode       Kind = "mode"
	Build      Kind = "build"
	Binary     Kind = "binary"
	Secret     Kind = "secret"
	NotShown   Kind = "not-shown"
)

// KindInfo is what is known of a kind.
type KindInfo struct {
	Kind  Kind
	Words string // for people
	// Unasked says that it acts although the project is not run: git, a shell, an editor,
	// an agent, a hook, CI or an install obeys it; that it is not what it looks like; or
	// that it carries a secret to all who get the files.
	Unasked bool
}

// kinds is the table of the kinds, the most dangerous first.
var kinds = [...]KindInfo{
	{Value, "holds a secret of the run", true},
	{Repository, "a new repository, whose configuration names programs", true},
	{Git, "git obeys it", true},
	{Shell, "shells and prompts obey it", true},
	{Editor, "editors obey it", true},
	{Agent, "coding agents obey it", true},
	{Hook, "commit hooks obey it", true},
	{CI, "CI obeys it", true},
	{Install, "runs when packages are installed", true},
	{Fetch, "fetches a program and runs it", true},
	{Link, "a link or a special file", true},
	{Name, "a name that misleads", true},
	{Unseen, "text that a reader does not see", true},
	{Long, "a line that leaves the screen", false},
	{Ends, "other line ends, among which a change hides", false},
	{Mode, "may be executed, or gives rights", false},
	{Build, "builds and tests obey it", false},
	{Binary, "binary", false},
	{Secret, "looks like a secret", false},
	{NotShown, "not shown", false},
}

// rank is a kind's place in the table.
func rank(k Kind) int {
	for i := range kinds {
		if kinds[i].Kind == k {
			return i
		}
	}
	return len(kinds)
}

// info is the table's line of a kind.
func (k Kind) info() KindInfo { return kinds[rank(k)] }

// kindOf is the kind of a file that programs obey by its name; "" for none.
func kindOf(c obeyed.Class) Kind {
	return map[obeyed.Class]Kind{
		obeyed.Git: Git, obeyed.Shell: Shell, obeyed.Editor: Editor, obeyed.Agent: Agent, obeyed.Hook: Hook, obeyed.CI: CI, obeyed.Build: Build,
	}[c]
}

// Finding is one reason to look at a change.
type Finding struct {
	Kind Kind   `json:"kind"`
	Line int    `json:"line,omitempty"` // in the file as it is now; 0 = all of it
	Text string `json:"text"`           // what it is, in words that may hold the agent's
}
