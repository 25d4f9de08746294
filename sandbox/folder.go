package sandbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/org/claude-sandbox/agent"
	"github.com/org/claude-sandbox/firewall/credential"
	"github.com/org/claude-sandbox/internal/atomicfile"
	"github.com/org/claude-sandbox/internal/exitcode"
)

// folder is the run's own, Host.StateDir.
type folder string

// path is that of a file in it.
func (f folder) path(name string) string { return filepath.Join(string(f), name) }

// create makes a file, or empties the one that is there.
func (f folder) create(name string) (*os.File, error) {
	file, err := os.OpenFile(f.path(name), os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, fmt.Errorf("writing the run's files: %w", err)
	}
	return file, nil
}

// write makes a file with a content.
func (f folder) write(name string, content []byte) error {
	file, err := f.create(name)
	if err != nil {
		return err
	}
	_, err = file.Write(content)
	return errors.Join(err, file.Close())
}

// saveKeys keeps what each key did.
func (f folder) saveKeys(uses []credential.Use) error {
	if len(uses) == 0 {
		return nil
	}
	text, err := json.Marshal(uses)
	if err != nil {
		return err
	}
	return f.write(KeysFile, append(text, '\n'))
}

// transcript begins the run's transcript. say hears it if it gets too long.
func (f folder) transcript(say func(string)) (*transcript, error) {
	file, err := f.create(TranscriptFile)
	if err != nil {
		return nil, err
	}
	return &transcript{file: file, left: maxTranscript, full: func() {
		say(fmt.Sprintf("warning: the transcript ends at %d MiB; standard output stays complete", maxTranscript>>20))
	}}, nil
}

// saveFirstSummary writes what a run says of itself until its end: which project
// it is of. One that is killed outright leaves this.
func (f folder) saveFirstSummary(result *Result) error {
	result.ExitCode = exitcode.Internal
	result.Outcome = agent.Outcome{Conclusion: agent.NoResult, Message: "the run has not ended, or was killed"}
	err := f.saveSummary(result, nil)
	result.ExitCode, result.Outcome = 0, agent.Outcome{}
	return err
}

// saveSummary writes the result as JSON.
func (f folder) saveSummary(result *Result, failure error) error {
	name := f.path(SummaryFile)
	err := atomicfile.Write(name, 0o600, func(w io.Writer) error { return WriteSummary(w, result, failure) })
	if err != nil { // the first summary stays
		return fmt.Errorf("writing the run's files: %w", err)
	}
	result.Files.Summary = name
	return nil
}
