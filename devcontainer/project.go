package devcontainer

import (
	"bytes"
	"errors"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/org/claude-sandbox/devcontainer/budget"
	"github.com/org/claude-sandbox/devcontainer/dockerfile"
	"github.com/org/claude-sandbox/devcontainer/org"
	"github.com/org/claude-sandbox/devcontainer/rights"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/jsonc"
	"github.com/org/claude-sandbox/settings"
)

// Project is one configuration with what lies around it. Make one with Load,
// Open or Parse.
type Project struct {
	Texts
	Location
	Meaning
	Org    *org.Policy    // the organisation's policy; nil without one
	Syntax []diag.Finding // of all documents
	Gaps   []gap          // what is named and was not looked at
	Bare   bool           // a Dockerfile alone; Config is made up
	work   *budget.Budget // how many mounts and Features others may bring
	unset  *unset         // fills in variables; nil = texts are as they are written
}

// Texts are the files of a configuration. Those that do not exist are nil; a text
// (Dockerfile, Compose files) has no Root.
type Texts struct {
	Config     *jsonc.Document    // devcontainer.json; its Root is nil when it is not well formed
	Settings   *jsonc.Document    // sandbox.jsonc next to it
	Policy     *settings.Accepted // what Settings says; nil also when it is not valid
	Lock       *jsonc.Document    // devcontainer-lock.json of this configuration
	Made       *jsonc.Document    // sandbox.lock next to it: what it was made from
	Dockerfile *jsonc.Document    // what build.dockerfile, dockerFile or the Compose service names
	Compose    []*jsonc.Document  // what dockerComposeFile names, in its order

	metadata map[string]*jsonc.Document // of local Features, by id
	more     []*jsonc.Document          // files that those above name
}

// Location is where a configuration lies.
type Location struct {
	// Tree is the repository; nil when nothing is known around the file, as
	// for standard input. Then rules say nothing about what is missing.
	Tree     Tree
	Dir      string // folder of the configuration in Tree; "." is its root
	Home     string // project folder in Tree: the one that is opened as workspace
	Folder   string // name of the configuration's folder; "" when it is not known
	Built    string // path of the Dockerfile in Tree; "" without one
	HomeName string // name of the project's folder on this machine; "" when it is not known
	name     string // base name of the configuration in Tree
	base     string // folder of the configuration as the user named it
}

// Meaning is what the files say. It is worked out once, when they are read.
type Meaning struct {
	Build     *Build         // the Dockerfile as it is built; nil without one
	Composed  *Composed      // what Compose says; nil without it
	RunArgs   []rights.Arg   // what runArgs says
	BuildArgs []rights.Arg   // what build.options says
	Rights    []rights.Right // what the container gets, in whichever notation
}

// Parse makes a Project of a devcontainer.json alone. file is only quoted.
func Parse(file string, src []byte) *Project {
	p := &Project{Location: Location{base: filepath.Dir(file)}}
	p.config(file, src)
	p.understand()
	return p
}

// Load makes a Project of the configuration name in tree, and of everything
// that it names. file is what findings quote for it. The error says that the
// configuration itself cannot be read; anything else that is missing is nil.
func Load(tree Tree, name, file string) (*Project, error) { return load(tree, name, file, nil) }

func load(tree Tree, name, file string, u *unset) (*Project, error) {
	src, err := tree.Read(name)
	if err != nil {
		return nil, err
	}
	if isDockerfile(path.Base(name)) {
		return bareDockerfile(file, src), nil
	}
	p := &Project{Location: Location{Tree: listed{tree, map[string][]string{}, map[string]Kind{}}, Dir: path.Dir(name), name: path.Base(name),
		base: filepath.Dir(file)}, unset: u}
	p.Home = projectFolder(p.Dir)
	if p.Dir != "." {
		p.Folder = path.Base(p.Dir)
	}
	p.config(file, src)
	lock := "devcontainer-lock.json"
	if path.Base(name)[0] == '.' {
		lock = ".devcontainer-lock.json"
	}
	p.settings()
	p.Lock = p.jsonBeside(lock)
	p.Made = p.jsonBeside(LockName)
	root := p.Object()
	for _, n := range []*jsonc.Node{root.Member("build").Member("dockerfile"), root.Member("dockerFile")} {
		if s, ok := n.Str(); ok {
			p.dockerfile(s, n)
		}
	}
	for _, n := range rights.Texts(root.Member("dockerComposeFile")) {
		if doc := p.text(n.Text, n); doc != nil {
			p.Compose = append(p.Compose, doc)
		}
	}
	p.Composed = readCompose(p)
	if name, ok := p.Composed.dockerfile(); ok && p.Dockerfile == nil {
		p.dockerfile(name, root.Member("service"))
	}
	p.understand()
	return p, nil
}

// dockerfile reads the Dockerfile that n names.
func (p *Project) dockerfile(name string, n *jsonc.Node) {
	p.Built, p.Dockerfile = "", p.text(name, n)
	if p.Dockerfile != nil {
		p.Built, _ = p.Path(name)
	}
}

func (p *Project) config(file string, src []byte) {
	doc, findings := jsonc.Parse(file, src)
	p.Syntax = append(p.Syntax, conflicted(src, doc, findings)...)
	if doc == nil {
		doc = jsonc.Text(file, src)
	}
	p.unset.fill(doc.Root)
	p.Config = doc
}

// understand works out what the files say together.
func (p *Project) understand() {
	p.work, p.metadata = budget.New(MaxBrought), map[string]*jsonc.Document{}
	root := p.Object()
	if root == nil {
		return
	}
	if p.Kind() == FeatureFile {
		p.Rights = rights.OfFeature(p.Config)
		if p.Tree != nil {
			p.readInstall()
		}
		return
	}
	p.RunArgs = rights.RunOptions.Parse(p.EngineOnly("runArgs"))
	if root.Member("dockerFile") != nil || root.Member("build").Member("dockerfile") != nil {
		p.BuildArgs = rights.ImageOptions.Parse(root.Member("build").Member("options"))
	}
	s := rights.Sources{Config: p.Config, ByCompose: p.ByCompose(), Args: p.RunArgs, Build: p.BuildArgs, Budget: p.work,
		Metadata: p.FeatureMetadata, Fill: p.unset.fill}
	if p.Composed != nil {
		s.Compose, s.Service = p.Composed.Project, p.Composed.Service
	}
	if p.Build = readBuild(p); p.Build != nil {
		s.Stage, s.Dockerfile = p.Build.Final, p.Build.File.Doc
	}
	p.Rights = rights.List(s)
}

// readInstall reads the program of a Feature: a step that root runs in a build.
func (p *Project) readInstall() {
	if doc := p.text("install.sh", p.Object()); doc != nil {
		p.more = append(p.more, doc)
		file := dockerfile.Script(doc.File, doc.Src)
		p.Build = &Build{File: file, Final: file.Stages[0], Needed: file.Stages}
	}
}

// MaxBrought bounds the mounts that volumes_from brings, and the Features that
// dependsOn does: what takes over from several others that do the same
// multiplies them.
const MaxBrought = 20_000

// TooMuchBrought reports whether volumes_from and dependsOn bring more than
// MaxBrought, so that Rights lacks some.
func (p *Project) TooMuchBrought() bool { return p.work.Spent() }

// FeatureMetadata returns the metadata of a Feature of the repository, or nil.
func (p *Project) FeatureMetadata(id string) *jsonc.Document {
	if doc, ok := p.metadata[id]; ok {
		return doc
	}
	p.metadata[id] = p.readMetadata(id)
	return p.metadata[id]
}

func (p *Project) readMetadata(id string) *jsonc.Document {
	name := path.Join(id, FeatureName)
	full, ok := p.Path(name)
	if !ok || p.Tree == nil {
		return nil
	}
	src, err := p.Tree.Read(full)
	if err != nil {
		return nil
	}
	doc, _ := jsonc.Parse(p.Quoted(name), src)
	if doc == nil || doc.Root.Kind != jsonc.Object {
		return nil
	}
	p.unset.fill(doc.Root)
	return doc
}

// ByCompose reports whether Compose starts the container: an image or a
// Dockerfile next to it wins.
func (p *Project) ByCompose() bool {
	root := p.Object()
	return root.Member("dockerComposeFile") != nil && root.Member("image") == nil && root.Member("dockerFile") == nil &&
		root.Member("build").Member("dockerfile") == nil
}

// EngineOnly returns a property that becomes an option of the engine's command
// line; nil with Compose, where it does nothing.
func (p *Project) EngineOnly(name string) *jsonc.Node {
	if p.ByCompose() {
		return nil
	}
	return p.Object().Member(name)
}

// conflicted replaces the syntax error that a conflict marker causes by what
// it is.
func conflicted(src []byte, doc *jsonc.Document, findings []diag.Finding) []diag.Finding {
	if doc != nil || len(findings) != 1 || !bytes.Contains(src, []byte("<<<<<<<")) && !bytes.Contains(src, []byte(">>>>>>>")) {
		return findings
	}
	at := conflictMarker.FindIndex(src)
	if at == nil {
		return findings
	}
	return []diag.Finding{jsonc.Text(findings[0].File, src).Finding(at[0], at[1], diag.Finding{Rule: "SBX903", Severity: diag.SeverityError,
		Message: "a conflict was left in the file", Hint: "keep one side and remove the markers"})}
}

var conflictMarker = regexp.MustCompile(`(?m)^(<<<<<<<|>>>>>>>)( .*)?\r?$`)

// Documents returns the files of the project that were found.
func (p *Project) Documents() []*jsonc.Document {
	docs := append([]*jsonc.Document{p.Config, p.Settings, p.Lock, p.Made, p.Dockerfile}, p.Compose...)
	docs = append(docs, p.more...)
	return slices.DeleteFunc(docs, func(d *jsonc.Document) bool { return d == nil || p.Bare && d == p.Config })
}

// Also adds a file that another one names, once.
func (p *Project) Also(doc *jsonc.Document) {
	if !slices.ContainsFunc(p.Documents(), func(d *jsonc.Document) bool { return d.File == doc.File }) {
		p.more = append(p.more, doc)
	}
}

// Object is the configuration's object, or nil.
func (p *Project) Object() *jsonc.Node {
	if p.Config.Root == nil || p.Config.Root.Kind != jsonc.Object {
		return nil
	}
	return p.Config.Root
}

// Path returns the name in Tree of what the configuration names relative to
// its own folder, and false when that lies outside the tree or depends on a
// variable.
func (p *Project) Path(name string) (string, bool) {
	name = p.relative(name)
	if rights.Variable.MatchString(name) || path.IsAbs(name) {
		return "", false
	}
	full := path.Join(p.Dir, filepath.ToSlash(name))
	return full, !LeavesTree(full)
}

// Quoted is how findings name a file given relative to the configuration.
func (p *Project) Quoted(name string) string {
	return filepath.Join(p.base, filepath.FromSlash(p.relative(name)))
}

func (p *Project) relative(name string) string {
	if p.Tree == nil {
		return name
	}
	return Relative(name, p.Dir)
}

// Relative returns a name relative to the configuration's folder dir, where the author gives it by
// the workspace's folder, as in "${localWorkspaceFolder}/.devcontainer/Dockerfile". Any other name
// stays as it is.
func Relative(name, dir string) string {
	rest, ok := strings.CutPrefix(name, "${localWorkspaceFolder}")
	if !ok || rest != "" && rest[0] != '/' {
		return name
	}
	rel, err := filepath.Rel(filepath.FromSlash(dir), filepath.FromSlash(path.Join(projectFolder(dir), rest)))
	if err != nil {
		return name
	}
	return filepath.ToSlash(rel)
}

// text reads a file that n names, or returns nil. A file that is there and
// cannot be read is a gap; one that is not there has a rule of its own.
func (p *Project) text(name string, n *jsonc.Node) *jsonc.Document {
	full, ok := p.Path(name)
	if !ok {
		p.gap(n, name, "it lies outside the repository or the Template, or its name depends on a variable", diag.SeverityWarning)
		return nil
	}
	src, err := p.Tree.Read(full)
	if why := p.Unreadable(full, src, err); why != "" {
		p.gap(n, name, why, diag.SeverityError)
		return nil
	}
	if err != nil {
		return nil
	}
	return jsonc.Text(p.Quoted(name), src)
}

// Readable reads a file that something else than the configuration names, or
// returns nil.
func (p *Project) Readable(name string) *jsonc.Document {
	full, ok := p.Path(name)
	if !ok {
		return nil
	}
	src, err := p.Tree.Read(full)
	if err != nil || len(src) > jsonc.MaxSize {
		return nil
	}
	return jsonc.Text(p.Quoted(name), src)
}

// jsonBeside reads a JSON file next to the configuration. A document that is
// not well formed is a text.
func (p *Project) jsonBeside(name string) *jsonc.Document {
	full := path.Join(p.Dir, name)
	if isAbsent(p.Tree, full) {
		return nil
	}
	src, err := p.Tree.Read(full)
	if err != nil {
		if why := p.Unreadable(full, src, err); why != "" {
			p.gap(nil, name, why, diag.SeverityError)
		}
		return nil
	}
	if len(bytes.TrimSpace(src)) == 0 && strings.HasSuffix(name, "devcontainer-lock.json") {
		return nil // the reference CLI fills it in: that is how a person asks for a lock
	}
	doc, findings := jsonc.Parse(p.Quoted(name), src)
	if name != SettingsName { // package settings reports them again
		p.Syntax = append(p.Syntax, conflicted(src, doc, findings)...)
	}
	if doc == nil {
		doc = jsonc.Text(p.Quoted(name), src)
	}
	return doc
}

// settings reads the sandbox.jsonc next to the configuration, with the lists
// below its folder that it names.
func (p *Project) settings() {
	p.Settings = p.jsonBeside(SettingsName)
	if p.Settings == nil {
		return
	}
	var findings []diag.Finding
	p.Policy, findings = settings.Parse(p.Settings.File, p.Settings.Src, func(name string) ([]byte, error) {
		if !filepath.IsLocal(filepath.FromSlash(name)) {
			return nil, errors.New("outside the folder of the settings")
		}
		return p.Tree.Read(path.Join(p.Dir, name))
	})
	p.Syntax = append(p.Syntax, findings...)
}

// InFolder reports whether the configuration lies in .devcontainer, and not
// as .devcontainer.json in the project's folder.
func (p *Project) InFolder() bool { return p.Tree != nil && p.Dir != p.Home }

// GitHere reports whether the project's folder holds a .git folder.
func (p *Project) GitHere() bool {
	return p.Tree != nil && p.Tree.Kind(path.Join(p.Home, ".git")) == Folder
}

// GitAbove reports whether only a folder above the project's is a repository.
func (p *Project) GitAbove() bool {
	if p.Tree == nil || p.GitHere() {
		return false
	}
	for dir := p.Home; dir != "."; {
		dir = path.Dir(dir)
		if p.Tree.Kind(path.Join(dir, ".git")) == Folder {
			return true
		}
	}
	return false
}

// projectFolder returns the folder whose .devcontainer dir is or lies in;
// dir itself when it is neither.
func projectFolder(dir string) string {
	for _, up := range []string{dir, path.Dir(dir)} {
		if path.Base(up) == ".devcontainer" {
			return path.Dir(up)
		}
	}
	return dir
}
