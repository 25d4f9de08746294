package rights

import (
	"slices"
	"strings"

	"github.com/org/claude-sandbox/devcontainer/budget"
	"github.com/org/claude-sandbox/devcontainer/compose"
	"github.com/org/claude-sandbox/devcontainer/dockerfile"
	"github.com/org/claude-sandbox/internal/jsonc"
)

// Kind says what a Right is about, and so which fields it has.
type Kind int

// The kinds. Value is the text as it is written unless it says otherwise.
const (
	Privileged  Kind = iota // Name: the hook of Compose that is; "" for the whole container
	Capability              // Value: without CAP_, in upper case; "ALL"
	SecurityOpt             // Value: "seccomp=unconfined"
	Namespace               // Name: docker run's name of it, "network", or a network of Compose; Value, for which see Joins
	Device                  // Value: "" for a reservation of Compose
	Mounted                 // Mount; tmpfs among them
	Granted                 // a secret or config of Compose from the host: Name, Mount, Host
	VolumesFrom             // Value: another container
	ExtraHost               // Value: "name:address"
	EngineAPI               // the engine's socket with the credentials for its registries
	Env                     // Name, Value, Host
	SessionEnv              // remoteEnv: Name, Value, Host
	BuildArg                // Name, Value, Host
	EnvFile                 // Value: the file
	Port                    // Value: [[ADDRESS:]HOST:]CONTAINER, "*" for all; Name: "number" for a JSON number
	Sysctl                  // Name, with dots; Value
	User                    // Value: who the first process is
	BuildOption             // Name: the option of docker build; Value
	HostCommand             // initializeCommand: Node
	HostProgram             // Value: a provider of Compose
	Extension               // Value: PUBLISHER.NAME
	Hook                    // Node: a lifecycle command that runs inside; Key: its property
	Exposed                 // Value: a port that --publish-all publishes, "8080/tcp"
	Session                 // remoteUser: Value: whose an editor's sessions and lifecycle commands are
	Entrypoint              // Words: what the first process runs; of a Feature or label: what runs in front of it
	Command                 // Words: what the entrypoint gets, or the first process without one
	Init                    // a process of the engine's is the first one, and starts the entrypoint
	Installed               // Name: a Feature; Value: the one that depends on it, or ""; Node: its metadata, or nil
	Image                   // Value: the image that the container is made from; none where one is built
	Labelled                // Node: an object of properties in a label's metadata
)

// Notation is where a right is written.
type Notation int

// The notations.
const (
	Property   Notation = iota // of devcontainer.json
	Option                     // runArgs and build.options
	Compose                    // a service of a Compose file
	Feature                    // metadata of a Feature of the repository, or what is known of a published one
	Dockerfile                 // of the stage that becomes the container
	Label                      // metadata in a label of the image or the container
)

// Right is one thing that a container gets.
type Right struct {
	Kind  Kind
	Name  string
	Value string
	Node  *jsonc.Node // of a command, in any of its forms
	Words []string    // with the shell in front that a text of a Dockerfile has
	Mount Mount
	// Host is the variable of the host that Value comes from; "" = it is literal.
	Host string

	Notation Notation
	Key      string           // what its notation calls it: "capAdd", "cap-add", "cap_add"
	Service  *compose.Service // that gets it; nil but for Compose
	Next     bool             // Service is not the dev container, but runs next to it; one of several that share the value
	From     jsonc.Member     // the Feature that brings it, among the configuration's; Value is nil but for Feature

	Place Place
	// The places of a mount's source and target, which are Place where
	// they have none of their own.
	SourceAt, TargetAt Place
}

// Place is where a right is written.
type Place struct {
	Doc        *jsonc.Document
	Start, End int    // offsets in Doc
	Pointer    string // of a JSON value; "" in a Compose file
}

// Written is the right as its notation writes it, for messages.
func (r Right) Written() string {
	if r.Notation == Compose || r.Notation == Label {
		return r.Key + ": " + r.Value
	}
	return "--" + r.Key + "=" + r.Value
}

// Named is the name that its notation gives it, for messages: "--cap-add", "cap_add".
func (r Right) Named() string {
	switch r.Notation {
	case Option:
		return "--" + r.Key
	case Label:
		return r.Key + " in the label " + MetadataLabel
	}
	return r.Key
}

// Own reports whether the dev container itself gets it, by the configuration
// or its service, and not a Feature or a service next to it.
func (r Right) Own() bool { return r.Notation != Feature && !r.Next }

// At is the place of a part of r.Node.
func (r Right) At(n *jsonc.Node) Place {
	if r.Notation == Label {
		return r.Place
	}
	return placeOf(r.Place.Doc, n)
}

// Joins says whose namespace a Namespace is: the host's, another container's
// (its name), or neither, which is a network or the container's own.
func (r Right) Joins() (host bool, container, service string) {
	value := r.Value
	if r.Name == "network" && strings.Contains(value, "=") { // name=NETWORK,alias=…
		for _, field := range MountFields(value) {
			if name, ok := strings.CutPrefix(strings.TrimSpace(field), "name="); ok {
				value = name
			}
		}
	}
	if name, ok := strings.CutPrefix(value, "container:"); ok {
		return false, name, ""
	}
	if name, ok := strings.CutPrefix(value, "service:"); ok && r.Notation == Compose {
		return false, "", name
	}
	return value == "host", "", ""
}

// Sources are the files of one configuration.
type Sources struct {
	Config *jsonc.Document // devcontainer.json; its Root is an object
	// ByCompose says that Compose starts the container: then runArgs, appPort
	// and workspaceMount do nothing.
	ByCompose bool
	Args      []Arg // runArgs, as docker run reads it
	Build     []Arg // build.options, as docker build reads it
	Compose   *compose.Project
	Service   *compose.Service // the dev container's; nil when it is not there
	// Stage of the Dockerfile becomes the container; nil without one.
	Stage      *dockerfile.Stage
	Dockerfile *jsonc.Document
	// Budget bounds how many mounts volumes_from and how many Features
	// dependsOn may bring; nil = any number.
	Budget *budget.Budget
	// Metadata returns the metadata of a Feature of the repository; nil when
	// there is none.
	Metadata func(id string) *jsonc.Document
	// Fill fills in variables in the metadata of labels; nil = they stay as they are written.
	Fill func(*jsonc.Node)
}

// List reads all notations: properties, runArgs, Compose, Features, Dockerfile, labels.
func List(s Sources) []Right {
	l := &lister{Sources: s, seen: map[shared]bool{}}
	l.properties()
	l.options()
	l.services()
	l.features()
	l.dockerfile()
	l.labels()
	return l.out
}

// OfFeature reads the metadata of a Feature by itself. Its root is an object.
func OfFeature(doc *jsonc.Document) []Right {
	l := &lister{}
	l.metadata(doc, doc.Root, Right{})
	return l.out
}

type lister struct {
	Sources
	out  []Right
	seen map[shared]bool
}

// shared is a value of a Compose file that extends or an anchor may have given
// to other services, too.
type shared struct {
	kind       Kind
	file, name string
	start      int
}

// add lists a right. If several services next to the dev container share a
// value, only the first counts, except for the service whose network it joins:
// 1,000 services that extend each other may hold a million values.
func (l *lister) add(r Right) {
	if r.Next && r.Service.Name != l.joined() {
		value := shared{r.Kind, r.Place.Doc.File, r.Name, r.Place.Start}
		if l.seen[value] {
			return
		}
		l.seen[value] = true
	}
	if r.SourceAt.Doc == nil {
		r.SourceAt, r.TargetAt = r.Place, r.Place
	}
	l.out = append(l.out, r)
}

// joined is the service whose network the dev container joins, or "".
func (l *lister) joined() string {
	if l.Service == nil {
		return ""
	}
	name, _ := strings.CutPrefix(l.Service.Get("network_mode").String(), "service:")
	return name
}

// Of returns the rights of the given kinds, in their order.
func Of(all []Right, kinds ...Kind) []Right {
	n := 0
	for i := range all {
		if slices.Contains(kinds, all[i].Kind) {
			n++
		}
	}
	if n == 0 {
		return nil
	}
	out := make([]Right, 0, n)
	for i := range all {
		if slices.Contains(kinds, all[i].Kind) {
			out = append(out, all[i])
		}
	}
	return out
}

// CapabilityName is a capability without CAP_, in upper case.
func CapabilityName(s string) string {
	return strings.TrimPrefix(strings.ToUpper(strings.TrimSpace(s)), "CAP_")
}
