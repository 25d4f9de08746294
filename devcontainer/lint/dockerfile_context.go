package lint

import (
	"path"
	"slices"
	"strings"

	"github.com/moby/buildkit/frontend/dockerfile/instructions"

	"github.com/org/claude-sandbox/devcontainer"
	"github.com/org/claude-sandbox/devcontainer/baseimage"
	"github.com/org/claude-sandbox/devcontainer/budget"
	"github.com/org/claude-sandbox/devcontainer/dockerfile"
	"github.com/org/claude-sandbox/devcontainer/rule"
	"github.com/org/claude-sandbox/devcontainer/shell"
	"github.com/org/claude-sandbox/internal/diag"
)

// broughtFiles are the files of the context that the steps of a stage find, one step behind the other.
type broughtFiles struct {
	v          *rule.View
	work       *budget.Budget // of all stages; when it is spent, anything may be anywhere
	context    string
	image      string // at the bottom
	ignore     *ignored
	folder     string            // the WORKDIR
	copies     []broughtFile     // by COPY, in the order of the file
	made       []string          // places where a step may have put files
	anything   bool              // and anywhere
	bare       bool              // the image is an official one, which has no files of a project
	variables  map[string]string // of ENV
	production bool              // npm leaves devDependencies out of what it installed last
	manifest   string            // the package.json that it read
}

// broughtFile is a file or the content of a folder of the context, and its place in the image.
type broughtFile struct {
	from, to string
	folder   bool
}

// maxBrought bounds the places that are compared and the bytes that are read for the steps of a file. A wrong file that is
// beyond it is not reported.
const (
	maxBrought = 4 << 20
	perLookup  = 128 // of a name, in bytes read
)

// spend takes work, and reports whether it may be done.
func (b *broughtFiles) spend(work int) bool {
	b.anything = b.anything || !b.work.Spend(work)
	return !b.anything
}

// read returns the text of a file of the context, nil when it has none that may be read.
func (b *broughtFiles) read(name string) []byte {
	if b.work.Spent() {
		return nil
	}
	src, err := b.v.Tree.Read(name)
	if err != nil || !b.spend(len(src)) {
		return nil
	}
	return src
}

// filesBrought looks at what the commands of each stage need of the project, and what COPY brings in front of them.
func filesBrought(v *rule.View, context string) (out []rule.Finding) {
	var ignore *ignored
	asked, work := false, budget.New(maxBrought)
	for _, s := range neededStages(v) {
		if !slices.ContainsFunc(s.Instructions, needsProject) {
			continue
		}
		if !asked {
			asked = true
			_, ignore = dockerignore(v, context)
		}
		image, _ := baseimage.Of(s.Base().Image)
		bare := image.Official() && s.Base().Known || strings.HasPrefix(s.Base().Image, "mcr.microsoft.com/dotnet/")
		b := &broughtFiles{v: v, image: s.Base().Image, work: work, context: context, ignore: ignore, folder: "/", bare: bare,
			variables: map[string]string{}}
		for _, i := range s.History() {
			if f := b.step(i, i.Stage == s); f.Message != "" {
				out = append(out, f)
				break // what follows depends on it
			}
		}
	}
	return out
}

// needsProject reports whether a step runs a program that reads files of a project.
func needsProject(i *dockerfile.Instruction) bool {
	return i.Name == "RUN" && slices.ContainsFunc(i.Commands, func(cmd *shell.Command) bool { return projectPrograms[cmd.Name()] != nil })
}

func (b *broughtFiles) step(i *dockerfile.Instruction, own bool) (f rule.Finding) {
	switch c := i.Command.(type) {
	case *instructions.WorkdirCommand:
		b.folder = workdirAfter(b.folder, i)
	case *instructions.EnvCommand:
		for _, kv := range c.Env {
			b.variables[kv.Key] = strings.Trim(i.Expand(kv.Value), `"'`)
		}
	case *instructions.CopyCommand:
		b.copied(i, c)
	case *instructions.AddCommand:
		b.made = append(b.made, b.place(i.Expand(c.DestPath), b.folder))
	case *instructions.RunCommand:
		return b.run(i, c, own)
	}
	b.anything = b.anything || i.Name == "ONBUILD"
	return f
}

func (b *broughtFiles) run(i *dockerfile.Instruction, c *instructions.RunCommand, own bool) (f rule.Finding) {
	b.anything = b.anything || i.Unread || !c.PrependShell && len(i.Commands) == 0
	for _, m := range instructions.GetMounts(c) {
		if m.Type == "bind" {
			b.made = append(b.made, b.place(i.Expand(m.Target), b.folder))
		}
	}
	for _, cmd := range i.Commands {
		if _, moves := cmd.Goes(); moves {
			continue
		}
		folder := b.place(cmd.Folder, b.folder)
		b.anything = b.anything || cmd.Folder == "" // it may write there
		if b.anything || strings.Contains(folder, "$") {
			return f
		}
		if looks := projectPrograms[cmd.Name()]; own && looks != nil && cmd.OnFailure != shell.Open {
			if f = looks(b, cmd, folder); f.Message != "" {
				if cmd.OnFailure == shell.Unheard || !b.bare { // another image may have files there
					f.Severity = diag.SeverityWarning
				}
				return f
			}
		}
		b.ran(cmd, folder)
	}
	return f
}

// place is the absolute path of a word, from a folder.
func (b *broughtFiles) place(word, folder string) string {
	if path.IsAbs(word) {
		return path.Clean(word)
	}
	return path.Join(folder, word)
}

// copied takes note of what a COPY brings.
func (b *broughtFiles) copied(i *dockerfile.Instruction, c *instructions.CopyCommand) {
	written := i.Expand(c.DestPath)
	to := b.place(written, b.folder)
	if strings.Contains(to, "$") || c.Parents || len(c.ExcludePatterns) > 0 {
		b.anything = true
		return
	}
	if c.From != "" || len(c.SourceContents) > 0 {
		b.made = append(b.made, to)
		return
	}
	intoFolder := strings.HasSuffix(written, "/") || len(c.SourcePaths) > 1 || to == b.folder || path.Base(written) == "."
	for _, source := range c.SourcePaths {
		name := path.Clean("/" + i.Expand(source))
		if strings.Contains(name, "$") || strings.ContainsAny(path.Dir(name), "*?[") {
			b.anything = true
			return
		}
		names := []string{name}
		if pattern := path.Base(name); strings.ContainsAny(pattern, "*?[") {
			names = nil
			entries := b.v.Tree.List(path.Join(b.context, path.Dir(name)))
			if !b.spend(len(entries) * len(pattern)) {
				return
			}
			for _, entry := range entries {
				if match, _ := path.Match(pattern, entry); match {
					names = append(names, path.Join(path.Dir(name), entry))
				}
			}
		}
		for _, name := range names {
			from := path.Join(b.context, name)
			if lacks := b.v.Tree.Kind(from) == devcontainer.Nothing; lacks || b.keptOut(name) { // SBX729 and SBX742 say it
				b.made = append(b.made, to)
				continue
			}
			switch isFolder := b.v.Tree.Kind(from) == devcontainer.Folder; {
			case isFolder:
				b.copies = append(b.copies, broughtFile{from, to, true})
			case intoFolder:
				b.copies = append(b.copies, broughtFile{from, path.Join(to, path.Base(name)), false})
			default: // a file of that name, or one in the folder of that name
				b.copies = append(b.copies, broughtFile{from, to, false}, broughtFile{from, path.Join(to, path.Base(name)), false})
			}
		}
	}
}

// keptOut reports whether .dockerignore keeps a file out that a COPY names.
func (b *broughtFiles) keptOut(name string) bool {
	if b.ignore == nil || name == "/" {
		return false
	}
	hit, sure := b.ignore.keepsOut(strings.TrimPrefix(name, "/"))
	return hit || !sure
}

// mostCopies bounds how many of them one question looks at.
const mostCopies = 300

// find returns the file of the context that stands at a place of the image, "" for none; sure says that nothing else may stand there.
func (b *broughtFiles) find(place string) (from string, sure bool) {
	if len(b.copies) > mostCopies || !b.spend(1+len(b.made)+len(b.copies)) || strings.ContainsAny(place, "$*?[{~") {
		return "", false
	}
	for _, made := range b.made {
		if within(place, made) {
			return "", false
		}
	}
	filled := b.bare
	for n := len(b.copies) - 1; n >= 0; n-- {
		c := b.copies[n]
		filled = filled || c.to == path.Dir(place) && c.folder || path.Dir(c.to) == path.Dir(place)
		full := c.from
		if c.folder {
			rest, below := strings.CutPrefix(place+"/", strings.TrimSuffix(c.to, "/")+"/")
			if !below {
				continue
			}
			full = path.Join(c.from, rest)
		} else if c.to != place {
			continue
		}
		if !b.spend(perLookup) {
			return "", false
		}
		if b.v.Tree.Kind(full) == devcontainer.Nothing {
			if devcontainer.HasEntry(b.v.Tree, full) { // a link that leads elsewhere
				return "", false
			}
			continue
		}
		name := strings.TrimPrefix(strings.TrimPrefix(full, b.context), "/")
		if b.context == "." {
			name = full
		}
		if b.ignore != nil {
			if hit, sure := b.ignore.keepsOut(name); !sure || hit && b.ignore.Exclusions() {
				return "", false
			} else if hit {
				continue
			}
		}
		return full, true
	}
	system := strings.HasPrefix(place, "/usr/") && !strings.HasPrefix(place, "/usr/src/") || strings.HasPrefix(place, "/etc/")
	return "", filled && !system
}

// missing reports whether none of several names certainly stands in a folder. A name may be a pattern for the files of the folder.
func (b *broughtFiles) missing(folder string, names ...string) bool {
	for _, name := range names {
		if strings.HasPrefix(name, "*") {
			if found, sure := b.anyLike(folder, name); found || !sure {
				return false
			}
			continue
		}
		if from, sure := b.find(b.place(name, folder)); from != "" || !sure {
			return false
		}
	}
	return true
}

// anyLike reports whether a folder of the image has a file that a pattern matches; sure says that the answer false is certain.
func (b *broughtFiles) anyLike(folder, pattern string) (found, sure bool) {
	if _, sure = b.find(path.Join(folder, "a.none")); !sure {
		return false, false
	}
	for _, c := range b.copies {
		names := []string{path.Base(c.to)}
		if c.folder {
			rest, below := strings.CutPrefix(folder+"/", strings.TrimSuffix(c.to, "/")+"/")
			if !below {
				continue
			}
			names = b.v.Tree.List(path.Join(c.from, rest))
			if !b.spend(len(names)) {
				return false, false
			}
		} else if path.Dir(c.to) != folder {
			continue
		}
		if slices.ContainsFunc(names, func(name string) bool { match, _ := path.Match(pattern, name); return match }) {
			return true, true
		}
	}
	return false, true
}

// within reports whether a place is a folder or lies in it.
func within(place, folder string) bool {
	return place == folder || folder == "/" || strings.HasPrefix(place, folder+"/")
}

// makesNothingHere are programs that put no files of a project into the folder where they run.
var makesNothingHere = func() map[string]bool {
	out := map[string]bool{}
	for _, name := range append([]string{"apt-get", "apt", "apk", "dnf", "yum", "microdnf", "zypper", "pip", "pip3", "pipx", "gem", "bundle",
		"composer", "corepack", "docker-php-ext-install", "docker-php-ext-configure", "docker-php-ext-enable", "pecl", "rustup",
		"add-apt-repository", "update-ca-certificates", "update-alternatives", "sh", "bash", "ldconfig", "gpasswd"}, quietPrograms...) {
		out[name] = true
	}
	for _, name := range []string{"touch", "mkdir", "cp", "mv", "ln", "tee", "git", "npm", "yarn", "pnpm", "sh", "bash", "node", "sudo",
		"env"} {
		delete(out, name)
	}
	return out
}()

// ran takes note of the files that a command may have made.
func (b *broughtFiles) ran(cmd *shell.Command, folder string) {
	makes := func(words ...shell.Word) {
		for _, w := range words {
			if !w.Literal || strings.ContainsAny(w.Text, "*?[{~$") {
				b.made = append(b.made, folder) // it may be in any
				b.anything = b.anything || strings.Contains(w.Text, "$")
				return
			}
			b.made = append(b.made, b.place(w.Text, folder))
		}
	}
	makes(cmd.Files...)
	words := cmd.Operands()
	switch name := cmd.Name(); {
	case makesNothingHere[name]:
	case cmd.Is("touch", "mkdir", "cp", "mv", "ln", "tee", "install"):
		makes(words...)
	case cmd.Is("git"):
		if len(words) > 1 && words[0].Text == "clone" {
			last := words[len(words)-1]
			if strings.Contains(last.Text, ":") {
				last.Text = strings.TrimSuffix(path.Base(last.Text), ".git")
			}
			makes(last)
		} else {
			b.anything = b.anything || len(words) == 0 || words[0].Text != "config"
		}
	case cmd.Is("curl", "wget"):
		for n, w := range cmd.Args() { // -o, in a group as well, has its file in the next word
			group := strings.HasPrefix(w.Text, "-") && !strings.HasPrefix(w.Text, "--") && strings.ContainsAny(w.Text[len(w.Text)-1:], "oOP")
			if named := group || w.Text == "--output"; named && n+1 < len(cmd.Args()) {
				makes(cmd.Args()[n+1])
			}
		}
		for _, name := range savedAs(cmd) {
			makes(shell.Word{Text: name, Literal: true})
		}
		_, elsewhere := cmd.Flag("--directory-prefix", "--output-dir")
		b.anything = b.anything || elsewhere
	case cmd.Is("tar", "unzip"):
		if to, ok := cmd.Value("-C", "-d", "--directory"); ok {
			makes(to)
		} else {
			b.made = append(b.made, folder)
		}
	case cmd.Is("sh", "bash") && len(cmd.From) > 0 && len(words) == 0: // an installer's
	case cmd.Is("npm", "pnpm", "yarn"):
		_, global := cmd.Flag("-g", "--global", "global")
		verb := ""
		if len(words) > 0 {
			verb = words[0].Text
		}
		switch {
		case global || slices.Contains([]string{"global", "config", "set", "cache"}, verb):
		case slices.Contains([]string{"ci", "install", "i"}, verb), verb == "" && cmd.Is("yarn"):
			for _, name := range []string{"node_modules", "package-lock.json", "pnpm-lock.yaml", "yarn.lock"} {
				b.made = append(b.made, path.Join(folder, name))
			}
		default:
			b.anything = true
		}
	default:
		b.anything = true
	}
}
