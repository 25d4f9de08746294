// Package audit records what the firewall decided.
//
//	resolver, guard, packet filter -> Record -> Log -> /run/sbx/audit.jsonl -> Report
package audit
