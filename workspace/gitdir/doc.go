// Package gitdir gives the agent of a run git directories of its own, and
// brings its commits back.
//
//	host's .git folders and files ── Look ──► Repositories       reads, follows no link, bounded
//	                                              │
//	                                          NewLayout ──► Layout: volumes, mounts, .git files   pure
//	                                              │
//	                    Fill ──► archive for the volumes: HEAD, refs, index, a config of ours
//	                                              │
//	  the agent works: its objects in the volume, the host's objects read-only behind them
//	                                              │
//	                    Take ◄── archive of a volume: refs and objects alone
//	                      │
//	                      └► index-pack --strict in a clean repository ──► bundle
//	                                                                         │
//	                                    Apply: index-pack --strict again, new branches sbx/RUN
//
// The host's git obeys a git directory: its config names programs, its hooks
// are programs, and its index, replace refs and info/exclude decide what a
// person is shown. So an agent never writes to one. Its own is in a volume of
// the engine, mounted over the project's .git, and no git on the host ever
// works in it. Commits come back by request, as objects that git has checked
// and as branches of names that we chose; nothing else of it comes back.
package gitdir
