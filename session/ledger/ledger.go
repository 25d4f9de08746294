package ledger

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
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
	"github.com/org/claude-sandbox/internal/filelock"
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
	// sumAt is the size of a day's file, in bytes, at which sums take the place of its entries;
	// sumFrom where that is more.
	sumAt int64
}

// day is what was read of a file.
type day struct {
	head    []byte // its first bytes: another file in its place has others
	read    int64  // bytes
	all     map[string]spending.Spent
	project map[string]spending.Spent // those of the run's project; both by model
}

const (
	dayForm   = "2006-01-02"
	monthForm = "2006-01"
	suffix    = ".jsonl"
)

// maxDay bounds the file of a day, in bytes.
const maxDay = 64 << 20

// patience is how long an entry waits for those of other runs. Each takes far less than a
// millisecond, and sums of a large file some tenths of a second.
const patience = 10 * time.Second

// Open returns the ledger in a folder, which is made when something is added.
func Open(dir, run, project string, now func() time.Time) *Ledger {
	return &Ledger{dir: dir, run: run, project: project, now: now, days: map[string]*day{}}
}

// Add appends an entry to the file of today.
func (l *Ledger) Add(s spending.Spent) error {
	if err := l.add(s); err != nil {
		return fmt.Errorf("noting what a run spends: %w", err)
	}
	return nil
}

func (l *Ledger) add(s spending.Spent) (err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	line, err := json.Marshal(Entry{At: now.UTC(), Run: l.run, Project: l.project, Spent: s})
	if err != nil {
		return err
	}
	if err := os.MkdirAll(l.dir, 0o700); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(context.Background(), patience, errors.New("another run holds the file and writes nothing"))
	defer cancel()
	name := filepath.Join(l.dir, now.Format(dayForm)+suffix)
	f, err := filelock.Wait(ctx, name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	end, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	// The line's own beginning keeps it apart from one that was cut.
	if _, err := f.Write(slices.Concat([]byte("\n"), line, []byte("\n"))); err != nil {
		return err
	}
	if end > max(l.sumAt, sumFrom) {
		size, err := putSums(name)
		if err != nil { // the entries are there as before
			size = end
		}
		l.sumAt = 2 * size
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
			if counts(model) || model == spending.OtherModels {
				total = total.Add(s)
			}
		}
	}
	return total, nil
}

// day returns what a file holds. It reads what came since the last time, or all of it when
// sums have taken its place.
func (l *Ledger) day(name string) (*day, error) {
	f, size, err := open(filepath.Join(l.dir, name))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	head := make([]byte, min(size, headSize))
	if _, err := f.ReadAt(head, 0); err != nil {
		return nil, fmt.Errorf("reading what runs spent: %w", err)
	}
	d := l.days[name]
	if d == nil || !bytes.HasPrefix(head, d.head) && bytes.HasPrefix(head, []byte(sumsBegin)) {
		d = &day{all: map[string]spending.Spent{}, project: map[string]spending.Spent{}}
		l.days[name] = d
	}
	if size < d.read || !bytes.HasPrefix(head, d.head) {
		return nil, fmt.Errorf("reading what runs spent: %s lost its content", name)
	}
	d.head = head
	d.read, err = entries(f, d.read, size, func(e Entry) {
		d.all[e.Model] = d.all[e.Model].Add(e.Spent)
		if e.Project == l.project {
			d.project[e.Model] = d.project[e.Model].Add(e.Spent)
		}
	})
	return d, err
}

// headSize is how much of a file's beginning tells it from another one, in bytes: more than
// the first line of sums.
const headSize = 64

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
		if err := readAll(filepath.Join(dir, name), yield); err != nil {
			return err
		}
	}
	return nil
}

// Prune removes the files of days before a time, and sums that a run began before it and never
// put into their place.
func Prune(dir string, before time.Time) error {
	names, err := files(dir)
	if err != nil {
		return err
	}
	err = removeUnfinished(dir, before)
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

// open opens a file of the ledger and returns its size in bytes.
func open(name string) (*os.File, int64, error) {
	fail := func(err error) (*os.File, int64, error) {
		return nil, 0, fmt.Errorf("reading what runs spent: %w", err)
	}
	f, err := filekind.Open(name)
	if err != nil {
		return fail(err)
	}
	info, err := f.Stat()
	if err == nil && info.Size() > maxDay {
		err = fmt.Errorf("%s is larger than %d bytes", name, maxDay)
	}
	if err != nil {
		f.Close()
		return fail(err)
	}
	return f, info.Size(), nil
}

// readAll calls yield for each entry of a file.
func readAll(name string, yield func(Entry)) error {
	f, size, err := open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = entries(f, 0, size, yield)
	return err
}

// entries reads the lines of a file from a place to another, and returns where it stopped: a
// line without an end is still being written.
func entries(f io.ReaderAt, from, to int64, yield func(Entry)) (read int64, err error) {
	text := make([]byte, to-from)
	if _, err := f.ReadAt(text, from); err != nil {
		return from, fmt.Errorf("reading what runs spent: %w", err)
	}
	for {
		line, rest, whole := bytes.Cut(text, []byte("\n"))
		if !whole {
			return from, nil
		}
		var e Entry
		if json.Unmarshal(line, &e) == nil && !e.Zero() {
			yield(e)
		}
		from, text = from+int64(len(line))+1, rest
	}
}
