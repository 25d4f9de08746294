// Package sign has images signed, and their signatures checked, by the programs
// that people trust with them: cosign and gh. Those take further settings from
// their own variables (COSIGN_PASSWORD, COSIGN_SIGNING_CONFIG, GH_TOKEN, …).
//
//	Cosign ──────── Signer ──┐                          ┌─> cosign sign REGISTRY/NAME@DIGEST
//	                         ├─> credentials in a file ─┼─> cosign verify …
//	Requirement ─── Checker ─┘   that ends with the call└─> gh attestation verify …
//
// Every setting that decides about a signature is an argument of the program, never
// left to a variable. Credentials are no arguments. The exit code is the answer.
package sign
