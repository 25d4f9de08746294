// Package machine has the commands that say what this machine has for a run: doctor,
// sandbox, version.
//
//	engine, folders, key ──► doctor.Look ──► Judge ──► findings with the command that helps
//	settings, engine ──► sandbox status
package machine
