package journal

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/org/claude-sandbox/internal/redact"
	"github.com/org/claude-sandbox/internal/visible"
)

// The subject of a record.
const (
	Build = "build" // images: pulled, built, found
	Note  = "note"  // a line that people read as well
	Error = "error" // why the run could not be done
)

// DebugFile is the file of all records in a run's folder.
const DebugFile = "debug.jsonl"

// Bounds of a text of a record, in bytes.
const (
	maxText  = 4 << 10
	maxShown = 200 // for people
)

// Options says where records go.
type Options struct {
	Run     string   // its id, which is in every record
	File    string   // of --log; "" = none is wanted
	Project string   // the folder that the agent works in, where File cannot be
	Mounts  []string // other folders that the agent can change, likewise
	Secrets []string
	Show    func(line string) // one record in words, for people; nil = they do not see records
	Warn    func(line string) // a file could not be written
}

// Journal takes the records of one run. It is safe for concurrent use.
type Journal struct {
	redactors  atomic.Pointer[[]*redact.Redactor]
	file       *file // nil = there is none
	debug      *file
	all, files *slog.Logger
}

// Open errs when Options.File cannot be written (errors.Is ErrRefused: it would not be
// safe there). Close must follow.
func Open(o Options) (*Journal, error) {
	j := &Journal{debug: &file{max: 4 << 20, old: 1, name: DebugFile, warn: o.Warn}}
	first := []*redact.Redactor{redact.New(redact.Options{Secrets: o.Secrets, Patterns: true})}
	j.redactors.Store(&first)
	handlers := []slog.Handler{slog.NewJSONHandler(j.debug, &slog.HandlerOptions{Level: slog.LevelDebug, ReplaceAttr: j.clean})}
	if o.File != "" {
		var err error
		if j.file, err = openFile(o.File, append([]string{o.Project}, o.Mounts...), o.Warn); err != nil {
			return nil, err
		}
		handlers = append(handlers, slog.NewJSONHandler(j.file, &slog.HandlerOptions{ReplaceAttr: j.clean}))
	}
	j.files = slog.New(slog.NewMultiHandler(handlers...)).With("run", o.Run)
	j.all = j.files
	if o.Show != nil {
		people := &words{clean: j.text, show: o.Show}
		j.all = slog.New(slog.NewMultiHandler(j.files.Handler(), people))
	}
	return j, nil
}

// Hide takes further secrets out of the records to come.
func (j *Journal) Hide(r ...*redact.Redactor) {
	list := slices.Concat(*j.redactors.Load(), r)
	j.redactors.Store(&list)
}

// Logger takes records. Each has the attribute what.
func (j *Journal) Logger() *slog.Logger { return j.all }

// Builds takes what people read in another form, such as the lines of a build.
func (j *Journal) Builds() *slog.Logger { return j.files.With("what", Build) }

// Say is say for lines that are records, too.
func (j *Journal) Say(say func(string)) func(string) {
	return func(line string) {
		say(line)
		level := slog.LevelInfo
		if strings.HasPrefix(line, "warning: ") {
			level = slog.LevelWarn
		}
		j.files.Log(context.Background(), level, line, "what", Note)
	}
}

// Fail records why the run could not be done; nil is no failure.
func (j *Journal) Fail(err error) {
	if err != nil {
		j.files.Error(err.Error(), "what", Error)
	}
}

// Keep writes DebugFile into folder, the records so far included. A folder that takes
// none is told like a full disk.
func (j *Journal) Keep(folder string) {
	root, err := os.OpenRoot(folder)
	j.debug.begin(root, err)
}

// Close ends the files. Records that come later are dropped.
func (j *Journal) Close() {
	j.debug.close()
	if j.file != nil {
		j.file.close()
	}
}

// text is a text as records have it. The secrets go first: half of one, or one with
// escapes in it, is not found any more.
func (j *Journal) text(text string) string {
	for _, r := range *j.redactors.Load() {
		text = r.String(text)
	}
	return cut(visible.Line(text), maxText)
}

// cut is text, or its beginning, in most bytes.
func cut(text string, most int) string {
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most-3], "") + "..."
	}
	return text
}

// clean makes the values of a record texts of one line, but for numbers and times.
func (j *Journal) clean(_ []string, a slog.Attr) slog.Attr {
	switch v := a.Value.Resolve(); v.Kind() {
	case slog.KindString:
		a.Value = slog.StringValue(j.text(v.String()))
	case slog.KindAny:
		if _, level := v.Any().(slog.Level); !level {
			a.Value = slog.StringValue(j.text(fmt.Sprint(v.Any())))
		}
	}
	return a
}

// words is the handler that writes records for people.
type words struct {
	clean func(string) string
	show  func(string)
	with  []slog.Attr
}

// Enabled is true for every level.
func (w *words) Enabled(context.Context, slog.Level) bool { return true }

// Handle shows "debug: start: the firewall is verified ms=812".
func (w *words) Handle(_ context.Context, r slog.Record) error {
	what, fields := "", ""
	r.AddAttrs(w.with...)
	r.Attrs(func(a slog.Attr) bool {
		if a.Key == "what" {
			what = a.Value.String()
		} else if text := a.Value.String(); text != "" {
			fields += " " + a.Key + "=" + cut(w.clean(text), maxShown)
		}
		return true
	})
	w.show(fmt.Sprintf("%s: %s: %s%s", strings.ToLower(r.Level.String()), what, cut(w.clean(r.Message), maxShown), fields))
	return nil
}

// WithAttrs returns a handler of records with these attributes.
func (w *words) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &words{w.clean, w.show, slices.Concat(w.with, attrs)}
}

// WithGroup does nothing: the project has no groups of attributes.
func (w *words) WithGroup(string) slog.Handler { return w }
