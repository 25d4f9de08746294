// Package audit records what the firewall decided.
//
//	resolver, guard, packet filter -> Record -> Recorder -> Log -> /run/sbx/audit.jsonl
//	audit.jsonl -> Read; Refusals of one target -> []Record
//
// A Recorder writes the first decision of a kind at once and counts those that
// repeat it, so that a program that tries in a loop cannot fill the disk.
//
// The log lies in a folder that only root can write and everybody can read, so
// that the agent learns why it was refused. Everything in a record that came
// from the agent, above all host names, is treated as hostile when printed.
package audit
