package settings

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/org/claude-sandbox/firewall"
	"github.com/org/claude-sandbox/firewall/operation"
	"github.com/org/claude-sandbox/internal/jsonc"
)

// Lists are entries of "network", as sandbox.jsonc writes them.
type Lists struct {
	Presets []string `json:"presets,omitempty"`
	Allow   []string `json:"allow,omitempty"`
	Deny    []string `json:"deny,omitempty"`
	Private []string `json:"private,omitempty"`
}

// list is one of Lists with its name.
type list struct {
	name    string
	entries []string
}

func (l Lists) all() []list {
	return []list{{"presets", l.Presets}, {"allow", l.Allow}, {"deny", l.Deny}, {"private", l.Private}}
}

func listsOf(n firewall.Network) Lists { return Lists{n.Presets, n.Allow, n.Deny, n.Private} }

// OnlyLists returns the entries of a settings file that holds nothing else, not even a
// comment, as one that Amend made of an empty one; ok is false for any other.
func OnlyLists(file string, src []byte) (lists Lists, ok bool) {
	s, _ := Parse(file, src, NoFiles)
	if s == nil {
		return lists, false
	}
	lists = listsOf(s.Network)
	empty := &File{Path: file, Source: []byte("{}"), Settings: &Accepted{}}
	again, err := empty.Amend(Change{Add: lists})
	words := func(text []byte) string {
		return strings.Join(strings.Fields(strings.ReplaceAll(string(text), ",", ", ")), "")
	}
	return lists, err == nil && words(again.Source) == words(src)
}

// Change is what File.Amend does to a settings file.
type Change struct {
	Add    Lists         `json:"add,omitzero"`    // in this order behind what is there
	Remove Lists         `json:"remove,omitzero"` // wherever they stand in the file itself
	Mode   firewall.Mode `json:"mode,omitempty"`  // takes the place of network.mode; "" leaves it as it is
}

// Amend returns the file with the lists of its "network" changed; f itself where that
// changes nothing. Everything else stays byte for byte: comments, order, indentation,
// line ends. Entries that are in the lists are not added again, and missing ones
// are not removed, so a second call changes nothing. Entries are
// compared as SameEntry does. It errs when f is
// not valid, when the result would not be, and for an entry to remove that stands in
// a list file. The lists are those that f has read.
func (f *File) Amend(c Change) (*File, error) {
	if f.Settings == nil {
		at := f.Findings[0]
		return nil, fmt.Errorf("%s:%d:%d: %s", f.Path, at.Line, at.Column, at.Message)
	}
	e := editor{file: f.Path, src: f.Source}
	have := map[string][]string{}
	for _, l := range listsOf(f.Settings.Network).all() {
		have[l.name] = slices.Clone(l.entries)
	}
	for _, l := range c.Remove.all() {
		for _, entry := range l.entries {
			e.remove("/network/"+l.name, entry)
			if e.err == nil && f.inListFile(l.name, entry) {
				e.err = fmt.Errorf("%q comes from a list file that network.%s names", entry, l.name)
			}
			have[l.name] = slices.DeleteFunc(have[l.name], func(had string) bool { return SameEntry(had, entry) })
		}
	}
	e.member("", "network", "{\n}")
	for _, l := range c.Add.all() {
		for _, entry := range l.entries {
			if holds(have[l.name], entry) {
				continue
			}
			have[l.name] = append(have[l.name], entry)
			e.member("/network", l.name, "[\n]")
			e.change(func(d *jsonc.Document) []jsonc.Edit {
				return d.AddElement(d.Root.Find("/network/"+l.name), jsonc.Quote(entry))
			})
		}
	}
	if c.Mode != "" && f.Settings.Network.Mode != c.Mode {
		e.member("/network", "mode", `""`)
		e.change(func(d *jsonc.Document) []jsonc.Edit {
			return jsonc.Replace(d.Root.Find("/network/mode"), jsonc.Quote(string(c.Mode)))
		})
	}
	if e.err != nil {
		return nil, fmt.Errorf("changing %s: %w", f.Path, e.err)
	}
	if e.edits == 0 {
		return f, nil
	}
	after := ParseFile(f.Path, e.src, func(name string) ([]byte, error) { return f.Lists[name], nil })
	if after.Settings == nil {
		return nil, fmt.Errorf("the result would not be valid: %w", after.Err())
	}
	return after, nil
}

// inListFile reports whether an entry of a list stands in a file that the list names.
func (f *File) inListFile(list, entry string) bool {
	return slices.ContainsFunc(f.Settings.Entries(), func(e Entry) bool {
		return e.List == list && e.File != f.Path && SameEntry(e.Text, entry)
	})
}

// holds reports whether a list has an entry.
func holds(list []string, entry string) bool {
	return slices.ContainsFunc(list, func(have string) bool { return SameEntry(have, entry) })
}

// SameEntry reports whether two texts are one entry: without regard to upper and lower
// case, which typed ones alone distinguish, as in paths.
func SameEntry(a, b string) bool {
	if operation.Typed(a) || operation.Typed(b) {
		return slices.Equal(strings.Fields(a), strings.Fields(b))
	}
	return strings.EqualFold(strings.TrimSpace(a), strings.TrimSpace(b))
}

// editor changes a text step by step. One edit at a time is made and the text
// read again: two edits at one place would have no order.
type editor struct {
	file  string
	src   []byte
	edits int // that count: a network without anything in it is none
	err   error
}

// member makes sure that the object at pointer has the member. An object on one
// line stays on it.
func (e *editor) member(pointer, name, value string) {
	if e.err != nil {
		return
	}
	doc, _ := jsonc.Parse(e.file, e.src)
	object := doc.Root.Find(pointer)
	if object.Member(name) != nil {
		return
	}
	if !bytes.ContainsRune(doc.Src[object.Start:object.End], '\n') {
		value = strings.ReplaceAll(value, "\n", "")
	}
	edits := e.edits
	e.change(func(d *jsonc.Document) []jsonc.Edit { return d.AddMember(d.Root.Find(pointer), name, value) })
	e.edits = edits
}

// remove takes every element with the text entry out of the array at pointer.
func (e *editor) remove(pointer, entry string) {
	for e.err == nil {
		doc, _ := jsonc.Parse(e.file, e.src)
		array := doc.Root.Find(pointer)
		if array == nil {
			return
		}
		at := slices.IndexFunc(array.Elements, func(n *jsonc.Node) bool { return SameEntry(n.Text, entry) })
		if at < 0 {
			return
		}
		e.change(func(d *jsonc.Document) []jsonc.Edit { return d.RemoveElement(d.Root.Find(pointer), at) })
	}
}

func (e *editor) change(edit func(*jsonc.Document) []jsonc.Edit) {
	if e.err != nil {
		return
	}
	doc, findings := jsonc.Parse(e.file, e.src)
	if doc == nil {
		e.err = errors.New(findings[0].Message)
		return
	}
	out, applied := jsonc.Apply(e.src, edit(doc))
	if !applied[0] {
		e.err = errors.New("the edit does not fit")
		return
	}
	e.src = out
	e.edits++
}
