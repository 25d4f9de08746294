package devcontainer

import (
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// OpenWith is Open of the configuration at file as it would be with more files,
// which are named relative to the project's folder, with slashes. They win over
// those on the disk. Everything around them is read from there, so that what is
// to be written is judged exactly as it will be when it is there.
func OpenWith(file string, more map[string][]byte, use func(*Project) error) error {
	return new(Opener).open(file, func(under Tree, name string) Tree {
		over := Memory{}
		home := projectFolder(path.Dir(name))
		for name, text := range more {
			over[path.Join(home, name)] = string(text)
		}
		return layered{over, under}
	}, use)
}

// asIs is the tree as it is on the disk.
func asIs(tree Tree, _ string) Tree { return tree }

// layered is a Tree whose own files win over those of another.
type layered struct {
	over  Memory
	under Tree
}

func (o layered) Read(name string) ([]byte, error) {
	if _, ok := o.over[filepath.ToSlash(name)]; ok {
		return o.over.Read(name)
	}
	return o.under.Read(name)
}

func (o layered) Kind(name string) Kind {
	if kind := o.over.Kind(name); kind != Nothing {
		return kind
	}
	return o.under.Kind(name)
}

func (o layered) List(dir string) []string {
	all := append(o.over.List(dir), o.under.List(dir)...)
	slices.Sort(all)
	return slices.Compact(all)
}

// With is the project with another text of its configuration.
func (p *Project) With(src []byte) *Project {
	if p.Tree == nil {
		next := Parse(p.Config.File, src)
		next.Org = p.Org
		return next
	}
	name := path.Join(p.Dir, p.name)
	next, err := Load(overlay{p.Tree, name, src}, name, p.Config.File)
	if err != nil { // the overlay has the file
		panic("devcontainer: " + err.Error())
	}
	next.Org = p.Org
	return next
}

// overlay is a Tree in which one file has another text.
type overlay struct {
	Tree
	name string
	src  []byte
}

func (o overlay) Read(name string) ([]byte, error) {
	if name == o.name {
		return o.src, nil
	}
	return o.Tree.Read(name)
}

func (o overlay) executable(name string) (yes, known bool) { return Executable(o.Tree, name) }

func (o overlay) absent(name string) bool { return isAbsent(o.Tree, name) }

// OpenEdited is Open with texts that an editor has and the disk may not have yet, by
// their absolute names. They win over the files on the disk.
func OpenEdited(file string, texts map[string][]byte, use func(*Project) error) error {
	full, err := filepath.Abs(file)
	if err != nil {
		return err
	}
	return new(Opener).open(full, func(under Tree, name string) Tree {
		top := strings.TrimSuffix(filepath.ToSlash(full), name)
		over := Memory{}
		for at, text := range texts {
			if rest, ok := strings.CutPrefix(filepath.ToSlash(at), top); ok {
				over[rest] = string(text)
			}
		}
		return layered{over, under}
	}, use)
}

func (o layered) executable(name string) (yes, known bool) { return Executable(o.under, name) }
