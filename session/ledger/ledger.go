package ledger

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/org/claude-sandbox/credproxy/spending"
	"github.com/org/claude-sandbox/internal/filekind"
)

// Entry is what one answer of the model used, or a correction of that.
type Entry struct {
	At      time.Time `json:"at"`
	Run     string    `json:"run"`
	Project string    `json:"project"` // its folder
	spending.Spent
}

// Ledger is the ledger as one run sees it. It is safe for concurrent use.
type Ledger struct {
	dir          string
	run, project string
	now          func() time.Time

	mu   sync.Mutex
	days map[string]*day // by the name of the file
}

// day is what was read of a file.
type day struct {
	read    int64 // bytes
	all     map[string]spending.Spent
	project map[string]spending.Spent // those of the run's project; both by model
}

const (
	dayForm   = "2006-01-02"
	monthForm = "2006-01"
	suffix    = ".jsonl"
)

// maxDay bounds the file of a day, in bytes: some 400,000 answers.
const maxDay = 64 << 20

// Open returns the ledger in a folder, which is made when something is added.
func Open(dir, run, project string, now func() time.Time) *Ledger {
	return &Ledger{dir: dir, run: run, project: project, now: now, days: map[string]*day{}}
}

// Add appends an entry to the file of today.
func (l *Ledger) Add(s spending.Spent) error {
	now := l.now()
	line, err := json.Marshal(Entry{At: now.UTC(), Run: l.run, Project: l.project, Spent: s})
	if err != nil {
		return err
	}
	if err := os.MkdirAll(l.dir, 0o700); err != nil {
		return fmt.Errorf("noting what a run spends: %w", err)
	}
	f, err := os.OpenFile(filepath.Join(l.dir, now.Format(dayForm)+suffix), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("noting what a run spends: %w", err)
	}
	// The line's own beginning keeps it apart from one that was cut.
	_, err = f.Write(slices.Concat([]byte("\n"), line, []byte("\n")))
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("noting what a run spends: %w", err)
	}
	return nil
}

// Sum returns what was spent in a period up to now.
func (l *Ledger) Sum(per spending.Period, counts func(model string) bool) (total spending.Spent, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	begin := now.Format(dayForm)
	if per == spending.PerMonth || per == spending.PerProjectMonth {
		begin = now.Format(monthForm)
	}
	names, err := files(l.dir)
	if err != nil {
		return total, err
	}
	for _, name := range names {
		if !strings.HasPrefix(name, begin) {
			continue
		}
		d, err := l.day(name)
		if err != nil {
			return total, err
		}
		of := d.all
		if per == spending.PerProjectDay || per == spending.PerProjectMonth {
			of = d.project
		}
		for model, s := range of {
			if counts(model) {
				total = total.Add(s)
			}
		}
	}
	return total, nil
}

// day returns what a file holds. It reads what came since the last time.
func (l *Ledger) day(name string) (*day, error) {
	d := l.days[name]
	if d == nil {
		d = &day{all: map[string]spending.Spent{}, project: map[string]spending.Spent{}}
		l.days[name] = d
	}
	read, err := entries(filepath.Join(l.dir, name), d.read, func(e Entry) {
		d.all[e.Model] = d.all[e.Model].Add(e.Spent)
		if e.Project == l.project {
			d.project[e.Model] = d.project[e.Model].Add(e.Spent)
		}
	})
	d.read = read
	return d, err
}

// Read calls yield for each entry of the ledger in a folder since the day of a time, in
// the order of the days.
func Read(dir string, since time.Time, yield func(Entry)) error {
	names, err := files(dir)
	if err != nil {
		return err
	}
	for _, name := range names {
		if name < since.Format(dayForm) {
			continue
		}
		if _, err := entries(filepath.Join(dir, name), 0, yield); err != nil {
			return err
		}
	}
	return nil
}

// Prune removes the files of days before a time.
func Prune(dir string, before time.Time) error {
	names, err := files(dir)
	if err != nil {
		return err
	}
	for _, name := range names {
		if strings.TrimSuffix(name, suffix) < before.Format(dayForm) {
			err = errors.Join(err, os.Remove(filepath.Join(dir, name)))
		}
	}
	return err
}

var fileForm = regexp.MustCompile(`^[0-9]{4}-[0-9]{2}-[0-9]{2}\.jsonl$`)

// files are the names of the ledger's files, the oldest first; none where there is
// no folder yet.
func files(dir string) (names []string, err error) {
	all, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("reading what runs spent: %w", err)
	}
	for _, f := range all {
		if fileForm.MatchString(f.Name()) {
			names = append(names, f.Name())
		}
	}
	slices.Sort(names)
	return names, nil
}

// entries reads the lines of a file from a place on, and returns where it stopped: a
// line without an end is still being written.
func entries(name string, from int64, yield func(Entry)) (read int64, err error) {
	fail := func(err error) (int64, error) { return from, fmt.Errorf("reading what runs spent: %w", err) }
	f, err := filekind.Open(name)
	if err != nil {
		return fail(err)
	}
	defer f.Close()
	info, err := f.Stat()
	switch {
	case err != nil:
		return fail(err)
	case info.Size() > maxDay:
		return fail(fmt.Errorf("%s is larger than %d bytes", name, maxDay))
	case info.Size() < from:
		return fail(fmt.Errorf("%s became shorter", name))
	}
	text := make([]byte, info.Size()-from)
	if _, err := f.ReadAt(text, from); err != nil {
		return fail(err)
	}
	for {
		line, rest, whole := bytes.Cut(text, []byte("\n"))
		if !whole {
			return from, nil
		}
		var e Entry
		if json.Unmarshal(line, &e) == nil {
			yield(e)
		}
		from, text = from+int64(len(line))+1, rest
	}
}
