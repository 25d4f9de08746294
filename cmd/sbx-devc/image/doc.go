// Package image has the commands that lock, build, push, verify, pull and load images.
//
//	flags ──► recipe ──► imagebuild.Spec ──► Assemble ──► artifact ──► engine, file, registry
//
// Each command is a file: its options, its flags with their help, and the calls into
// imagebuild, which decides. Git and the variables of GitHub Actions are asked here.
package image
