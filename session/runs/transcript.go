package runs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/exitcode"
	"github.com/org/claude-sandbox/sandbox"
)

// followPause is how often Transcript looks for more.
const followPause = 200 * time.Millisecond

// Transcript copies what Claude printed in the run to w, or what was said there when it is on
// a terminal, and with follow all that comes until the run's end, or until ctx is done.
func (r Run) Transcript(ctx context.Context, follow bool, w io.Writer) error {
	h := r.home
	if err := r.CheckSandbox(); err != nil {
		return err
	}
	f, err := os.Open(filepath.Join(r.Folder, sandbox.TranscriptFile))
	if follow && errors.Is(err, fs.ErrNotExist) && exists(r.Socket()) {
		h.note(fmt.Sprintf("the run %s is on a terminal, and Claude has said nothing there yet; to join it: sbx-devc attach %s; "+
			"the decisions of its firewall: sbx-devc logs -f --net %s", r.ID, r.ID, r.ID))
	}
	for follow && errors.Is(err, fs.ErrNotExist) && h.goesOn(r.ID) && pause(ctx) {
		f, err = os.Open(filepath.Join(r.Folder, sandbox.TranscriptFile))
	}
	if err != nil {
		what, hint := "no transcript", "--net shows what its firewall decided"
		if h.goesOn(r.ID) {
			what += " yet"
			hint += "; -f waits for Claude's first words, and 'sbx-devc attach' joins a run on a terminal"
		}
		return exitcode.With(exitcode.NoInput, diag.WithHint(fmt.Errorf("the run %s has %s", r.ID, what), "%s", hint))
	}
	defer f.Close()
	for {
		goesOn := follow && h.goesOn(r.ID) // asked first: what comes before the end is read below
		if _, err := io.Copy(w, f); err != nil {
			return fmt.Errorf("showing the transcript: %w", err)
		}
		if !goesOn || !pause(ctx) {
			return nil
		}
	}
}

// pause waits a moment; false when ctx is done.
func pause(ctx context.Context) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(followPause):
		return true
	}
}
