package exitcode

// The exit codes of our programs, in addition to those of the commands that they
// run. Up to 78 they are those of sysexits(3), above those of shells, timeout(1) and
// docker run.
const (
	OK          = 0
	Failed      = 1  // the work itself failed
	Usage       = 64 // the command line makes no sense
	Config      = 65 // a file of settings is wrong
	NoInput     = 66 // a file, folder or run is missing
	Unavailable = 69 // a service does not answer
	Internal    = 70 // our own fault, and errors that carry no code
	// Unprotected says that a mount which protects the project was taken away from
	// outside, and the command was ended. The Feature's entrypoint knows it, too.
	Unprotected = 71
	CantWrite   = 73
	DiskFull    = 74 // the work took more disk than its limit, and was ended
	Locked      = 75 // somebody else uses it: try again
	Refused     = 77 // it is not allowed
	NoSecret    = 78 // there is no key for the model API, or a wrong one
	Timeout     = 124
	NoStart     = 125 // the container did not start
	Signal      = 128 // and the number of the signal
)

// The exit codes of checks, whose 1 and 2 are those of grep and of linters.
const (
	Findings   = 1
	CheckUsage = 2 // the command line makes no sense
	NoCheck    = 3 // it could not be checked
)
