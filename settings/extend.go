package settings

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/org/claude-sandbox/firewall"
	"github.com/org/claude-sandbox/internal/jsonc"
)

// Extension is what Extend adds to a settings file.
type Extension struct {
	Presets, Allow, Private []string      // entries of "network", in this order behind what is there
	Mode                    firewall.Mode // takes the place of network.mode; "" leaves it as it is
}

// Extend returns the text of a settings file with entries added to its
// "network". Everything else stays byte for byte: comments, order, indentation,
// line ends. What the lists hold already is not added again, so a second call
// changes nothing. It errs when src is no valid settings file, and when the
// result would not be one. file and read are those of Parse.
func Extend(file string, src []byte, x Extension, read FileReader) ([]byte, error) {
	before, findings := Parse(file, src, read)
	if before == nil {
		return nil, fmt.Errorf("%s:%d:%d: %s", file, findings[0].Line, findings[0].Column, findings[0].Message)
	}
	e := extender{file: file, src: src}
	e.member("", "network", "{\n}")
	network := before.Network
	for _, list := range []struct {
		name      string
		have, add []string
	}{{"presets", network.Presets, x.Presets}, {"allow", network.Allow, x.Allow}, {"private", network.Private, x.Private}} {
		for _, entry := range list.add {
			if slices.Contains(list.have, entry) {
				continue
			}
			list.have = append(list.have, entry)
			e.member("/network", list.name, "[\n]")
			e.change(func(d *jsonc.Document) []jsonc.Edit {
				return d.AddElement(d.Root.Find("/network/"+list.name), jsonc.Quote(entry))
			})
		}
	}
	if x.Mode != "" && network.Mode != x.Mode {
		e.member("/network", "mode", `""`)
		e.change(func(d *jsonc.Document) []jsonc.Edit {
			return jsonc.Replace(d.Root.Find("/network/mode"), jsonc.Quote(string(x.Mode)))
		})
	}
	if e.err != nil {
		return nil, fmt.Errorf("extending %s: %w", file, e.err)
	}
	if e.edits == 0 {
		return src, nil
	}
	if after, findings := Parse(file, e.src, read); after == nil {
		return nil, fmt.Errorf("extending %s: the result would not be valid: %s", file, findings[0].Message)
	}
	return e.src, nil
}

// extender changes a text step by step. One edit at a time is made and the text
// read again: two edits at one place would have no order.
type extender struct {
	file  string
	src   []byte
	edits int // that count: a network without anything in it is none
	err   error
}

// member makes sure that the object at pointer has the member. An object on one
// line stays on it.
func (e *extender) member(pointer, name, value string) {
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

func (e *extender) change(edit func(*jsonc.Document) []jsonc.Edit) {
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
