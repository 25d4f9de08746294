// Package amend changes which hosts a project may reach: in its settings, and in
// what runs of it at this moment.
//
//	sbx-devc allow HOST ─► Request ─ judge ─► Edit: the new text, what it changes, what needs none
//	                                   ▲        │
//	      sandbox.jsonc ─ settings.ReadFile     ├─► Place.Edit: written whole, under a lock; trust is kept
//	                                            │
//	      engine's containers ─ Find ─► Firewall┴─ Amend ─► 'sbx-init amend' as root ─► control.Amended
//	                                                                                        │
//	                                                        Outcome: one line for people ◄──┘
//
// A firewall that runs gets the entries that the person named and nothing else of
// the file: the file may hold entries that the person has not read, and a run may be narrower
// than its project. So a run that denies a host goes on denying it, and presets that
// only a person's session needs stay closed in a run.
//
// Labels are claims: an image may carry any. A dev container counts only where it
// mounts the project's folder, its firewall only where Compose made it for the
// project, and a run only where this user's folder of runs knows it. Text that a container
// answers goes into words for people and into nothing else.
package amend
