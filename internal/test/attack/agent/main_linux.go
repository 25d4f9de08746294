// Command agent is the attacker: it runs the attacks whose names it reads, one
// per line, as whoever started it, and says when each is over.
package main

import (
	"fmt"
	"os"

	"github.com/org/claude-sandbox/internal/test/attack"
)

func main() {
	if err := attack.Serve(os.Stdin, os.Stdout, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "agent:", err)
		os.Exit(1)
	}
}
