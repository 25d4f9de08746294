package keys

import (
	"errors"
	"os/exec"
)

// Hand is not supported on this system.
func (k Keys) Hand(*exec.Cmd) (done func(), err error) { return nil, errors.ErrUnsupported }
