// Package connect reaches registries and the container engine for commands: with the
// credentials that flags and environment name, and an exit code for each way to fail.
//
//	Login (flags) ──► RegistryOptions ──► packages of imagebuild
//	Engine(ctx, work) ──► engine ──► work ──► Error: the failure's exit code
package connect
