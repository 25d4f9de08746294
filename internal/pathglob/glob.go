// Package pathglob matches slash-separated paths with globs that people write.
//
//	"src/**/*.go" ─ Check ─► nil or why not
//	              ─ Match ─► does it name a path
package pathglob

import (
	"path"
	"slices"
	"strings"
)

// Match reports whether a path is one that a glob names: "*" and "?" stand for
// characters of one name, "**" for any number of folders. A glob without a slash names
// a path at the root alone. A malformed one matches nothing; see Check.
func Match(glob, rel string) bool { return match(strings.Split(glob, "/"), strings.Split(rel, "/")) }

func match(glob, parts []string) bool {
	if len(glob) == 0 {
		return len(parts) == 0
	}
	if glob[0] == "**" {
		return match(glob[1:], parts) || len(parts) > 0 && match(glob, parts[1:])
	}
	if len(parts) == 0 {
		return false
	}
	ok, err := path.Match(glob[0], parts[0])
	return ok && err == nil && match(glob[1:], parts[1:])
}

// Check errs when a glob is malformed, or has more than one "**", which takes too
// long to match.
func Check(glob string) error {
	if glob == "" || strings.Count(glob, "**") > 1 {
		return path.ErrBadPattern
	}
	for part := range strings.SplitSeq(glob, "/") {
		if _, err := path.Match(part, ""); err != nil {
			return err
		}
	}
	return nil
}

// MatchAny reports whether one of the globs names a path.
func MatchAny(globs []string, rel string) bool {
	return slices.ContainsFunc(globs, func(g string) bool { return Match(g, rel) })
}
