// Package changes has the commands about what a run changed: diff, review, apply and
// discard.
//
//	a run's folder ──► session/decision ──► session/review ──► shown, dangerous files first
//	                                    ──► the user says which ──► taken or discarded
//
// Nothing dangerous is taken without a word about it: an answer on a terminal or a flag.
package changes
