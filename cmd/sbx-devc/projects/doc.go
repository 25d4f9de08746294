// Package projects finds the project that a command is about, its runs, and whether its
// user has accepted its settings.
//
//	arguments, current folder, $HOME ──► Dir, RunDir, Paths, SettingsFile
//	                                     OfRuns: the project whose newest run is meant
//	                                     Runs: what runs left on this machine
//	a file that a command wrote ──► AcceptWritten, KeepTrust
//
// A project that is not the current folder is named to the user.
package projects
