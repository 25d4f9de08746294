package runs

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/org/claude-sandbox/internal/filelock"
)

// A further program waits for the agent: before that the firewall is not verified.
func TestAProgramWaitsForTheAgentToBegin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var said []string
		h := Home{state: t.TempDir(), note: func(line string) { said = append(said, line) }}
		run := Run{ID: "20260102-150405-ab12cd", home: h}
		note := goingOn(t, h, run.ID)
		go func() {
			time.Sleep(silentStart + time.Second)
			note(true)
		}()
		begin := time.Now()
		if err := run.AwaitAgent(t.Context()); err != nil {
			t.Fatal(err)
		}
		if waited := time.Since(begin); waited < silentStart+time.Second {
			t.Errorf("it waited %s", waited)
		}
		if len(said) != 1 || said[0] != "the run "+run.ID+" is starting: waiting for it" {
			t.Errorf("said %q", said)
		}
	})
}

func TestAProgramDoesNotWaitForARunThatEnded(t *testing.T) {
	h := Home{state: t.TempDir(), note: func(line string) { t.Error(line) }}
	err := Run{ID: "20260102-150405-ab12cd", home: h}.AwaitAgent(t.Context())
	if err == nil || !strings.Contains(err.Error(), "ended before its agent began") {
		t.Errorf("%v", err)
	}
}

func TestTheWaitForAnAgentIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := Home{state: t.TempDir(), note: func(string) {}}
		run := Run{ID: "20260102-150405-ab12cd", home: h}
		goingOn(t, h, run.ID)
		if err := run.AwaitAgent(t.Context()); err == nil || !strings.Contains(err.Error(), "has not started within") {
			t.Errorf("%v", err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := run.AwaitAgent(ctx); err != context.Canceled { //nolint:errorlint // it is passed on
			t.Errorf("%v", err)
		}
	})
}

// goingOn notes a run as one that goes on, until the test ends. note adds to that.
func goingOn(t *testing.T, h Home, id string) (note func(begun bool)) {
	t.Helper()
	if err := os.MkdirAll(h.Live(), 0o700); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(filepath.Join(h.Live(), id+".json"), os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	if held, err := filelock.Try(f); err != nil || !held {
		t.Fatal(held, err)
	}
	machine, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	note = func(begun bool) {
		line, _ := json.Marshal(map[string]any{"id": id, "machine": machine, "pid": os.Getpid(), "begun": begun})
		if _, err := f.Write(append(line, '\n')); err != nil {
			t.Error(err)
		}
	}
	note(false)
	return note
}
