package sandbox

import "errors"

// The kinds of failure that end with an exit code of their own, next to
// workspace.ErrInput and workspace.ErrRefused. An error that wraps them says what failed and
// carries a hint.
var (
	ErrNoStart    = errors.New("the container did not start")             // exit 125
	ErrTimeout    = errors.New("the time limit is over")                  // exit 124
	ErrDisk       = errors.New("the agent took more disk than its limit") // exit 74
	ErrFirewall   = errors.New("the firewall ended")                      // exit 70: nothing was reachable any more, the agent was stopped
	ErrEngine     = errors.New("the container engine stopped answering")  // exit 70
	ErrTunnel     = errors.New("the tunnel to the model API ended")       // exit 70
	ErrUpstream   = errors.New("the model API cannot be reached")         // exit 1
	ErrUnkept     = errors.New("not all that the run did could be kept")  // exit 73
	ErrUnenforced = errors.New("the firewall is not in force")            // exit 70: see Canaries
	ErrKey        = errors.New("the model API refuses the key")           // exit 78
)
