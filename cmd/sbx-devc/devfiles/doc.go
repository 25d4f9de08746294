// Package devfiles has the commands that write a dev container's files and keep them up to
// date: init, update, drift, lock and templates.
//
//	flags, the project's files, answers ──► scaffold.Request ──► draft ──► shown or written
//	init --extend ──► adopt.Plan ──► the same, on a dev container of the user's own
//
// All files are written or none. Packages below templates decide what is in them.
package devfiles
