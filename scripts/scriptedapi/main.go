// Command scriptedapi is the model API with scripted answers, for workflows that have no key:
//
//	scriptedapi ADDRESS FILE    serves until it is ended; FILE is there once it listens
//
// The agent writes a file, tries a host that is closed, and says that it is done.
package main

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/org/claude-sandbox/internal/fakeapi"
)

func main() {
	if len(os.Args) != 3 {
		fail(fmt.Errorf("scriptedapi takes an address and a file"))
	}
	listener, err := net.Listen("tcp", os.Args[1])
	if err != nil {
		fail(err)
	}
	if err := os.WriteFile(os.Args[2], []byte(listener.Addr().String()), 0o644); err != nil {
		fail(err)
	}
	server := http.Server{ReadHeaderTimeout: time.Minute, Handler: &fakeapi.Server{Script: fakeapi.Script{
		Turns: []fakeapi.Turn{{Bash: []string{"echo made >made.txt", "curl -sS -m 10 https://closed.example/ || true"}}}, Final: "done",
	}}}
	fail(server.Serve(listener))
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "scriptedapi:", err)
	os.Exit(1)
}
