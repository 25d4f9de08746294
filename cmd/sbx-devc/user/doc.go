// Package user has the commands about what belongs to the user on this machine: trust,
// settings, profile, login and logout, migrate, version, sandbox status, and doctor, which says
// what the machine lacks.
//
//	the user's folder (userdir) ──► trust.json, settings.jsonc, profiles, a stored key
package user
