package main

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/org/claude-sandbox/internal/atomicfile"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/exitcode"
	"github.com/org/claude-sandbox/internal/visible"
)

// People who work in a dev container see its shells and not its log. So why it was
// ended is kept in the container, and the shells of the next start show it.
const (
	// endedFolder is root's, in the container's own file system. Where an image has
	// none, nothing is kept.
	endedFolder = "/var/lib/sbx"
	endedName   = "ended"
	// lastEnd is in the audit log's folder, which is empty at every start.
	lastEnd = "last-end.txt"
)

// keepEnd keeps why everything in the container was ended.
func keepEnd(err error) {
	code, why := exitcode.Of(err, 0)
	if code != exitcode.Unprotected || why == nil {
		return
	}
	if info, err := os.Lstat(endedFolder); err != nil || !info.IsDir() {
		return
	}
	text := fmt.Sprintf("sbx-init: this container was ended at %s: %s\n", time.Now().UTC().Format("2006-01-02 15:04:05 UTC"),
		visible.Line(why.Error()))
	if hint := diag.HintOf(why); hint != "" {
		text += fmt.Sprintf("sbx-init: hint: %s\n", visible.Line(hint))
	}
	_ = atomicfile.WriteBytes(filepath.Join(endedFolder, endedName), 0o644, []byte(text)) // the log has it, too
}

// showEnd puts what keepEnd has kept where the shells of this start read it, next to
// the audit log, and forgets it.
func showEnd(log string) {
	kept := filepath.Join(endedFolder, endedName)
	text, err := os.ReadFile(kept)
	if err != nil {
		return
	}
	_ = os.Remove(kept)
	_ = atomicfile.WriteBytes(filepath.Join(filepath.Dir(log), lastEnd), 0o644, text)
}
