// Package keys takes the keys of the model API out of this process's environment
// and memory, as far as others can look there.
//
//	started with a key ─ Hide: the values are overwritten, the memory is closed
//	                       ▼
//	                     Keys.Getenv ─► credproxy, which has the key
//
// The kernel shows others the environment that a process was started with. On Linux
// that is memory of the process, and its values are overwritten there; elsewhere the
// program replaces itself by one without keys, which reads them from a pipe. Afterwards
// no program that it starts inherits a key, and no other program of the same user can
// read one from /proc, a debugger's connection or a core file. Where that fails, the
// variables are removed at least, and the program goes on.
package keys
