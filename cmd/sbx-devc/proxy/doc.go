// Package proxy has the command proxy: the proxy of the model API without a sandbox of ours.
//
//	flags, the user's own settings ──► credproxy.Options ──► endpoint.Serve ──► what to set, on standard output
package proxy
