package gitdir

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"path"
	"slices"
	"strings"

	"github.com/org/claude-sandbox/internal/redact"
)

// SecretIn is a secret of the run in an object of a commit, also of one that a later
// commit removes: whoever gets the branch gets it. Path and Object have asterisks in
// place of secrets.
type SecretIn struct {
	redact.Place
	Object   string `json:"object"`             // git's name of the file's content, or of a commit, for its message
	Path     string `json:"path,omitempty"`     // of a file that holds it; "" = the commit does
	InName   bool   `json:"inName,omitempty"`   // in the path
	InLink   bool   `json:"inLink,omitempty"`   // in the id of a submodule's commit at Path, which any bytes can be
	InBranch bool   `json:"inBranch,omitempty"` // in the agent's name of the branch; Object and Path are empty
}

// maxSecrets bounds the places that are noted of one branch.
const maxSecrets = 1000

// SecretNames are the names of the secrets in the commits, sorted.
func (c *Commits) SecretNames() (names []string) {
	for _, s := range c.Secrets {
		if !slices.Contains(names, s.Name) {
			names = append(names, s.Name)
		}
	}
	slices.Sort(names)
	return names
}

// Hide puts asterisks over the secrets in an object's content, and returns them.
func (c *Commits) Hide(object string, content []byte) (in []SecretIn) {
	for _, s := range c.Secrets {
		inContent := s.Path != "" && !s.InName && !s.InLink
		fits := s.At >= 0 && s.Size >= 0 && s.At <= len(content)-s.Size
		if s.Object == object && inContent && fits {
			for i, b := range content[s.At : s.At+s.Size] {
				if b != '\n' {
					content[s.At+i] = '*'
				}
			}
			in = append(in, s)
		}
	}
	return in
}

// HidePath puts asterisks over the secrets in a path of the commits. link reports whether
// the id of a submodule's commit of that name holds one. A part of the path is hidden
// wherever it stands: the same tree may have many paths.
func (c *Commits) HidePath(file string) (shown string, link bool) {
	shown = file
	parts := strings.Split(file, "/")
	for _, s := range c.Secrets {
		if isHidden(file, s.Path) {
			shown = s.Path
		}
		base := path.Base(s.Path)
		link = link || s.InLink && isHidden(parts[len(parts)-1], base)
		for i := range parts {
			if s.InName && isHidden(parts[i], base) {
				parts[i] = base
			}
		}
	}
	if all := strings.Join(parts, "/"); strings.Count(all, "*") > strings.Count(shown, "*") {
		shown = all
	}
	return shown, link
}

// isHidden reports whether shown is path with asterisks over some of it, or as it is.
func isHidden(path, shown string) bool {
	if len(path) != len(shown) {
		return false
	}
	for i := range len(path) {
		if shown[i] != '*' && shown[i] != path[i] {
			return false
		}
	}
	return true
}

// hidden is a path with asterisks over the secrets in it.
func hidden(path string, f *redact.Finder) string {
	text := []byte(path)
	for _, p := range f.Find(text) {
		copy(text[p.At:], bytes.Repeat([]byte("*"), p.Size))
	}
	return string(text)
}

// LineOf is the line in which a place of a content begins, from 1 on.
func LineOf(content []byte, at int) int { return 1 + bytes.Count(content[:at], []byte("\n")) }

// search looks for secrets in all that the commits of a branch bring: files, also such
// as are gone at its end, names, submodules and messages. Beyond the bounds of Diff it says
// Unsearched.
func (r *scratch) search(ctx context.Context, c *Commits, f *redact.Finder) error {
	c.Unsearched = true
	args := []string{"rev-list", "--objects", "--ignore-missing"}
	if r.partial {
		args = append(args, "--exclude-promisor-objects")
	}
	list, err := r.git(ctx, nil, append(args, c.Head, "--not", "--all")...)
	if err != nil {
		return err
	}
	paths, names := map[string]string{}, []string(nil)
	for line := range strings.Lines(list) {
		name, path, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		if len(path) > maxPath {
			return errPath
		}
		paths[name] = path
		names = append(names, name)
	}
	o, err := r.read(ctx, names)
	if err != nil {
		return err
	}
	for _, name := range o.order {
		if err := ctx.Err(); err != nil {
			return err
		}
		if o.kinds[name] == "tree" {
			if err := c.searchTree(ctx, paths[name], o.contents[name], len(name)/2, f); err != nil {
				return err
			}
			continue
		}
		for _, p := range f.Find(o.contents[name]) {
			c.addSecret(SecretIn{Place: p, Object: name, Path: hidden(paths[name], f)})
		}
	}
	c.Unsearched = !o.all || len(c.Secrets) >= maxSecrets
	return nil
}

var errTree = errors.New("a tree is cut off")

// searchTree looks for secrets in the names of a tree, at one of the paths that it has, and in
// the ids of submodules' commits. A list of objects does not suffice: it has one name of each,
// cut at its first line end, and none of those that the repository has already. Trees are
// read one by one, as paths may be without end: a few trees can hold each other.
func (c *Commits) searchTree(ctx context.Context, at string, tree []byte, idSize int, f *redact.Finder) error {
	var links []string   // their paths
	var ids bytes.Buffer // one secret may be in several, one after the other
	for len(tree) > 0 {
		if err := ctx.Err(); err != nil { // a megabyte of names below a long path takes ten seconds
			return err
		}
		head, rest, _ := bytes.Cut(tree, []byte{0})
		mode, name, _ := strings.Cut(string(head), " ")
		if len(rest) < idSize {
			return errTree // index-pack has let no such tree in
		}
		file, object := path.Join(at, name), hex.EncodeToString(rest[:idSize])
		tree = rest[idSize:]
		if mode == "160000" {
			links = append(links, file)
			ids.WriteString(object + "\n")
			object = strings.Repeat("*", len(object))
		}
		for _, p := range f.Find([]byte(file)) {
			c.addSecret(SecretIn{Place: p, Object: object, Path: hidden(file, f), InName: true})
		}
	}
	for _, p := range f.Find(ids.Bytes()) {
		row := 2*idSize + 1
		for _, file := range links[p.At/row : (p.At+p.Size-1)/row+1] {
			c.addSecret(SecretIn{Place: redact.Place{Name: p.Name}, Object: strings.Repeat("*", 2*idSize), Path: hidden(file, f), InLink: true})
		}
	}
	return nil
}

// hideBranch returns the agent's name for a branch, or "[redacted]" and the secrets that it
// holds as the agent or branchName writes it.
func hideBranch(name string, f *redact.Finder) (shown string, in []SecretIn) {
	for _, text := range []string{name, unusual.ReplaceAllString(name, "-")} {
		for _, p := range f.Find([]byte(text)) {
			if s := (SecretIn{Place: redact.Place{Name: p.Name}, InBranch: true}); !slices.Contains(in, s) {
				in = append(in, s)
			}
		}
	}
	if len(in) > 0 {
		return redact.Placeholder, in
	}
	return name, nil
}

func (c *Commits) addSecret(s SecretIn) {
	if len(c.Secrets) < maxSecrets && !slices.Contains(c.Secrets, s) {
		c.Secrets = append(c.Secrets, s)
	}
}
