// Package instructions brings what a project and a user have written for Claude
// into a run, as text.
//
//	project/.claude/{skills,commands,agents,output-styles} ─ Project ─┐
//	~/.claude/ENTRY, for the entries that the user lists ─── User ────┴► Set ─► Files: Claude's own folder in the sandbox
//	                                                                       └─► LeftOut: what was not taken, and why
//
// The project's CLAUDE.md is not here: Claude reads it where it is, by
// agent.Headless.MemoryOf, and follows its imports within the project alone.
//
// A skill, command or agent is a text with a front matter, and some members of that
// act: hooks, programs to start, permissions, models. Only those members of a front
// matter are kept that name, describe or narrow; a text whose front
// matter cannot be read is left out. Hidden files are left out, because a plugin's
// manifest in a skill's folder would make it one. Claude itself is told to start no
// command of a text (disableSkillShellExecution). No link of a project is followed.
package instructions
