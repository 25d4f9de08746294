// Package org reads an organisation's policy: what its configurations may hold.
//
//	file ─ Parse ─► Policy ─ Judge(part, match) ─► "" or why not, and the line that says so
//
// A forbidden entry wins over an allowed one, and a list of what is allowed
// forbids the rest. The rules that ask (SBX414 to 416, 606, 607, 611) are in
// package lint.
package org
