package testenv

import (
	"os"
	"os/exec"
	"syscall"
)

// LeaveMounts is a piece of a shell script, for the beginning of what runs in a
// mount namespace of its own below a folder that "$0" is in. It lets go of the
// read-only mounts of other tests: sbx-init watches such mounts, and the kernel
// takes one away from every namespace when its place is removed.
const LeaveMounts = `for m in $(awk -v own="${0%/*}/" '$5 ~ /^\/tmp\// && $6 ~ /^ro/ && index($5, ` +
	`own) != 1 {print $5}' /proc/self/mountinfo); do umount -l "$m" 2>/dev/null; done
`

// OwnMounts starts this program again, with the same process id, in a mount namespace of
// its own that has none of the engine's containers: sbx-init watches their read-only
// mounts as well, and tests of other packages remove them all the time. It is for
// TestMain, and does nothing the second time or without root's rights.
func OwnMounts() error {
	const done = "SBX_TEST_OWN_MOUNTS"
	if os.Getenv(done) != "" || exec.Command("unshare", "--mount", "true").Run() != nil {
		return nil
	}
	unshare, err := exec.LookPath("unshare")
	if err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	const script = `for m in $(awk '$5 ~ /\/overlay2\// {print $5}' /proc/self/mountinfo); do umount -l "$m" 2>/dev/null; done
exec "$@"`
	argv := append([]string{unshare, "--mount", "sh", "-c", script, "sh", self}, os.Args[1:]...)
	return syscall.Exec(unshare, argv, append(os.Environ(), done+"=1"))
}
