// Package secrets finds the values of a run's secrets on this machine.
//
//	settings.Reference ─ Sources.Resolve ─► values by name, all of them or an error
//	  env:      the caller's environment            op:    op read op://…
//	  file:     a file, through no link of the      pass:  pass show ENTRY, the first line
//	            project's to elsewhere              keyring: secret-tool (Linux), security (macOS)
//	                                                cmd:   the user's shell
//	  gh:       gh auth token --hostname HOST       git:    git credential fill, "USER:PASSWORD"
//	Keyring ─► a reference of this machine's ─ Keep, Forget ─► the keyring, or pass
//
// Everything that was asked for is there, or nothing starts: an error names each secret
// that has no value, where it was looked for, and what to do. No error, argument or log
// holds a value. Programs get the caller's environment and no standard input but
// the value that they keep, and say what they need on the terminal themselves.
//
// Environment files and NAME[=VALUE] arguments are read here, too: ReadEnv, Variable.
package secrets
