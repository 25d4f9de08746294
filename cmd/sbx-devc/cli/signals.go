package cli

import (
	"os"
	"os/signal"
	"syscall"
)

// EndSignals are those that end a command in order. One that nohup has this program ignore
// is none of them: to be told of it would undo that.
func EndSignals() []os.Signal {
	all := []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGQUIT}
	if !signal.Ignored(syscall.SIGHUP) {
		all = append(all, syscall.SIGHUP)
	}
	return all
}
