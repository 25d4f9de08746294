// Package image has the commands that lock, build, push, verify, pull and load images.
//
//	flags ──► recipe ──► imagebuild.Spec ──► Assemble ──► artifact ──► engine, file, registry
//
// Each command is a file: its options, its flags with their help, and the calls into
// imagebuild, which decides; imagebuild/checkout asks git and GitHub's variables.
package image
