// Package transcript shows a conversation with Claude Code to people.
//
//	claude's stream-json -> agent.Scanner -> agent.Event -> Printer.Event -> lines
//	a run's transcript.jsonl -> Print -> the same lines
//	agent.Event -> Silence.Hear; the time -> Silence.Line -> what a silent run waits for
//
// Everything in an event is the agent's word: no byte of it reaches a terminal
// as anything but a printable character. Nothing here judges a run.
package transcript
