// Package session prepares a run of Claude Code: what lies between settings and
// package sandbox, for the command run and for the Action.
//
//	flags ─► settings.Given ─┐
//	inputs ─► settings.Given ┴► runplan.Options ─ Project.Effective ─► settings   the project's file may only narrow
//	                                                        │ Project.Plan, once the question about that file is answered
//	                                                        ▼
//	                                                  runplan.Plan
//	                                                        │
//	environment ─ keys.Hide ─► ModelAPI ─► base URL, key    │ asked before anything starts
//	--prompt-file ─ ReadPromptFile ─► prompt                │ no link out of the project
//	--summary-file ─ OpenSummary ─► SummaryFile             │ its folder is opened before the agent works
//	                                                        ▼
//	                            engine ◄─ images.Bring ── images: the engine's, pulled, or built here
//	                                                        │
//	                 runs.Home.Make ─► the run's folder     │ old runs go
//	                                                        ▼
//	                                          sandbox.Run ─► Result ─► SummaryFile.Save
//
// Everything that can be missing is found missing before a container starts. An
// agent of an earlier run may have left anything in the project: files that the user
// names are looked for without following its links. Errors of Plan and ModelAPI carry
// the exit code that docs/cli.md lists; the caller knows that of the others.
package session
