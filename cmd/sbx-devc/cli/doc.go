// Package cli has what every command needs of the outside world: the streams, the
// environment, forms of output, and one way to end.
//
//	main: App ──► Main(ctx, app, root, args) ──► a command's RunE: prints to app.Stdout,
//	                    │                         speaks to people on app.Stderr,
//	                    ▼                         returns exitcode.With(code, err)
//	              error, hint and exit code
//
// It knows no command. Results go to Stdout alone, sentences for people to Stderr, and
// output that is lost is no success. Only here an error is shown, with the hint that the
// operating system's own words leave open and with the command that was most likely
// meant.
package cli
