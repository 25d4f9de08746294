//go:build unix

package audit

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/org/claude-sandbox/firewall"
)

func TestLogKeepsEveryRecordOfConcurrentWriters(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run", "audit.jsonl")
	log, err := OpenLog(path)
	if err != nil {
		t.Fatal(err)
	}
	const writers, each = 8, 50
	var wg sync.WaitGroup
	for range writers {
		wg.Go(func() {
			for range each {
				if err := log.Record(Record{Verdict: firewall.Deny, Layer: LayerDNS, Name: "a.example", Reason: "not on the allowlist"}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	records, err := Read(f)
	if err != nil || len(records) != writers*each {
		t.Fatalf("read %d records (%v), want %d", len(records), err, writers*each)
	}
	if records[0].Time.IsZero() {
		t.Error("a record has no time")
	}
}

func TestLogIsReadableByAllAndWritableByTheOwnerOnly(t *testing.T) {
	old := syscall.Umask(0o077)
	defer syscall.Umask(old)
	path := filepath.Join(t.TempDir(), "sbx", "audit.jsonl")
	log, err := OpenLog(path)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	for path, want := range map[string]os.FileMode{path: 0o644, filepath.Dir(path): 0o755} {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if got := info.Mode().Perm(); got != want {
			t.Errorf("%s has mode %v, want %v", path, got, want)
		}
	}
}

func TestAttackAuditLogIsASymlinkToAnotherFile(t *testing.T) {
	dir := t.TempDir()
	victim := filepath.Join(dir, "victim")
	if err := os.WriteFile(victim, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(victim, filepath.Join(dir, "audit.jsonl")); err != nil {
		t.Fatal(err)
	}
	if log, err := OpenLog(filepath.Join(dir, "audit.jsonl")); err == nil {
		log.Close()
		t.Error("the log followed a symbolic link")
	}
}

func TestAttackFillingTheMemoryWithRecords(t *testing.T) {
	dir := t.TempDir()
	log, err := OpenLog(filepath.Join(dir, "audit.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	log.max = 4 << 10
	for range 200 {
		if err := log.Record(Record{Time: time.Now(), Verdict: firewall.Deny, Layer: LayerDNS, Name: strings.Repeat("x", 60),
			Reason: "no"}); err != nil {
			t.Fatal(err)
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var total int64
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			t.Fatal(err)
		}
		total += info.Size()
	}
	if total > 2*log.max {
		t.Errorf("the log takes %d bytes, want at most two files of %d", total, log.max)
	}
}

// An agent can ask for so many names that the log begins a new file twice, and
// the first refusals are overwritten. The report must not look clean then.
func TestFloodedLogSaysThatRefusalsAreGone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	log, err := OpenLog(path)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	log.max = 4 << 10
	if err := log.Record(Record{Verdict: firewall.Deny, Layer: LayerDNS, Name: "first-secret.exfil.test", Reason: "x"}); err != nil {
		t.Fatal(err)
	}
	denied := func() []string {
		t.Helper()
		records, err := readLog(path)
		if err != nil {
			t.Fatal(err)
		}
		records = slices.DeleteFunc(records, func(r Record) bool { return r.Verdict != firewall.Deny })
		names := make([]string, len(records))
		for i, r := range records {
			names[i] = r.Name
		}
		return names
	}
	for files := 0; files < 3; {
		if err := log.Record(Record{Verdict: firewall.Allow, Layer: LayerDNS, Name: "docs.example.com", Reason: "y"}); err != nil {
			t.Fatal(err)
		}
		if log.rotated == files {
			continue
		}
		files = log.rotated
		if files == 1 && !slices.Equal(denied(), []string{"first-secret.exfil.test"}) {
			t.Errorf("after one new file %q is denied", denied())
		}
		if files > 1 && !slices.Contains(denied(), LostRecords) {
			t.Errorf("after %d new files %q is denied", files, denied())
		}
	}
}

// A log that somebody removed, or whose new file could not be opened for want of
// a descriptor, begins anew; it does not refuse every decision from then on.
func TestLogThatIsGoneBeginsAnew(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	l, err := OpenLog(path)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	l.max = 200
	for i := range 5 {
		if i == 1 {
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
		}
		limit, free := syscall.Rlimit{}, syscall.Rlimit{}
		if i == 3 { // no descriptor is left
			if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &free); err != nil {
				t.Fatal(err)
			}
			limit.Max = free.Max
			if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
				t.Fatal(err)
			}
		}
		err := l.Record(Record{Verdict: firewall.Deny, Layer: LayerDNS, Name: "a.example", Reason: strings.Repeat("r", 150)})
		if i == 3 {
			if err == nil {
				t.Error("a file was opened without a descriptor: the test shows nothing")
			}
			if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &free); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if err != nil {
			t.Errorf("record %d: %v", i, err)
		}
		if i == 1 {
			if text, err := os.ReadFile(path); err != nil || !strings.Contains(string(text), LostRecords) {
				t.Errorf("that records are gone is not said: %q, %v", text, err)
			}
		}
	}
	text, err := os.ReadFile(path)
	if err != nil || !strings.Contains(string(text), "a.example") {
		t.Errorf("%q, %v", text, err)
	}
}

// Attack: words that turn the reading direction or drive a terminal, in a log
// that people read with cat.
func TestAttackWordsInTheLogAreVisible(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	l, err := OpenLog(path)
	if err != nil {
		t.Fatal(err)
	}
	want := "\u202egnp.\x1b[2J\x7f\u009b2J😀\xff"
	if err := l.Record(Record{Verdict: firewall.Deny, Layer: LayerDNS, Name: want, Cmd: want, Exe: want, Reason: want}); err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil || strings.ContainsFunc(strings.TrimSuffix(string(text), "\n"), func(r rune) bool { return r < ' ' || r > '~' }) {
		t.Errorf("%q, %v", text, err)
	}
	records, err := readLog(path)
	if err != nil || len(records) != 1 || records[0].Name != strings.ToValidUTF8(want, "\ufffd") {
		t.Errorf("read %+v, %v", records, err)
	}
}
