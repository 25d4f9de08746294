package sandbox

import "io/fs"

// owner returns -1: the engine's virtual machine shows files on Windows as
// belonging to whoever looks.
func owner(fs.FileInfo) (uid, gid int) { return -1, -1 }
