// Package images brings what the containers of a run are made of to an engine.
//
//	a release's digest ─► pulled, or firewall.Dockerfile ─► built once ─► image of the firewall, by its id
//	--image, the project, default.Dockerfile ─► pulled or built ─► image of the agent
//	npm's pinned package ─► cache folder, checked ─► volume ─► read-only in the agent's container
//	the sbx-init that this program carries ─► volume ─► read-only in both containers
//	                                                              │
//	                                   Images.Bring fills in ─► runplan.Plan
//
// So the agent's image needs neither Claude Code nor any part of the firewall.
//
// The firewall's image is never a name that somebody else could give to another
// image: it is built here, or pulled by the digest that is part of a release's program, and
// used by the id that this user's cache folder keeps.
//
// Claude Code comes from npm by a checksum that is part of this program. It lies in a
// volume of the engine, root's and not readable, and every container of ours mounts
// it read-only. So does sbx-init. The volume's name holds 128 random bits, which only the cache
// folder keeps: no file of a project can name the volume before it exists, and a
// volume that was made by anybody else, or leads to a folder of the machine, is not
// taken. Trusted are the engine, whoever may give it orders (which is root on its
// machine), and the user's cache folder. An image that has Claude Code as our
// templates install it, at runplan.DefaultClaudePath and not readable, keeps its own.
package images
