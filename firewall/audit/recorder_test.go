package audit

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/org/claude-sandbox/firewall"
)

// bookkeeping is a recorder with a clock and a log of the test's.
type bookkeeping struct {
	*Recorder
	clock   time.Time
	written []Record
	failing error
}

func newBookkeeping(t *testing.T) *bookkeeping {
	b := &bookkeeping{clock: time.Unix(1_700_000_000, 0)}
	b.Recorder = NewRecorder(func(r Record) error {
		if b.failing != nil {
			return b.failing
		}
		b.written = append(b.written, r)
		return nil
	}, func(r *Record) { r.PID = 42 })
	b.now = func() time.Time { return b.clock }
	t.Cleanup(func() {
		b.failing = nil
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	return b
}

// after lets time pass and the counts that are due be written.
func (b *bookkeeping) after(d time.Duration) {
	b.clock = b.clock.Add(d)
	b.sweep()
}

// total is how many decisions about host the log stands for.
func (b *bookkeeping) total(host string) int {
	n := 0
	for _, r := range b.written {
		if r.Name == host {
			n += max(r.Count, 1)
		}
	}
	return n
}

func TestRepeatedDecisionsAreCountedNotWritten(t *testing.T) {
	b := newBookkeeping(t)
	for range 1000 {
		if err := b.Record(deny("evil.example", "", "r")); err != nil {
			t.Fatal(err)
		}
	}
	if len(b.written) != 1 || b.written[0].Count != 0 || b.written[0].PID != 42 {
		t.Fatalf("written: %+v, want the first decision with its process", b.written)
	}
	b.after(firstWindow)
	if len(b.written) != 2 || b.written[1].Count != 999 || b.written[1].PID != 0 {
		t.Errorf("written: %+v, want the count of 999", b.written)
	}
	b.after(time.Hour) // nothing more happened
	if err := b.Record(deny("evil.example", "", "r")); err != nil {
		t.Fatal(err)
	}
	if len(b.written) != 3 || b.total("evil.example") != 1001 {
		t.Errorf("%d lines for %d decisions, want 3 for 1001", len(b.written), b.total("evil.example"))
	}
}

// A process that was looked for before the decision is in its line and makes no
// decision another one.
func TestProcessThatWasFoundBefore(t *testing.T) {
	b := newBookkeeping(t)
	uid := 1000
	first := deny("evil.example", "", "r")
	first.Found = &Record{UID: &uid, PID: 7, Exe: "/bin/x", Cmd: "x y"}
	for _, r := range []Record{first, deny("evil.example", "", "r")} {
		if err := b.Record(r); err != nil {
			t.Fatal(err)
		}
	}
	if len(b.written) != 1 {
		t.Fatalf("written: %+v, want one line for both", b.written)
	}
	if r := b.written[0]; r.UID != &uid || r.PID != 7 || r.Exe != "/bin/x" || r.Cmd != "x y" {
		t.Errorf("written: %+v", r)
	}
	other := deny("other.example", "", "r")
	other.Found = &Record{}
	if err := b.Record(other); err != nil {
		t.Fatal(err)
	}
	if r := b.written[1]; r.PID != 42 {
		t.Errorf("written: %+v, want one more search where the first found no process", r)
	}
}

func TestDecisionsThatDifferAreAllWritten(t *testing.T) {
	b := newBookkeeping(t)
	agent, root := 1000, 0
	base := Record{Verdict: firewall.Deny, Layer: LayerIP, Dst: "203.0.113.7", Port: 443, Proto: firewall.TCP, UID: &agent, Reason: "r"}
	others := []Record{base, base, base, base, base, base, base, base}
	others[0].Verdict, others[1].Dst, others[2].Port, others[3].Proto = firewall.Allow, "203.0.113.8", 80, firewall.UDP
	others[4].UID, others[5].Rule, others[6].Reason, others[7].Operation = &root, "deny", "q", "POST /v1/x"
	for _, r := range append(others, base) {
		if err := b.Record(r); err != nil {
			t.Fatal(err)
		}
	}
	if len(b.written) != 9 {
		t.Errorf("%d written, want 9", len(b.written))
	}
}

// A loop of an hour, and one through more names than are counted at a time.
func TestAttackLoopFillsTheLog(t *testing.T) {
	b := newBookkeeping(t)
	for range 3600 {
		for range 10 {
			if err := b.Record(deny("loop.example", "", "r")); err != nil {
				t.Fatal(err)
			}
		}
		b.after(time.Second)
	}
	if len(b.written) > 20 {
		t.Errorf("an hour's loop wrote %d lines", len(b.written))
	}
	for i := range 3 * maxCounted {
		if err := b.Record(deny(fmt.Sprintf("%d.example", i), "", "r")); err != nil {
			t.Fatal(err)
		}
		if len(b.counts) > maxCounted {
			t.Fatalf("%d kinds are held", len(b.counts))
		}
	}
	if err := b.Flush(); err != nil {
		t.Fatal(err)
	}
	if got := b.total("loop.example"); got != 36000 {
		t.Errorf("%d decisions of the loop are on record, want 36000", got)
	}
}

func TestWhatCouldNotBeWrittenIsNotForgotten(t *testing.T) {
	b := newBookkeeping(t)
	b.failing = errors.New("no space left")
	for range 2 { // the second must not pass for a repetition of a written one
		if err := b.Record(deny("evil.example", "", "r")); err == nil {
			t.Error("a decision was lost in silence")
		}
	}
	b.failing = nil
	for range 3 {
		if err := b.Record(deny("evil.example", "", "r")); err != nil {
			t.Error(err)
		}
	}
	b.failing = errors.New("no space left")
	b.after(firstWindow)
	b.failing = nil
	b.after(firstWindow)
	if got := b.total("evil.example"); got != 3 {
		t.Errorf("%d decisions on record, want 3", got)
	}
}

func TestCloseWritesTheCounts(t *testing.T) {
	b := newBookkeeping(t)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 100 {
				if err := b.Record(deny("evil.example", "", "r")); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	if got := b.total("evil.example"); got != 800 {
		t.Errorf("%d decisions on record, want 800", got)
	}
	if err := b.Record(deny("evil.example", "", "r")); err != nil || b.total("evil.example") != 801 {
		t.Errorf("a late decision: %v, %d", err, b.total("evil.example"))
	}
}
