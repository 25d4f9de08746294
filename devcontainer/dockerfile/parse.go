package dockerfile

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/moby/buildkit/frontend/dockerfile/instructions"
	"github.com/moby/buildkit/frontend/dockerfile/parser"
	lexer "github.com/moby/buildkit/frontend/dockerfile/shell"
	"mvdan.cc/sh/v3/syntax"

	"github.com/org/claude-sandbox/devcontainer/budget"
	"github.com/org/claude-sandbox/devcontainer/shell"
	"github.com/org/claude-sandbox/internal/jsonc"
)

// Options are what a build says in addition to the file.
type Options struct {
	// Args are build arguments with a value that is known.
	Args map[string]string
	// UnknownArgs are build arguments whose value only the build knows; the
	// file's defaults do not hold for them.
	UnknownArgs []string
}

// Parse reads a Dockerfile; name is only quoted.
func Parse(name string, src []byte, options Options) *File {
	return Read(jsonc.Text(name, src), options)
}

// Read is Parse of a text that has its lines counted.
func Read(doc *jsonc.Document, options Options) *File {
	src := doc.Src
	f := &File{Doc: doc, Text: string(src), Args: map[string]string{}, work: budget.New(maxWork)}
	p := &reader{file: f, src: src, options: options, histories: budget.New(maxHistories)}
	if len(src) > MaxSize {
		f.rest = "the file is larger than " + strconv.Itoa(MaxSize) + " bytes"
		return f
	}
	if !isText(src) {
		f.rest = "the file is not UTF-8 text"
		return f
	}
	result, err := nodes(src)
	if err != nil {
		p.problem(err, 0, 0)
		return f
	}
	p.lex = lexer.NewLex(result.EscapeToken)
	p.lex.SkipUnsetEnv = true
	p.escape = result.EscapeToken
	p.checks = newChecker(f.Doc, result.Warnings)
	for _, node := range result.AST.Children {
		if len(f.Stages) > maxStages {
			f.rest = fmt.Sprintf("the file has more than %d stages", maxStages)
			break
		}
		if p.instruction(node); p.histories.Spent() {
			f.rest = fmt.Sprintf("stages that build on others stand for more than %d bytes", maxHistories)
			break
		}
	}
	if len(f.Stages) == 0 && len(f.Problems) == 0 {
		f.Problems = append(f.Problems, Problem{Message: "there is no FROM"})
	}
	if p.checks.refused != nil {
		f.Problems = append(f.Problems, *p.checks.refused)
	}
	p.checks.casing(p.read)
	f.Warnings = p.warnings(p.read)
	return f
}

type reader struct {
	file    *File
	src     []byte
	options Options
	lex     *lexer.Lex
	escape  rune
	stage   *Stage // the one being read
	// histories are the bytes that stages may take over.
	histories *budget.Budget
	checks    *checker
	// headless says that something stands before the first FROM, which is said once.
	headless bool
	read     []*Instruction // that BuildKit takes
}

// problem records BuildKit's error at the lines that it names.
func (p *reader) problem(err error, start, end int) {
	var at *parser.LocationError
	if end == 0 && errors.As(err, &at) && len(at.Locations) > 0 && len(at.Locations[0]) > 0 {
		line := at.Locations[0][0].Start.Line
		start, end = p.file.Doc.LineStart(line), lineEnd(p.file.Doc, line)
	}
	problem := Problem{Start: start, End: max(start, end), Message: err.Error()}
	var unknown *instructions.UnknownInstructionError
	if errors.As(err, &unknown) {
		problem.Unknown = unknown.Instruction
	}
	p.file.Problems = append(p.file.Problems, problem)
}

func (p *reader) instruction(node *parser.Node) {
	i := &Instruction{Name: strings.ToUpper(node.Value), Stage: p.stage, line: node.StartLine}
	place(i, node, p.file.Doc, p.file.Text)
	command, err := p.command(node)
	if err != nil {
		end := i.HeadEnd
		if errors.As(err, new(*instructions.UnknownInstructionError)) {
			end = min(i.Start+len(node.Value), i.HeadEnd)
		}
		p.problem(err, i.Start, end)
		if i.Name == "FROM" {
			p.begin(i, &instructions.Stage{}) // what follows belongs to a stage that is not known
			p.stage.Known = false
		}
		return
	}
	i.Command = command
	p.read = append(p.read, i)
	p.checks.instruction(i, node)
	if from, ok := command.(*instructions.Stage); ok {
		p.begin(i, from)
		return
	}
	if p.stage == nil {
		p.file.Global = append(p.file.Global, i)
		if arg, ok := command.(*instructions.ArgCommand); ok {
			p.args(arg, p.file.Args, scope{p.file.Args, nil})
			return
		}
		if !p.headless {
			p.file.Problems = append(p.file.Problems, Problem{Start: i.Start, End: i.HeadEnd, Message: i.Name + " stands before the first FROM"})
		}
		p.headless = true
		return
	}
	p.convert(i)
	i.User, i.Shell = p.stage.User, p.stage.shell
	p.stage.Instructions = append(p.stage.Instructions, i)
	p.stage.size += len(i.src)
	switch c := command.(type) {
	case *instructions.ArgCommand:
		p.args(c, p.stage.Args, p.stage.variables())
	case *instructions.EnvCommand:
		p.env(c)
	case *instructions.UserCommand:
		p.stage.User, _ = p.expand(c.User, p.stage.variables())
	case *instructions.ShellCommand:
		p.stage.shell = c.Shell
	case *instructions.RunCommand:
		p.run(i, c.ShellDependantCmdLine, len(node.Flags))
	case *instructions.CmdCommand:
		p.run(i, c.ShellDependantCmdLine, len(node.Flags))
	case *instructions.EntrypointCommand:
		p.run(i, c.ShellDependantCmdLine, len(node.Flags))
	}
}

// aRun is a RUN without flags.
var aRun = sync.OnceValue(func() *instructions.RunCommand {
	run, err := instructions.ParseInstruction(&parser.Node{Value: "RUN", Next: &parser.Node{Value: "x"}})
	if err != nil {
		panic(err) // BuildKit takes no RUN
	}
	return run.(*instructions.RunCommand)
})

// command returns BuildKit's typed form of an instruction. That of a RUN of one text is copied from another, since
// BuildKit prepares eight flags for each; only its place and code, which nothing here asks it for, stay those of the other.
func (p *reader) command(node *parser.Node) (any, error) {
	if !strings.EqualFold(node.Value, "RUN") || len(node.Flags)+len(node.Heredocs) > 0 || node.Attributes["json"] ||
		node.Next == nil || node.Next.Next != nil {
		return instructions.ParseInstructionWithLinter(node, p.checks.Linter)
	}
	run := *aRun()
	run.CmdLine = []string{node.Next.Value}
	return &run, nil
}

// env records the variables of ENV. Their values see those from before it.
func (p *reader) env(c *instructions.EnvCommand) {
	values := make([]string, len(c.Env))
	known := make([]bool, len(c.Env))
	for n, kv := range c.Env {
		values[n], known[n] = p.expand(kv.Value, p.stage.variables())
	}
	for n, kv := range c.Env {
		if known[n] {
			p.stage.Env[kv.Key] = values[n]
			continue
		}
		delete(p.stage.Env, kv.Key)
		delete(p.stage.Args, kv.Key)
	}
}

// begin opens a stage.
func (p *reader) begin(i *Instruction, from *instructions.Stage) {
	s := &Stage{Index: len(p.file.Stages), Name: from.Name, From: i, Args: map[string]string{}, Env: map[string]string{}, work: p.file.work}
	s.Image, s.Known = p.expand(from.BaseName, scope{p.file.Args, nil})
	if s.Parent = p.file.stage(s.Image, s.Index); s.Parent != nil && s.Parent.Name != strings.ToLower(s.Image) {
		s.Parent = nil // FROM takes names, not numbers
	}
	switch {
	case s.Parent != nil:
		s.User, s.shell, s.size = s.Parent.User, s.Parent.shell, s.Parent.size
		p.histories.Spend(s.size)
		if p.file.work.Spend(perVariable * len(s.Parent.Env)) {
			maps.Copy(s.Env, s.Parent.Env)
		}
	case s.Image == "scratch":
		s.User = "root"
	}
	i.Stage, i.User = s, s.User
	p.stage = s
	p.file.Stages = append(p.file.Stages, s)
	p.platform(i, from)
}

// args records the defaults of ARG. In a stage, one without a default takes
// that from before the first FROM.
func (p *reader) args(c *instructions.ArgCommand, into map[string]string, variables scope) {
	for _, kv := range c.Args {
		if slices.Contains(p.options.UnknownArgs, kv.Key) {
			delete(into, kv.Key)
			continue
		}
		if value, ok := p.options.Args[kv.Key]; ok {
			into[kv.Key] = value
			continue
		}
		if kv.Value == nil {
			if value, ok := p.file.Args[kv.Key]; ok {
				into[kv.Key] = value
			}
			continue
		}
		if value, known := p.expand(*kv.Value, variables); known {
			into[kv.Key] = value
		} else {
			delete(into, kv.Key)
		}
	}
}

// variables are what ${NAME} can stand for at this place.
func (s *Stage) variables() scope { return scope{s.Args, s.Env} }

// expand fills in variables and removes quotes; known is false when a variable
// has no value that is known.
func (p *reader) expand(word string, variables scope) (text string, known bool) {
	return expand(p.lex, p.file.work, word, variables)
}

func expand(lex *lexer.Lex, work *budget.Budget, word string, variables scope) (text string, known bool) {
	if work.Spent() || !work.Spend(cost(word, variables)) {
		return word, false
	}
	if isPlain(word) {
		return word, true
	}
	result, err := lex.ProcessWordWithMatches(word, variables)
	if err != nil {
		return word, false
	}
	return result.Result, len(result.Unmatched) == 0
}

// isPlain reports whether a word is certainly the same to BuildKit's lexer when variables are filled in and quotes removed.
func isPlain(word string) bool {
	return !strings.ContainsFunc(word, func(c rune) bool { return c < ' ' || c > '~' || strings.ContainsRune("$\"'`\\<", c) })
}

// perVariable is the cost of a variable that a stage takes over.
const perVariable = 32

// cost bounds the work of an expansion and the size of what comes out of it: the
// word and the values in it. ${A/x/$B} puts one value in for each byte of
// another, and patterns are tried at each byte.
func cost(word string, variables scope) int {
	if !strings.Contains(word, "$") {
		return len(word)
	}
	size, patterns := len(word), 0
	_, behind, _ := strings.Cut(word, "$")
	for part := range strings.SplitSeq(behind, "$") {
		part, braced := strings.CutPrefix(part, "{")
		rest := strings.TrimLeftFunc(part, isNamePart)
		value, _ := variables.Get(part[:len(part)-len(rest)])
		size += len(value)
		if braced && rest != part && rest != "" && strings.IndexByte("/#%", rest[0]) >= 0 {
			patterns++
		}
	}
	total := size
	for range patterns {
		if total = total * size; total > maxWork {
			return maxWork + 1
		}
	}
	return total
}

// isNamePart reports whether a character may stand in the name of a variable.
func isNamePart(c rune) bool {
	switch {
	case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '_':
		return true
	}
	return false
}

func (s *Stage) expand(word string) string {
	if s == nil || !strings.ContainsAny(word, "$\\'\"") {
		return word
	}
	lex := lexer.NewLex('\\')
	lex.SkipUnsetEnv = true
	variables := s.variables()
	if s.work.Spent() || !s.work.Spend(cost(word, variables)) {
		return word
	}
	if out, _, err := lex.ProcessWord(word, variables); err == nil {
		return out
	}
	return word
}

// Expand fills the variables that are known at the end of the stage into a
// word of one of its instructions.
func (i *Instruction) Expand(word string) string { return i.Stage.expand(word) }

// scope is what variables stand for: ENV wins over ARG.
type scope struct{ args, env map[string]string }

// Get returns a variable's value.
func (v scope) Get(name string) (string, bool) {
	if value, ok := v.env[name]; ok {
		return value, true
	}
	value, ok := v.args[name]
	return value, ok
}

// Keys names the variables.
func (v scope) Keys() []string {
	return slices.AppendSeq(slices.Collect(maps.Keys(v.args)), maps.Keys(v.env))
}

// lookup is Get for the shell's reader, which pays for each value.
func (v scope) lookup(work *budget.Budget) shell.Lookup {
	return func(name string) (string, bool) {
		value, ok := v.Get(name)
		if !ok || !work.Spend(len(value)) {
			return "", false
		}
		return value, true
	}
}

// isText reports whether a file is UTF-8 text, as far as a parser cares.
func isText(src []byte) bool {
	return !bytes.HasPrefix(src, []byte{0xFF, 0xFE}) && !bytes.HasPrefix(src, []byte{0xFE, 0xFF}) && bytes.IndexByte(src, 0) < 0
}

// run reads the commands of a RUN, CMD or ENTRYPOINT.
func (p *reader) run(i *Instruction, line instructions.ShellDependantCmdLine, flags int) {
	if len(line.CmdLine) == 0 {
		return
	}
	if !line.PrependShell {
		p.exec(i, line.CmdLine)
		return
	}
	if len(p.stage.shell) > 0 && !isShell(p.stage.shell[0]) {
		i.Unread = true
		return
	}
	text, start := body(i, flags, p.escape)
	if len(i.Documents) == 1 && wholly.MatchString(strings.TrimSpace(line.CmdLine[0])) {
		text, start = i.Documents[0].Text, i.Documents[0].Start
		if first, _, _ := strings.Cut(text, "\n"); strings.HasPrefix(first, "#!") && !slices.ContainsFunc(shell.Shells,
			func(s string) bool { return strings.Contains(first, s) }) {
			i.Unread = true
			return
		}
	}
	if i.Name == "RUN" {
		i.script, i.scriptAt = text, start
	}
	commands, err := shell.Parse(text, p.stage.variables().lookup(p.file.work))
	if err != nil {
		p.unread(i, err)
		var broken syntax.ParseError
		if errors.As(err, &broken) && (len(i.Documents) == 0 || start == i.Documents[0].Start) && p.isPlainShell() {
			at := start + int(broken.Pos.Offset())
			i.Broken = &Problem{Start: at, End: min(at+1, i.End), Message: broken.Text, Stage: p.stage}
		}
	}
	shift(commands, start)
	i.Commands = commands
}

// unread marks an instruction whose text is not read.
func (p *reader) unread(i *Instruction, err error) {
	i.Unread = true
	if errors.Is(err, shell.ErrTooMuch) && p.file.rest == "" {
		p.file.rest = fmt.Sprintf("the %s in line %d stands for too many commands or words", i.Name, p.lineOf(i))
	}
}

func (p *reader) lineOf(i *Instruction) int {
	line, _ := p.file.Doc.Position(i.Start)
	return line
}

// exec reads the form that is a JSON array: no shell, unless it names one.
func (p *reader) exec(i *Instruction, words []string) {
	commands, err := shell.Exec(words)
	if err != nil || !p.file.work.Spend(len(words)*len(i.src)/64) {
		p.unread(i, err)
		return
	}
	for _, c := range commands {
		pin(c, i.Start, i.HeadEnd)
		for n, w := range c.Words {
			if at := strings.Index(i.src, strconv.Quote(w.Text)); at >= 0 {
				c.Words[n].Start, c.Words[n].End = i.Start+at, i.Start+at+len(strconv.Quote(w.Text))
			}
		}
	}
	i.Commands = commands
}

// isPlainShell reports whether a shell whose grammar is known runs the steps, unless the image has another.
func (p *reader) isPlainShell() bool {
	if len(p.stage.shell) == 0 {
		return true
	}
	name := p.stage.shell[0][strings.LastIndexAny(p.stage.shell[0], `/\\`)+1:]
	return slices.Contains([]string{"sh", "bash", "dash", "ash"}, name)
}

func isShell(program string) bool {
	name := program[strings.LastIndexAny(program, `/\`)+1:]
	return slices.Contains(shell.Shells, name)
}

// shift moves commands to their place in the file.
func shift(commands []*shell.Command, by int) {
	move := func(w *shell.Word) { w.Start, w.End = w.Start+by, w.End+by }
	for _, c := range commands {
		c.Start, c.End = c.Start+by, c.End+by
		for n := range c.Words {
			move(&c.Words[n])
		}
		for n := range c.Assigns {
			move(&c.Assigns[n].Word)
		}
		for n := range c.Files {
			move(&c.Files[n])
		}
	}
}

// pin gives a command and all its parts one place.
func pin(c *shell.Command, start, end int) {
	c.Start, c.End = start, end
	for n := range c.Words {
		c.Words[n].Start, c.Words[n].End = start, end
	}
	for n := range c.Assigns {
		c.Assigns[n].Start, c.Assigns[n].End = start, end
	}
	for n := range c.Files {
		c.Files[n].Start, c.Files[n].End = start, end
	}
}
