// Package user has the commands about what belongs to the user on this machine: trust,
// settings, profile, login and logout, migrate.
//
//	the user's folder (userdir) ──► trust.json, settings.jsonc, profiles, a stored key
package user
