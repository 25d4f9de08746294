//go:build unix

package keys

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"strconv"
	"strings"
)

// Hand gives the keys to this program as another process, which cmd will start: neither
// its environment nor its arguments have them. done frees what that took, after Start.
func (k Keys) Hand(cmd *exec.Cmd) (done func(), err error) {
	if len(k) == 0 {
		return func() {}, nil
	}
	text, err := json.Marshal(k)
	if err != nil || len(text) > maxBytes {
		return nil, errors.New("the keys are too long")
	}
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	_, err = w.Write(text)
	if err = errors.Join(err, w.Close()); err != nil {
		return nil, errors.Join(err, r.Close())
	}
	for _, v := range cmd.Environ() {
		if !strings.HasPrefix(v, pipeVariable+"=") {
			continue
		}
		return nil, errors.Join(errors.New(pipeVariable+" is set already"), r.Close())
	}
	cmd.ExtraFiles = append(cmd.ExtraFiles, r)
	cmd.Env = append(cmd.Environ(), pipeVariable+"="+strconv.Itoa(2+len(cmd.ExtraFiles)))
	return func() { _ = r.Close() }, nil
}
