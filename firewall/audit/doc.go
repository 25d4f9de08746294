// Package audit records what the firewall decided.
//
//	resolver, guard, packet filter -> Record -> Log -> /run/sbx/audit.jsonl
//	audit.jsonl -> Read -> NewReport -> WriteText | WriteJSON | WriteMarkdown
//
// The log lies in a folder that only root can write and everybody can read, so
// that the agent learns why it was refused. Everything in a record that came
// from the agent, above all host names, is treated as hostile when printed.
package audit
