// Package delivery brings variables and secret files to the command of a container,
// without the container's configuration, which everybody who may ask the engine can read.
//
//	host: sbx-devc                      agent's container
//	Parcel.Encode ── exec, its stdin ──► Send ──► a FIFO in memory ──► Receive, in the first process
//	                                                                          ├─ Env ──► the command's environment alone
//	                                                                          └─ Files ─► Folder, in memory, for its user to read
//
// The first process waits for it before it starts the command: nothing that is the
// agent's runs while the values are on their way. They are on no command line, in no
// layer and volume of the engine, and in none of its logs. Without all of them the
// command does not start.
package delivery
