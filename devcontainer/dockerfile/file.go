package dockerfile

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/moby/buildkit/frontend/dockerfile/instructions"

	"github.com/org/claude-sandbox/devcontainer/budget"
	"github.com/org/claude-sandbox/devcontainer/shell"
	"github.com/org/claude-sandbox/internal/jsonc"
)

// Bounds of what Parse reads and works out: Dockerfiles are written by hand.
const (
	MaxSize   = 1 << 20 // bytes of the file
	maxStages = 1000
	maxWork   = 2 << 20 // bytes that variables stand for, in the whole file
	// maxHistories bounds the bytes of the instructions that stages take over from those they build on: rules look at
	// each stage with all that is below it.
	maxHistories = 8 << 20
)

// File is a Dockerfile.
type File struct {
	Doc      *jsonc.Document // places findings; its Root is nil
	Text     string          // of Doc
	Global   []*Instruction  // what stands before the first FROM
	Stages   []*Stage        // in the order of the file
	Problems []Problem       // what BuildKit would not build, in the order of the file
	Warnings []Warning       // what BuildKit's build checks say, in the order of the file
	// Args are the build arguments that hold before the first FROM: defaults of
	// the file, then what Options says.
	Args map[string]string
	work *budget.Budget
	rest string // why the rest of the file was not read
}

// Incomplete says why a part of the file is not worked out; "" when all of it
// is. Expand can add to that.
func (f *File) Incomplete() string {
	switch {
	case f.rest != "":
		return f.rest
	case f.work.Spent():
		return fmt.Sprintf("variables and commands stand for more than %d bytes", maxWork)
	}
	return ""
}

// Problem is something that BuildKit refuses.
type Problem struct {
	Start, End int // offsets
	Message    string
	Hint       string // what to write in its place; "" for none
	Unknown    string // the instruction's name, when no such instruction exists
	Stage      *Stage // whose build it ends; nil for every build of the file
}

// Stage is one FROM and what follows it.
type Stage struct {
	Index        int
	Name         string // behind AS, in lower case; "" for none
	Image        string // what FROM names, known arguments filled in
	Known        bool   // whether Image has no unknown argument
	From         *Instruction
	Parent       *Stage         // the earlier stage that FROM names; nil for an image
	Instructions []*Instruction // without the FROM
	// User is the user at the end, "" when that is the image's own.
	User string
	// Args and Env are the variables at the end, those of parents included.
	// A value that depends on the image or the build is not in them.
	Args, Env map[string]string
	shell     []string
	work      *budget.Budget
	size      int // bytes of its instructions, with those of its parents
}

// Instruction is one instruction with its place.
type Instruction struct {
	Name    string // in upper case: "RUN"
	Start   int    // offset of the name
	End     int    // offset after the last byte, here-documents included
	HeadEnd int    // offset after the first line's last byte
	Stage   *Stage // nil before the first FROM
	// Command is BuildKit's typed form, such as *instructions.RunCommand; nil
	// when BuildKit refuses the instruction.
	Command any
	// User is the user that it runs as, "" when that is the image's own.
	User string
	// Shell is the SHELL that it runs with, nil when that is the image's own.
	Shell []string
	// Commands are what a RUN, CMD, ENTRYPOINT or SHELL's text runs. Offsets are
	// those of the file.
	Commands []*shell.Command
	// Unread is true when it runs text in a language that is not read here:
	// PowerShell, Python, or shell text with a syntax error.
	Unread bool
	// Broken is the syntax error in the text that a shell would get; nil = there is none, or the shell is not known.
	Broken *Problem
	// Documents are its here-documents.
	Documents []Document
	src       string
	line      int // of its first byte, from 1
	script    string
	scriptAt  int
}

// Script returns what a RUN in shell form gives its shell, byte for byte as the file has it, and
// where that begins in the file; "" for every other instruction.
func (i *Instruction) Script() (text string, start int) { return i.script, i.scriptAt }

// Document is a here-document.
type Document struct {
	Name       string // that ends it
	Text       string
	Start, End int  // offsets of the text
	Quoted     bool // its first word: nothing in it is replaced
}

// Literal reports whether the builder takes what stands at an offset of the instruction as it is: in a here-document of COPY or ADD whose
// first word is in quotes.
func (i *Instruction) Literal(at int) bool {
	for _, d := range i.Documents {
		if d.Quoted && i.Name != "RUN" && d.Start <= i.Start+at && i.Start+at < d.End {
			return true
		}
	}
	return false
}

// Find returns the place of text within the instruction, or of its first line.
func (i *Instruction) Find(text string) (start, end int) {
	if at := strings.Index(i.src, text); at >= 0 && text != "" {
		return i.Start + at, i.Start + at + len(text)
	}
	return i.Start, i.HeadEnd
}

// FindBehind is Find for a text behind an offset of the file, such as the end of what was found before: what stands
// one behind the other is found in one walk.
func (i *Instruction) FindBehind(after int, text string) (start, end int) {
	after = min(max(after, i.Start), i.Start+len(i.src))
	if at := strings.Index(i.src[after-i.Start:], text); at >= 0 && text != "" {
		return after + at, after + at + len(text)
	}
	return i.Find(text)
}

// Source returns the text of the instruction as it is written.
func (i *Instruction) Source() string { return i.src }

// Target returns the stage that a build of target ends with: by name, by
// number, or the last one when target is "". It returns nil when there is none.
func (f *File) Target(target string) *Stage {
	if len(f.Stages) == 0 {
		return nil
	}
	if target == "" {
		return f.Stages[len(f.Stages)-1]
	}
	return f.stage(target, len(f.Stages))
}

// stage finds a stage before the one with number limit; of equal names the
// last.
func (f *File) stage(name string, limit int) *Stage {
	for i := limit - 1; i >= 0; i-- {
		if f.Stages[i].Name != "" && f.Stages[i].Name == strings.ToLower(name) {
			return f.Stages[i]
		}
	}
	if n, err := strconv.Atoi(name); err == nil && n >= 0 && n < limit {
		return f.Stages[n]
	}
	return nil
}

// Chain returns the stage and those that it is made from, the first one first.
func (s *Stage) Chain() []*Stage {
	var out []*Stage
	for ; s != nil; s = s.Parent {
		out = append(out, s)
	}
	slices.Reverse(out)
	return out
}

// Base returns the stage at the bottom of the chain: its Image is what the
// engine pulls.
func (s *Stage) Base() *Stage {
	for s.Parent != nil {
		s = s.Parent
	}
	return s
}

// History returns the instructions that make the stage, those of the stages
// below it first.
func (s *Stage) History() []*Instruction {
	if s.Parent == nil {
		return slices.Clip(s.Instructions)
	}
	var out []*Instruction
	for _, stage := range s.Chain() {
		out = append(out, stage.Instructions...)
	}
	return out
}

// Last returns the last instruction of that name in the stage's history, or
// nil.
func (s *Stage) Last(name string) *Instruction {
	var last *Instruction
	for _, i := range s.History() {
		if i.Name == name {
			last = i
		}
	}
	return last
}

// Start returns the stage's ENTRYPOINT and CMD as the engine would run them: a
// shell form has its shell in front. One that the Dockerfile does not set is
// nil; then the image's own holds, but for a CMD below an ENTRYPOINT, which
// resets it.
func (s *Stage) Start() (entrypoint, cmd []string) {
	words := func(i *Instruction, line instructions.ShellDependantCmdLine) []string {
		if !line.PrependShell {
			return line.CmdLine
		}
		if len(i.Stage.shell) > 0 {
			return append(i.Stage.shell[:len(i.Stage.shell):len(i.Stage.shell)], line.CmdLine...)
		}
		return append([]string{"/bin/sh", "-c"}, line.CmdLine...)
	}
	for _, i := range s.History() {
		switch c := i.Command.(type) {
		case *instructions.EntrypointCommand:
			entrypoint = words(i, c.ShellDependantCmdLine)
		case *instructions.CmdCommand:
			cmd = words(i, c.ShellDependantCmdLine)
		}
	}
	return entrypoint, cmd
}

// Reachable returns the stages that a build of target needs: its chain, and
// what COPY and RUN --mount take from others.
func (f *File) Reachable(target *Stage) []*Stage {
	seen := map[*Stage]bool{}
	var visit func(*Stage)
	visit = func(s *Stage) {
		if s == nil || seen[s] {
			return
		}
		seen[s] = true
		visit(s.Parent)
		for _, i := range s.Instructions {
			for _, from := range i.Sources() {
				visit(f.stage(from, s.Index))
			}
		}
	}
	visit(target)
	var out []*Stage
	for _, s := range f.Stages {
		if seen[s] {
			out = append(out, s)
		}
	}
	return out
}

// Sources returns the stages or images that COPY --from and RUN --mount=from=
// name, known arguments filled in.
func (i *Instruction) Sources() []string {
	switch c := i.Command.(type) {
	case *instructions.CopyCommand:
		if c.From != "" {
			return []string{i.Stage.expand(c.From)}
		}
	case *instructions.RunCommand:
		var out []string
		for _, m := range instructions.GetMounts(c) {
			if m.From != "" {
				out = append(out, i.Stage.expand(m.From))
			}
		}
		return out
	}
	return nil
}

// StageOf returns the stage before i that name stands for, or nil when name is
// an image.
func (f *File) StageOf(i *Instruction, name string) *Stage {
	if i.Stage == nil {
		return nil
	}
	return f.stage(name, i.Stage.Index)
}
