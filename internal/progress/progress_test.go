package progress_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/org/claude-sandbox/internal/progress"
	"github.com/org/claude-sandbox/internal/test/golden"
)

// TestRecorded plays a recorded sequence against a fake clock. A recording has one
// event a line: its time since the start, and
//
//	await TEXT, stop                                             with a patience of 2 s
//	begin TEXT, write TEXT, end TEXT, fail TEXT                  of a step
//	transfers, update ID NAME SENT SIZE [HOW], quiet ID, close   of transfers
//
// TEXT may hold escapes of Go. The wanted output shows control characters as Go does.
func TestRecorded(t *testing.T) {
	golden.Run(t, "testdata/*.txtar", func(t *testing.T, c *golden.Case) {
		for name, r := range map[string]progress.Reporter{"terminal": {Columns: 60}, "plain": {}, "verbose": {Columns: 60, Verbose: true}} {
			if name == "verbose" && strings.HasPrefix(filepath.Base(t.Name()), "transfers") {
				continue
			}
			r.LogFile = filepath.Join(t.TempDir(), "cache", "failed.log")
			synctest.Test(t, func(t *testing.T) {
				shown := strings.ReplaceAll(play(t, &r, string(c.Input(t, "recording"))), r.LogFile, "LOG")
				c.Compare(t, "want "+name, shown)
			})
		}
	})
}

// play returns what the reporter writes at each time, one write after the other.
func play(t *testing.T, r *progress.Reporter, recording string) string {
	t.Helper()
	start := time.Now()
	var out bytes.Buffer
	r.Out = writer(func(p []byte) (int, error) {
		return fmt.Fprintf(&out, "%5.1f %q\n", time.Since(start).Seconds(), p)
	})
	var stop func()
	var step *progress.Step
	var transfers *progress.Transfers
	for event := range strings.Lines(recording) {
		at, event, _ := strings.Cut(strings.TrimSpace(event), " ")
		word, text, _ := strings.Cut(event, " ")
		when, err := time.ParseDuration(at)
		if err == nil {
			text, err = strconv.Unquote(`"` + text + `"`)
		}
		if err != nil {
			t.Fatalf("%s: %v", event, err)
		}
		time.Sleep(time.Until(start.Add(when)))
		synctest.Wait()
		switch word {
		case "await":
			stop = r.Await(text, 2*time.Second)
		case "stop":
			stop()
		case "begin":
			step = r.Begin(text)
		case "write":
			_, _ = step.Write([]byte(text))
		case "end":
			step.End(text, nil)
		case "fail":
			step.End("", errors.New(text))
		case "transfers":
			transfers = r.Transfers()
		case "update":
			var p progress.Transfer
			if n, err := fmt.Sscan(text, &p.ID, &p.Name, &p.Sent, &p.Size, &p.Done); n < 4 {
				t.Fatalf("%s: %v", event, err)
			}
			transfers.Update(p)
		case "quiet":
			transfers.Update(progress.Transfer{ID: text, Done: "exists", Quiet: true})
		case "close":
			transfers.End()
		default:
			t.Fatalf("%q is no event", word)
		}
		synctest.Wait()
	}
	return out.String()
}

type writer func(p []byte) (int, error)

func (w writer) Write(p []byte) (int, error) { return w(p) }

// The log that a failed step leaves is the end of what was written.
func TestTheLogIsBounded(t *testing.T) {
	r := progress.Reporter{Out: &bytes.Buffer{}, LogFile: filepath.Join(t.TempDir(), "failed.log")}
	step := r.Begin("building")
	line := strings.Repeat("x", 1<<10)
	for range 5 << 10 {
		fmt.Fprintln(step, line)
	}
	fmt.Fprint(step, "the last words")
	step.End("", errors.New("it failed"))
	log, err := os.ReadFile(r.LogFile)
	if err != nil || len(log) != 4<<20 || !bytes.HasSuffix(log, []byte("the last words")) {
		t.Errorf("%d bytes, %v", len(log), err)
	}
}

// Attack: a line of the log that never ends must not be kept whole.
func TestAttackALineWithoutAnEnd(t *testing.T) {
	var out bytes.Buffer
	r := progress.Reporter{Out: &out, Verbose: true}
	step := r.Begin("building")
	for range 1000 {
		fmt.Fprint(step, strings.Repeat("x", 1<<10))
	}
	if out.Len() < 900<<10 {
		t.Errorf("%d bytes of it are shown before it ends: the rest is held", out.Len())
	}
	step.End("built", nil)
}
