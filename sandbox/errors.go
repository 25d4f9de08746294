package sandbox

import "errors"

// The kinds of failure that end with an exit code of their own, next to
// workspace.ErrInput and workspace.ErrRefused. What wraps them says what failed and
// carries a hint.
var (
	ErrConfig   = errors.New("settings cannot be used")                 // exit 65
	ErrNoKey    = errors.New("no credential for the model API")         // exit 78
	ErrNoSecret = errors.New("a secret is missing")                     // exit 78
	ErrNoStart  = errors.New("the container did not start")             // exit 125
	ErrTimeout  = errors.New("the time limit is over")                  // exit 124
	ErrDisk     = errors.New("the agent took more disk than its limit") // exit 74
	ErrFirewall = errors.New("the firewall ended")                      // exit 70: nothing was reachable any more, the agent was stopped
	ErrTunnel   = errors.New("the tunnel to the model API ended")       // exit 70
	ErrUpstream = errors.New("the model API cannot be reached")         // exit 1
	ErrKey      = errors.New("the model API refuses the key")           // exit 78

	// ErrWidens comes with workspace.ErrRefused: the user may accept the file.
	ErrWidens = errors.New("the project's sandbox.jsonc asks for more than you allowed")
)
