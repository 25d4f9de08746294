// Package progress tells people how a long piece of work goes on.
//
//	Reporter.Begin ─► Step ─┬─ Write: the full log ─► LogFile, and people when Verbose
//	                        │         └─ its last line that names a part ─► a line on the terminal
//	                        └─ End ─► "… took 12 s", or after a failure the log's place
//	Reporter.Await ─► a line when there is no step for too long
//	Reporter.Transfers ─► Transfers ─┬─ Update: one piece's state ─► a bar on the terminal
//	                                 └─ a piece that is done ─► a line that stays
//
// On a terminal the lines of what is under way are drawn again in place. Elsewhere
// a step is a plain line at the start and one at the end, and a piece is a line when it
// is done, so that a log holds no control characters. Everything that is shown passes
// through package visible: builders and downloads repeat words of other people.
package progress
