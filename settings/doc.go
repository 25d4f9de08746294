// Package settings reads sandbox.jsonc: one file of settings, strict, with a
// position for everything that is wrong in it.
//
//	sandbox.jsonc -> ReadFile -> jsonc.Parse -> decode ─┬─> Accepted: Settings, their Policy
//	              "@hosts.txt" -> FileReader ───────────┤
//	                                                    └─> []diag.Finding (SBX1xx syntax, SBX201 unknown name,
//	                                                        SBX202 wrong type, SBX203 value not accepted,
//	                                                        SBX210 network entry, SBX211 list file,
//	                                                        SBX212 network entry that is hardly meant)
//	flags, inputs -> Given ─┐
//	layers put together ────┴-> Accept -> Accepted
//
// The form is a contract: what this version does not know is an error, never
// dropped in silence, because a mistyped "deny" would otherwise open the
// sandbox. Which file wins over which, and that a project may only narrow, is
// decided by the caller.
package settings
