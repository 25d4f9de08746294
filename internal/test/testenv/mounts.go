package testenv

// LeaveMounts is a piece of a shell script, for the beginning of what runs in a
// mount namespace of its own below a folder that "$0" is in. It lets go of the
// read-only mounts of other tests and of their containers: sbx-init watches such mounts, and the kernel
// takes one away from every namespace when its place is removed.
const LeaveMounts = `for m in $(awk -v own="${0%/*}/" '$5 ~ /^\/tmp\/|\/overlay2\// && $6 ~ /^ro/ && index($5, own) != 1 {print $5}' /proc/self/mountinfo); do umount -l "$m" 2>/dev/null; done
`
