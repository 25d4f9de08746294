package obeyed

import "fmt"

// Class is why a file is obeyed. A greater class needs less of a person: a
// build runs when somebody starts it, a prompt obeys a file when a shell enters
// the folder.
type Class int

// The classes.
const (
	None   Class = iota
	Hidden       // in a hidden folder at the root, which many tools read
	Build        // builds, tests and package managers run it
	CI           // CI and the code host obey it once it is pushed
	Hook         // hooks run it at the next commit
	Agent        // coding agents obey it
	Editor       // editors and language servers obey it when the folder is opened
	Shell        // prompts, version managers and consoles obey it in the folder
	Git          // version control obeys it
)

// names are the classes as text, in changes.json and elsewhere.
var names = [...]string{None: "", Hidden: "hidden", Build: "build", CI: "ci", Hook: "hook", Agent: "agent", Editor: "editor",
	Shell: "shell", Git: "git"}

// String is the class's name; "" for None.
func (c Class) String() string { return names[c] }

// MarshalText gives the class's name.
func (c Class) MarshalText() ([]byte, error) { return []byte(names[c]), nil }

// UnmarshalText reads a class's name. It errs on a name that is none.
func (c *Class) UnmarshalText(text []byte) error {
	for class, name := range names {
		if name == string(text) {
			*c = Class(class)
			return nil
		}
	}
	return fmt.Errorf("%q is no class of obeyed files", text)
}

// Reason says in a few words who obeys the file; "" for None.
func (c Class) Reason() string {
	switch c {
	case Hidden:
		return "in a hidden folder"
	case Build:
		return "builds and tests obey it"
	case CI:
		return "CI obeys it"
	case Hook:
		return "commit hooks obey it"
	case Agent:
		return "coding agents obey it"
	case Editor:
		return "editors obey it"
	case Shell:
		return "shells and prompts obey it"
	case Git:
		return "git obeys it"
	}
	return ""
}

// OnSight reports whether programs obey the file without being asked: when
// somebody opens the folder, enters it with a shell, starts an agent there or
// commits.
func (c Class) OnSight() bool { return c >= Hook }

// Dangerous reports whether a person should look at a change before building,
// committing or pushing.
func (c Class) Dangerous() bool { return c >= Build }
