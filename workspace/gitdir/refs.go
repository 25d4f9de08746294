package gitdir

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// sortedKeys are a map's keys in order.
func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// parsePacked reads packed-refs: the refs below prefix.
func parsePacked(text, prefix string) map[string]string {
	refs := map[string]string{}
	for line := range strings.Lines(text) {
		hash, name, ok := strings.Cut(strings.TrimSpace(line), " ")
		if ok && strings.HasPrefix(name, prefix) && hashText.MatchString(hash) {
			refs[name] = hash
		}
	}
	return refs
}

// hostRefs lists the objects that refs and HEAD of a host's repository name.
func hostRefs(s Store) map[string]bool {
	known := map[string]bool{}
	if root, err := os.OpenRoot(s.Dir); err == nil {
		if head, err := headText(root); err == nil && hashText.MatchString(strings.TrimSpace(head)) {
			known[strings.TrimSpace(head)] = true
		}
		root.Close()
	}
	root, err := os.OpenRoot(s.Common)
	if err != nil {
		return known
	}
	defer root.Close()
	_ = fs.WalkDir(root.FS(), "refs", func(name string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || len(known) > maxRefs {
			return nil
		}
		if text, err := readSmall(s.Common, name); err == nil && hashText.MatchString(strings.TrimSpace(text)) {
			known[strings.TrimSpace(text)] = true
		}
		return nil
	})
	// After the files of refs: git writes each there before it removes the file.
	if text, err := readUpTo(s.Common, "packed-refs", maxRefFile); err == nil {
		for _, hash := range parsePacked(text, "refs/") {
			known[hash] = true
		}
	}
	return known
}

// isSHA256 reports whether a repository names objects by SHA-256, and isPartial
// whether it may lack objects that a remote has promised.
func (s Store) isSHA256() bool {
	return slices.ContainsFunc(s.Config, func(v Value) bool {
		return v.Section == "extensions" && v.Name == "objectformat" && strings.EqualFold(v.Value, "sha256")
	})
}

func (s Store) isPartial() bool {
	return slices.ContainsFunc(s.Config, func(v Value) bool {
		return v.Section == "remote" && v.Name == "promisor" && strings.EqualFold(v.Value, "true")
	})
}

// objects is the folder of a repository's objects.
func (s Store) objects() string { return filepath.Join(s.Common, "objects") }
