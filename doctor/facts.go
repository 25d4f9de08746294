package doctor

import (
	"github.com/org/claude-sandbox/internal/engine"
)

// Facts is what is known of a machine.
type Facts struct {
	System    string // GOOS
	Container string // the kind of container that this program itself runs in; "" = none
	CI        bool

	Engine    *engine.Description // nil = none answers, and EngineErr says why
	EngineErr error

	// Firewall is whether the firewall stands in a container of the engine; FirewallErr
	// why not. It is not Tried before its image was built, which the first run does.
	FirewallTried bool
	FirewallErr   error

	Git      string            // what "git --version" says; "" = there is none
	GitErr   error             // why the git that is there is refused
	Programs map[string]string // those that open dev containers: name -> path

	KeySource string // the place of the model's key; never the key
	KeyErr    error  // why none can be used

	Proxy   string   // the variable that names a proxy for the model's requests, "" = none
	Bundles []Bundle // files of certificates that variables name

	Folders  []Folder
	Settings []Source
}

// Source is a file of settings, or what else of them a run reads.
type Source struct {
	Check string // the finding's name: such as "settings" or "project"
	Found string // how it is where nothing is wrong
	Err   error  // why it cannot be used, with the hint; nil = it can
	// Grave is what an Err is: Missing where no run works with it, else Warning or Note.
	Grave Status
}

// Bundle is a file of certificates that a variable names.
type Bundle struct {
	Variable string
	Err      error // it cannot be read
}

// Folder is one that runs write to.
type Folder struct {
	Holds string // "runs", "images", "your settings"
	Path  string
	Err   error  // it may not be used
	Free  uint64 // bytes of its file system for this user; ^uint64(0) = unknown
}
