// Package exitcode carries the exit code of a failed command, inside the error,
// up to the one place that ends the program.
//
//	command: return exitcode.With(65, err) ──► main: code, err := exitcode.Of(err, 70)
//	                                                 print err unless it is nil; os.Exit(code)
//
// A command whose output has said everything returns a code with a nil error.
package exitcode
