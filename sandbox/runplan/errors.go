package runplan

import "errors"

// The kinds of failure of a plan that end with an exit code of their own, next to
// workspace.ErrInput and workspace.ErrRefused. An error that wraps them says what failed and
// carries a hint.
var (
	ErrConfig   = errors.New("settings cannot be used")         // exit 65
	ErrNoKey    = errors.New("no credential for the model API") // exit 78
	ErrNoSecret = errors.New("a secret is missing")             // exit 78

	// ErrWidens comes with workspace.ErrRefused: the user may accept the file.
	ErrWidens = errors.New("the project's sandbox.jsonc asks for more than you allowed")
)
