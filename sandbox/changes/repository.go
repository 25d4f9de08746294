package changes

import (
	"path"
	"strings"

	"github.com/org/claude-sandbox/workspace/obeyed"
)

// A repository's own folder changes with every commit and fetch, in files that
// only git can read. They become one Change; what git obeys there, and what git
// itself would not have written, is named file by file.

// isRepository reports whether a name is that of a repository's own folder, on
// file systems that do not tell upper from lower case, too.
func isRepository(name string) bool { return strings.EqualFold(name, ".git") }

// inRepository reports whether a path is in a repository's own folder.
func inRepository(rel string) bool {
	for part := range strings.SplitSeq(dirOf(rel), "/") {
		if isRepository(part) {
			return true
		}
	}
	return false
}

// repository compares a repository's own folder.
func (c *comparison) repository(rel string, was, now *node) {
	inner := &comparison{b: c.b, after: c.after, removed: map[fileID]string{}, twins: map[string]string{}, inGit: true}
	inner.folder(rel, was, now)
	bulk := newChange(rel, Changed, was.state(), now.state())
	bulk.Folded, bulk.gits, bulk.Note = true, true, "git's own files, whose content is not shown"
	more := 0
	for _, change := range inner.changes {
		switch inside := strings.TrimPrefix(change.Path, rel+"/"); {
		case gitsOwn(inside, was):
			bulk.Files += max(change.Files, 1)
		case more < maxInFolded:
			change.Class = obeyed.Git
			c.changes = append(c.changes, change)
			more++
		default:
			bulk.Files += max(change.Files, 1)
			bulk.Class = obeyed.Git
			bulk.Note = "more than can be named"
		}
	}
	if bulk.Files > 0 {
		c.changes = append(c.changes, bulk)
	}
}

// gitsOwn reports whether git writes a file itself in its daily work and obeys
// nothing in it. The path is one in the repository's own folder, which had
// the given entries.
func gitsOwn(rel string, was *node) bool {
	parts := strings.Split(rel, "/")
	for end := len(parts) - 1; end > 0; end-- { // that of a submodule or a worktree that was there
		if at := was.at(strings.Join(parts[:end], "/")); (parts[0] == "modules" || parts[0] == "worktrees") && at.kid("HEAD") != nil {
			parts = parts[end:]
			break
		}
	}
	name := parts[len(parts)-1]
	for _, part := range parts {
		switch part {
		case "hooks", "config", "config.worktree", "commondir", "gitdir", "attributes", "exclude", "grafts", "git-rebase-todo", "todo",
			"replace", "alternates", "alternate_refs":
			return false
		}
	}
	switch parts[0] {
	case "objects":
		switch len(parts) {
		case 2:
			return true
		case 3:
			return parts[1] == "pack" || parts[1] == "info" || len(parts[1]) == 2
		}
		return len(parts) == 4 && parts[1] == "info"
	case "refs", "logs":
		return true
	case "index", "HEAD", "packed-refs", "COMMIT_EDITMSG", "MERGE_MSG", "MERGE_MODE", "MERGE_RR", "SQUASH_MSG", "description",
		"shallow", "gc.log", "gc.pid":
		return len(parts) == 1
	}
	matched, _ := path.Match("*_HEAD", name)
	return len(parts) == 1 && (matched || strings.HasSuffix(name, ".lock") || strings.HasPrefix(name, "sharedindex."))
}
