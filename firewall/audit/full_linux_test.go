package audit

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/org/claude-sandbox/firewall"
	"github.com/org/claude-sandbox/internal/test/testenv"
)

// A full disk is an error for each decision that could not be written, so that
// what cannot be recorded does not happen; and what was written around it can
// still be read, also the line that only half fitted.
func TestAttackFullDisk(t *testing.T) {
	testenv.Root(t)
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=64k"); err != nil {
		testenv.Missing(t, "mounting a tmpfs", err.Error())
	}
	t.Cleanup(func() { _ = syscall.Unmount(dir, 0) })
	path := filepath.Join(dir, "audit.jsonl")
	log, err := OpenLog(path)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	recorder := NewRecorder(log.Record, nil)
	ballast := filepath.Join(dir, "ballast")
	if err := os.WriteFile(ballast, make([]byte, 32<<10), 0o600); err != nil {
		t.Fatal(err)
	}
	// Lines of the same length each time: one that lacks its line feed alone can be read.
	always := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	written, refused := 0, 0
	try := func(i int) {
		err := recorder.Record(Record{Time: always, Verdict: firewall.Allow, Layer: LayerDNS,
			Name: fmt.Sprintf("n%d.example", i), Reason: "listed"})
		switch {
		case err == nil:
			written++
		case errors.Is(err, syscall.ENOSPC):
			refused++
		default:
			t.Fatal(err)
		}
	}
	for i := 0; refused < 10; i++ {
		try(i)
	}
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	for i := range 5 {
		try(1_000_000 + i)
	}
	if refused != 10 {
		t.Errorf("%d decisions were refused with room on the disk", refused-10)
	}
	records, err := readLog(path)
	if err != nil || len(records) != written+1 {
		t.Errorf("%d of %d written records can be read (%v)", len(records)-1, written, err)
	}
	lost := slices.IndexFunc(records, func(r Record) bool { return r.Name == LostRecords })
	if lost != written-5+1 || records[lost].Count != 10 {
		t.Errorf("the log says at %d of %d what it lacks, want 10 decisions at %d", lost, len(records), written-5+1)
	}
}

// A line that an earlier process did not finish takes none of ours with it.
func TestLogOfOneThatDiedWithinALine(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	if err := os.WriteFile(path, []byte(`{"verdict":"allow","layer":"dns","na`), 0o644); err != nil {
		t.Fatal(err)
	}
	log, err := OpenLog(path)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	if err := log.Record(deny("x.example", "", "r")); err != nil {
		t.Fatal(err)
	}
	records, err := readLog(path)
	if err != nil || len(records) != 1 || records[0].Name != "x.example" {
		text, _ := os.ReadFile(path)
		t.Errorf("read %v (%v) of %q", records, err, text)
	}
}

// One decision's way onto the disk: a new kind each time, and one that is
// repeated, beside a bare write of the same bytes. The target is 20,000 a
// second; "busy" is the part of one processor that those take.
func BenchmarkDecisions(b *testing.B) {
	r := Record{Verdict: firewall.Allow, Layer: LayerSNI, Dst: "203.0.113.7", Port: 443, Proto: firewall.TCP, Rule: "*.example.org",
		Reason: "docs.example.org is on the allowlist"}
	names := make([]string, 1<<16)
	for i := range names {
		names[i] = fmt.Sprintf("n%d.example.org", i)
	}
	busy := func(b *testing.B) {
		perSecond := float64(b.N) / b.Elapsed().Seconds()
		b.ReportMetric(perSecond, "decisions/s")
		b.ReportMetric(100*20_000/perSecond, "%busy@20k/s")
	}
	open := func(b *testing.B) *Log {
		log, err := OpenLog(filepath.Join(b.TempDir(), "audit.jsonl"))
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { log.Close() })
		return log
	}
	b.Run("write", func(b *testing.B) {
		log := open(b)
		line := bytes.Repeat([]byte("x"), 240)
		for b.Loop() {
			if _, err := log.file.Write(line); err != nil {
				b.Fatal(err)
			}
		}
		busy(b)
	})
	b.Run("new", func(b *testing.B) {
		c := NewRecorder(open(b).Record, nil)
		i := 0
		for b.Loop() {
			i++
			r.Name = names[i%len(names)]
			if err := c.Record(r); err != nil {
				b.Fatal(err)
			}
		}
		busy(b)
	})
	b.Run("repeated", func(b *testing.B) {
		c := NewRecorder(open(b).Record, nil)
		r.Name = names[0]
		for b.Loop() {
			if err := c.Record(r); err != nil {
				b.Fatal(err)
			}
		}
		busy(b)
	})
	b.Run("new from many at once", func(b *testing.B) {
		c := NewRecorder(open(b).Record, nil)
		b.SetParallelism(64)
		b.RunParallel(func(pb *testing.PB) {
			mine := r
			for i := 0; pb.Next(); i++ {
				mine.Name = names[i%len(names)]
				if err := c.Record(mine); err != nil {
					b.Fatal(err)
				}
			}
		})
		busy(b)
	})
}
