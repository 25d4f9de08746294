// Package conversation keeps what a later run needs to go on with a conversation.
//
//	a run's end: ~/.claude/projects/-workspace/ID.jsonl ── Keep ──► conversation.jsonl in the run's folder
//	                                                                  (the newest; others by their names)
//	a later run: conversation.jsonl ──► the same place in the new sandbox ──► claude --resume ID
//
// The file in the sandbox is the agent's to write. Keep takes the messages of one
// conversation out of it, member by member, and nothing else: no permission, hook,
// setting, folder or snapshot of files. An agent can put words into its own past
// by it, as it can with any file of the project, and change nothing about the run
// that reads them. Nothing on the host obeys the file.
package conversation
