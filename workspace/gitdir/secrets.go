package gitdir

import (
	"bytes"
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/org/claude-sandbox/internal/redact"
)

// SecretIn is a secret of the run in an object of a commit, also of one that a later
// commit removes: whoever gets the branch gets it.
type SecretIn struct {
	redact.Place
	Object string `json:"object"`         // git's name of the file's content, or of a commit, for its message
	Path   string `json:"path,omitempty"` // of a file that holds it; "" = the commit does
	InName bool   `json:"inName,omitempty"`
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
		if s.Object == object && !s.InName && s.Path != "" && s.At >= 0 && s.Size >= 0 && s.At <= len(content)-s.Size {
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

// LineOf is the line in which a place of a content begins, from 1 on.
func LineOf(content []byte, at int) int { return 1 + bytes.Count(content[:at], []byte("\n")) }

// search looks for secrets in all that the commits of a branch bring: files, also such
// as are gone at its end, names and messages. Beyond the bounds of Diff it says
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
		paths[name] = path
		names = append(names, name)
		for _, p := range f.Find([]byte(path)) {
			c.addSecret(SecretIn{Place: p, Object: name, Path: path, InName: true})
		}
	}
	text, err := r.git(ctx, strings.NewReader(strings.Join(names, "\n")+"\n"), "cat-file",
		"--batch-check=%(objectname) %(objecttype) %(objectsize)")
	if err != nil {
		return err
	}
	sizes, wanted, left, all := map[string]int64{}, []string(nil), int64(maxBlobs), true
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if len(fields) != 3 || fields[1] != "blob" && fields[1] != "commit" {
			continue
		}
		size, err := strconv.ParseInt(fields[2], 10, 64)
		if err != nil || size > maxBlob || size > left {
			all = false
			continue
		}
		left -= size
		sizes[fields[0]] = size
		wanted = append(wanted, fields[0])
	}
	contents, err := r.contents(ctx, wanted, sizes)
	if err != nil {
		return err
	}
	for _, name := range wanted {
		for _, p := range f.Find(contents[name]) {
			c.addSecret(SecretIn{Place: p, Object: name, Path: paths[name]})
		}
	}
	c.Unsearched = !all || len(c.Secrets) >= maxSecrets
	return nil
}

func (c *Commits) addSecret(s SecretIn) {
	if len(c.Secrets) < maxSecrets {
		c.Secrets = append(c.Secrets, s)
	}
}
