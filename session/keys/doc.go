// Package keys takes the keys of the model API out of this process's environment
// and memory, as far as others can look there.
//
//	started with a key ─ Hide: pipe, exec ─► the same program without it
//	                                          │ Hide: reads the pipe, closes the memory
//	                                          ▼
//	                                        Keys.Getenv ─► credproxy, which has the key
//
// A process cannot change what the kernel shows of the environment that it was
// started with, so it replaces itself. Afterwards no program that it starts
// inherits a key, and no other program of the same user can read one from /proc,
// a debugger's connection or a core file. Where that fails, the variables are
// removed at least, and the program goes on.
package keys
