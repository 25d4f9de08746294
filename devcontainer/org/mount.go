package org

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/org/claude-sandbox/devcontainer/rights"
)

var (
	// aHome matches what is mostly somebody's home folder.
	aHome = regexp.MustCompile(`(?i)^(?:/(?:var/)?home/[^/.][^/]*|(?:/mnt/[a-z]|/[a-z]|[a-z]:)?/Users/[^/.][^/]*|/root)(/|$)`)
	// homes are folders that hold home folders.
	homes = regexp.MustCompile(`(?i)^/(?:home|var/home|Users|root)?$`)
	// seenAs matches folders through which the host's own are seen: of macOS, Windows and Docker Desktop.
	seenAs = regexp.MustCompile(`(?i)^(?:/System/Volumes/Data|/host_mnt|/private|(?:/run/desktop)?/mnt/host|/wsl\.localhost/[^/]+)(/.*|$)`)
	// anywhere matches names of the kernel that lead to other folders.
	anywhere = regexp.MustCompile(`^/(?:proc/[^/]+/(?:task/[^/]+/)?(?:root|cwd|fd)|dev/fd)(?:/|$)`)
	// toVariable matches up to the last variable of a source.
	toVariable = regexp.MustCompile(`^.*\$(?:\{[^}]*\}|\w+)`)
)

// Mount judges what is mounted of the host by its source: "" or why it may not be there, and which place of the policy says so. climb is
// the way from the top of the project's folders to a source that is relative to them, and leads out; "" for any other.
//
// An entry forbids what lies below it, too, a folder that holds it, and each way to it behind a variable or out of the project, wherever
// the project is. Only ".." forbids the folder that the project lies in, which many mount, and no entry a source that is a variable and
// nothing else: its value is up to whoever sets it.
func (o *Policy) Mount(source, climb string) (why, where string) {
	from := rights.Origin(source)
	name := strings.ReplaceAll(source, `\`, "/")
	switch from.Base {
	case "/":
		name = path.Join("/", from.Path)
	case "home":
		name = path.Join("~", from.Path)
	}
	name = run(name)
	if anywhere.MatchString(name) {
		return o.Unclear("mounts", "it leads to any folder")
	}
	varies, leaves := strings.Contains(from.Path, "$"), from.Base == "home" && from.Leaves()
	names := []string{name}
	if leaves {
		names = []string{path.Join("/home", from.Path[len(".."):]), path.Join("/", from.Path)}
	}
	for _, name := range names {
		if m := seenAs.FindStringSubmatch(name); m != nil {
			names = append(names, path.Join("/", m[1]))
		}
	}
	for _, name := range names {
		if aHome.MatchString(name) {
			names = append(names, aHome.ReplaceAllString(name, "~$1"))
		}
	}
	for i := range names {
		names[i] = strings.ToLower(names[i]) // as some systems do
	}
	forbids := func(entry string) bool {
		entry = strings.ToLower(run(entry))
		switch {
		case entry == "..":
			return climb != ""
		case varies:
			rest := strings.ToLower(toVariable.ReplaceAllString(from.Path, ""))
			return (rest != "" || toVariable.FindString(source) != source || from.Base == "/") && reaches(path.Join(".", rest), entry)
		case climb != "":
			return climb != ".." && reaches(strings.ToLower(climb), entry)
		}
		entries := []string{entry}
		if aHome.MatchString(entry) {
			entries = append(entries, aHome.ReplaceAllString(entry, "~$1"))
		}
		return slices.ContainsFunc(names, func(name string) bool {
			return strings.HasPrefix(name, "~") && homes.MatchString(path.Clean(entry)) ||
				slices.ContainsFunc(entries, func(entry string) bool { return PathMatch(entry, name) || holds(name, entry) })
		})
	}
	return o.Compare("mounts", forbids, func(e string) bool {
		if e == ".." {
			return climb == ".."
		}
		return !varies && !leaves && PathMatch(run(e), name)
	})
}

// run names the folders of running programs and of locks in one of their two ways.
func run(name string) string {
	for _, folder := range []string{"/run", "/lock"} {
		if rest, ok := strings.CutPrefix(name, "/var"+folder); ok && (rest == "" || rest[0] == '/') {
			return path.Join("/run", strings.TrimPrefix(folder, "/run"), rest)
		}
	}
	return name
}

// Unclear says of something for which no list of that part has an entry that would fit that it may not be there; "" when the policy has no
// such list.
func (o *Policy) Unclear(part, what string) (why, where string) {
	for _, list := range []string{"forbid", "allow"} {
		if entries := o.doc.Root.Member(part).Member(list); entries != nil && (list == "allow" || len(entries.Elements) > 0) {
			return fmt.Sprintf("%s, and the policy lists %s", what, part), o.At(entries) + " lists them"
		}
	}
	return "", ""
}

// holds reports whether the folder name, absolute or below the home folder, holds what an entry names.
func holds(name, entry string) bool {
	if strings.HasPrefix(entry, "~") && homes.MatchString(name) {
		return true
	}
	if name == "" || name[0] != '/' && name[0] != '~' || strings.HasPrefix(entry, "~") != strings.HasPrefix(name, "~") {
		return false
	}
	return along(split(entry), split(name))
}

// reaches reports whether a path from an unknown folder can lead to what an entry names, to something in it, or to a folder that holds it.
func reaches(climbing, entry string) bool {
	rest := split(climbing)
	for len(rest) > 0 && rest[0] == ".." {
		rest = rest[1:]
	}
	if len(rest) == 0 {
		return true
	}
	for parts := split(entry); len(parts) > 0; parts = parts[1:] {
		if along(parts, rest) {
			return true
		}
	}
	return false
}

// along reports whether one of two paths begins with the other.
func along(patterns, names []string) bool {
	for i := range min(len(patterns), len(names)) {
		if ok, err := path.Match(patterns[i], names[i]); err != nil || !ok {
			return false
		}
	}
	return true
}

// split returns the names of a path without an end of "/".
func split(name string) []string {
	if name = strings.Trim(path.Clean(name), "/"); name == "" || name == "." {
		return nil
	}
	return strings.Split(name, "/")
}
