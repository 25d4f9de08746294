// Package lsp is a language server for dev container files: the Language Server
// Protocol 3.17 on two streams.
//
//	editor ─ frames ─► Serve ─ didOpen, didChange ─► texts ─ OpenEdited ─► Project ─ Chosen ─────┐
//	   ▲                 │                                                                       │
//	   │                 ├─ hover: the rule's page; completion: package schema's tables          │
//	   │                 └─ codeAction: corrections, or a comment that excuses                   │
//	   └──────────────── publishDiagnostics ◄──────────────────────────────────────────────────┘
//
// A text of the editor wins over the file on the disk, in every file of a configuration:
// a Dockerfile that is edited is judged with the devcontainer.json that builds it. Messages
// that arrive while a check runs are read before the next one, so that a burst of keystrokes
// costs one check.
//
// It reads files of the repository around a file that the editor has open, writes none and
// runs nothing. Messages, open files and their texts are bounded; a message that is no JSON
// gets an error and changes nothing.
package lsp
