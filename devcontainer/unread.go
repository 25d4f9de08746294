package devcontainer

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/org/claude-sandbox/devcontainer/compose"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/jsonc"
)

// gap is a part of the configuration that was not looked at: no finding about it
// means nothing.
type gap struct {
	node     *jsonc.Node // what names it; nil for a file next to the configuration
	message  string
	severity diag.Severity
}

func (p *Project) gap(n *jsonc.Node, name, why string, severity diag.Severity) {
	p.gaps = append(p.gaps, gap{n, fmt.Sprintf("%s is not checked: %s", name, why), severity})
}

// unreadable says why a file that is there cannot be used; "" when it can, and
// when there is none.
func (p *Project) unreadable(full string, src []byte, err error) string {
	switch {
	case err == nil && len(src) > jsonc.MaxSize:
		return fmt.Sprintf("it is larger than %d bytes", jsonc.MaxSize)
	case err == nil:
		return ""
	case p.Tree.Kind(full) == Folder:
		return "it is a folder"
	case errors.Is(err, fs.ErrNotExist) && p.Tree.Kind(full) == Nothing:
		if slices.Contains(p.Tree.List(path.Dir(full)), path.Base(full)) {
			return "it is no regular file, or a link that leads nowhere or out of the repository"
		}
		return ""
	}
	var place *fs.PathError
	if errors.As(err, &place) {
		err = place.Err
	}
	return err.Error()
}

const uncheckedHint = "make it a file that can be read here, or leave it out; nothing is known about what it says"

// unchecked reports what was not looked at. It comes last: other rules find out
// how much there is to work out.
func (c *pass) unchecked() {
	for _, g := range c.gaps {
		r := c.missing(g.node, "SBX109", g.message, uncheckedHint)
		r.Severity = g.severity
	}
	c.composeUnread()
	if c.build != nil {
		if why := c.build.file.Incomplete(); why != "" {
			c.inBuild(0, 0, "SBX109", why+": a part of it is not checked", "shorten it; nothing is known about the rest")
		}
	}
	for _, n := range c.tooMuch {
		c.at(n, "SBX109", "these commands are too many or too deeply nested to be checked", "put them into a script")
	}
}

// composeUnread reports the files that Compose files name and that are not
// there or cannot be read, and what they say beyond the bounds.
func (c *pass) composeUnread() {
	tooMany := ""
	if c.work.Spent() {
		tooMany = fmt.Sprintf("volumes_from and dependsOn bring more than %d mounts and Features", maxBrought)
	}
	if c.composed == nil {
		if tooMany != "" {
			c.missing(c.root.Member("features"), "SBX109", tooMany+": a part of them is not checked", "shorten it; nothing is known about the rest")
		}
		return
	}
	project := c.composed.project
	for _, u := range project.Unread {
		if u.Remote { // SBX612 asks for a pin; like an image, it is not looked into
			c.in(u.Doc, u.Start, u.End, "", "SBX109", u.Message+"; it is not checked", "").Severity = diag.SeverityNote
			continue
		}
		c.unreadFile(&compose.Node{Doc: u.Doc, Start: u.Start, End: u.End}, u.Message, u.Missing)
	}
	if why := cmp.Or(project.Incomplete(), tooMany); why != "" && len(c.Compose) > 0 {
		c.in(c.Compose[0], 0, 0, "", "SBX109", why+": a part of it is not checked", "shorten it; nothing is known about the rest")
	}
	seen := map[string]bool{}
	for _, s := range project.Services() {
		for _, f := range s.EnvFiles() {
			if c.Tree == nil || seen[f.Name] || strings.ContainsAny(f.Name, "$~") {
				continue
			}
			seen[f.Name] = true
			c.envFileUnread(f)
		}
	}
}

// envFileUnread reports a file of variables that is not there. One below the home
// folder or behind a variable is the host's.
func (c *pass) envFileUnread(f compose.EnvFileName) {
	full := path.Join(c.Dir, path.Dir(c.composed.first), f.Name)
	if path.IsAbs(f.Name) || leavesTree(full) {
		return
	}
	src, err := c.Tree.Read(full)
	switch why := c.unreadable(full, src, err); {
	case why != "":
		c.unreadFile(f.Node, f.Name+" cannot be read: "+why, false)
	case err != nil && f.Required:
		c.unreadFile(f.Node, "there is no file "+f.Name, true)
	}
}

func (c *pass) unreadFile(n *compose.Node, message string, missing bool) {
	if missing {
		c.inCompose(n, "SBX311", message, "Compose refuses to start without it; it is looked for relative to its Compose file")
		return
	}
	c.inCompose(n, "SBX109", message+"; it is not checked", uncheckedHint)
}
