package changes

import (
	"io/fs"
	"unicode/utf8"

	"github.com/org/claude-sandbox/workspace/obeyed"
)

// Kind is what happened to a path.
type Kind string

// The kinds. A path that is another type of thing now is Type, whatever else
// changed; content wins over mode.
const (
	Added   Kind = "added"
	Removed Kind = "removed"
	Changed Kind = "changed" // its content
	Mode    Kind = "mode"    // its permissions alone
	Type    Kind = "type"    // such as a file that is a symbolic link now
	Link    Kind = "link"    // a symbolic link that leads elsewhere
)

// The kind of a path.
type What string

// The types of things in a folder.
const (
	File    What = "file"
	Folder  What = "folder"
	Symlink What = "symlink"
	Special What = "special" // a socket, a pipe or a device
)

// State is what a path was before the run, or is after it.
type State struct {
	What   What   `json:"what"`
	Mode   uint32 `json:"mode"`             // permission bits with setuid, setgid and sticky as in stat(2)
	Size   int64  `json:"size"`             // bytes; of files only
	Target string `json:"target,omitempty"` // of a symbolic link
}

// Change is one changed path, or one folder that stands for all in it.
type Change struct {
	Path    string       `json:"path"`              // below the project, slash-separated
	RawPath []byte       `json:"rawPath,omitempty"` // the same where it is no valid UTF-8, which JSON cannot hold
	Kind    Kind         `json:"kind"`
	Class   obeyed.Class `json:"obeyed,omitempty"` // who obeys it
	Before  *State       `json:"before,omitempty"` // nil = it was not there, or nothing is known
	After   *State       `json:"after,omitempty"`  // nil = it is gone
	From    string       `json:"from,omitempty"`   // the path that an added file was moved from
	Plus    int          `json:"plus"`             // lines added and removed; 0 where Note says why none are shown
	Minus   int          `json:"minus"`
	Note    string       `json:"note,omitempty"` // why the content is not shown, for people; "" = it is in the diff

	When   int64  `json:"when,omitempty"`   // when the kernel last noted a change of it as it is now, in nanoseconds since 1970; 0 = unknown
	Fresh  string `json:"fresh,omitempty"`  // the topmost folder that came with it; "" = its folder was there
	Twin   string `json:"twin,omitempty"`   // a path that some file systems take for the same name
	Sum    string `json:"sum,omitempty"`    // SHA-256 in hex of the file as it is now; "" = it was not read
	SumWas string `json:"sumWas,omitempty"` // and as it was before; "" = there was none, or its content is not known
	Patch  Piece  `json:"patch,omitzero"`   // of PatchFile: its part of the diff
	Later  bool   `json:"later,omitempty"`  // it changed after a run that was killed and its programs: it may be the user's
	Former Piece  `json:"former,omitzero"`  // of FormerFile: what a file held whose former lines the diff does not show

	Secrets []Secret `json:"secrets,omitempty"` // of the run, that it holds
	// NewPackageHosts are those from which a lock file takes packages since the run, without
	// the public registries.
	NewPackageHosts []string `json:"newPackageHosts,omitempty"`

	// A folder with very many new or removed files is one Change.
	Folded bool  `json:"folded,omitempty"`
	Files  int   `json:"files,omitempty"` // in it
	Bytes  int64 `json:"bytes,omitempty"` // of these files

	old, new []byte // content, while the diff is made; nil = none, or see Note
	patch    []byte // of this change; nil = none, or see Note
	former   []byte // what the file held, where the patch does not tell
	now      *node  // the entry as it is; nil = it is gone
	oldHead  string // the sum of the first block of what it held, and of what it holds; "" = shorter, or unknown
	newHead  string
	binaries bool  // see Options.Binaries
	carried  bool  // the patch has its binary content
	left     int64 // how many bytes the diff may still take
	gits     bool  // git's own files, which are no work of anybody's
}

// Piece is a part of a file in the run's folder; the zero value is none.
type Piece struct {
	At   int64 `json:"at"` // bytes from the file's beginning
	Size int64 `json:"size"`
}

// Set is what changed. Changes are sorted: the most dangerous class first, then
// by path.
type Set struct {
	Changes []Change `json:"changes"`
	More    int      `json:"more,omitempty"` // changes beyond maxChanges
	Files   int      `json:"files"`          // changed files in all, those in folded folders and in More included
	Plus    int      `json:"plus"`
	Minus   int      `json:"minus"`
	// Repositories are places at which git finds one that it did not find before.
	Repositories []Repository `json:"repositories,omitempty"`
	Unseen       []string     `json:"unseen,omitempty"`  // sentences: what was not looked at
	Outside      []string     `json:"outside,omitempty"` // folders that the run could write, too, and that are not compared
	Cut          bool         `json:"cut,omitempty"`     // the diff is not complete
	Ended        int64        `json:"ended,omitempty"`   // when the run had ended, in nanoseconds since 1970; 0 = when the set was saved
}

// Bounds on what a run's changes may cost the host, in entries and bytes. An
// agent decides how many files there are.
const (
	maxEntries   = 500_000   // of a walk
	maxNewInOne  = 100_000   // new entries of one folder that are looked at one by one
	maxNames     = 2_000_000 // names of one folder that are read
	maxDepth     = 400       // folders in one another
	maxPath      = 4096      // bytes of the path of a folder that is read, as in Linux
	maxPaths     = 256 << 20 // bytes of the paths of all new entries
	maxUnseen    = 20        // sentences
	maxFile      = 1 << 20   // of a file whose content is kept or shown
	maxKept      = 64 << 20  // of all copies that Take makes
	maxRead      = 192 << 20 // of what Compare reads
	maxPatch     = 16 << 20  // of the diff
	maxFormer    = 16 << 20  // of binary files as they were
	maxChanges   = 20_000    // in a Set
	foldFrom     = 1000      // files of a new or a removed folder that becomes one Change
	maxInFolded  = 100       // dangerous files that are named nevertheless
	manyInFolder = 2000      // files without a repository's knowledge in one folder that are not copied
)

// Dangerous lists the changes that a person should look at before building,
// committing or pushing; they come first in the set.
func (s *Set) Dangerous() []Change {
	for i, c := range s.Changes {
		if !c.Class.Dangerous() {
			return s.Changes[:i]
		}
	}
	return s.Changes
}

// Empty reports whether nothing changed and everything was looked at.
func (s *Set) Empty() bool { return s == nil || len(s.Changes) == 0 && len(s.Unseen) == 0 }

// newChange makes a change whose path may be any bytes.
func newChange(rel string, kind Kind, before, after *State) Change {
	c := Change{Path: rel, Kind: kind, Before: before, After: after}
	if !utf8.ValidString(rel) {
		c.RawPath = []byte(rel)
	}
	return c
}

// whatOf is the type of thing behind a mode.
func whatOf(mode fs.FileMode) What {
	switch {
	case mode.IsDir():
		return Folder
	case mode&fs.ModeSymlink != 0:
		return Symlink
	case mode.IsRegular():
		return File
	}
	return Special
}

// unixMode gives the permission bits as stat(2) has them.
func unixMode(mode fs.FileMode) uint32 {
	bits := uint32(mode.Perm())
	for flag, bit := range map[fs.FileMode]uint32{fs.ModeSetuid: 0o4000, fs.ModeSetgid: 0o2000, fs.ModeSticky: 0o1000} {
		if mode&flag != 0 {
			bits |= bit
		}
	}
	return bits
}
