package keys

import "golang.org/x/sys/unix"

// closeMemory makes this process one that others of the same user can neither
// trace nor read, and that leaves no core file. Both fail on no kernel that this
// program runs on; a run without them is no less safe than it was.
func closeMemory() {
	_ = unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0)
	_ = unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{})
}
