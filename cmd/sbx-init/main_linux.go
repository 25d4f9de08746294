package main

import (
	"fmt"
	"io"
	"os"

	"github.com/org/claude-sandbox/internal/delivery"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/exitcode"
)

// sbx-init ends with an exit code of ours, with CMD's own, with 128+n when signal n
// ended CMD, or with one of initproc's for a CMD that does not start.
func main() {
	p := &program{stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr}
	os.Exit(p.main(os.Args[1:]))
}

// program is the outside world as the commands see it.
type program struct {
	stdin  io.Reader
	stdout io.Writer // results only
	stderr io.Writer // everything for people
}

const usage = `usage: sbx-init COMMAND

  run --policy FILE [--user NAME|UID[:GID]] [--audit FILE] -- CMD [ARG...]
        close the network, open what FILE allows, verify, drop privileges, start CMD
  run --policy FILE --sidecar [--process-lookup] [--lifeline [--deadline TIME]] [--audit FILE]
        the same for a network namespace that other containers join; starts nothing.
        --process-lookup: their first process is 'sbx-init reap', and is asked for the
        processes behind what was decided
        --publish FILE, named ca.pem: where 'reap --trust=FILE' finds the certificates
        by which the TLS of hosts is opened
        --lifeline: standard input is the supervisor; this and what is tied to it
        ends with it, in its silence, or TIME (such as 30m) after 'reap' began. The
        first line of the output says that the network is closed, and 'reap' may begin;
        after SIGTERM come the lines of the audit log
        --around PREFIX[,...], with both: addresses that no name may lead to, like the
        networks that the namespace is on, such as the host's others
  reap [--lifeline | --deadline TIME] -- CMD [ARG...]
        be the first process of a container without capabilities: start CMD, collect
        orphans, tell the firewall whose a connection is, and be out of CMD's reach
        (its user cannot trace, read or end this one); --trust=FILE: keep
        /run/sbx-trust, where the certificates in FILE stand behind those of the image,
        also when FILE comes later; --lifeline: start CMD when the
        firewall's supervisor says so, and end with the firewall;
        --deadline: end after TIME, such as 30s
  run and reap end everything with exit code 71 when a read-only mount is taken away
  from outside
  check HOST[:PORT] [--policy FILE] [--audit FILE]
        say whether the policy allows HOST, and why (exit 0 allowed, 1 denied), and
        what else HOST was refused for lately: where it led, or how it was asked for
  plan --policy FILE [--around PREFIX[,...]]
        print the rules that run would apply; touches nothing
  reload [--audit FILE]
        have the running firewall read its policy file again; returns when it is in force
        (root; exit 65: the file is wrong, and the old policy stays in force)
  amend [--audit FILE] <CHANGE
        change lists of the policy file and put it in force; CHANGE is JSON such as
        {"add": {"allow": ["docs.example.com"]}, "remove": {"presets": ["npm"]}}
        (root; 'sbx-devc allow', 'deny' and 'preset' do it from outside)
  status [--json] [--audit FILE]
        say what the running firewall does (root)
  verify [--json] [--audit FILE]
        compare the kernel with the policy in force and send test packets; --json: print
        the status after that (root; exit 0 as it should be, 1 not)
  canary ADDRESS:PORT WORD
        try to bring WORD to an address that the policy refuses (exit 0 refused, 1 not)
  each canary|verify [ARG...]
        run that command for each line of standard input; a line of JSON for each says
        how it ended
  log [-f] [--json] [--audit FILE]
        print what was allowed and denied, and why; -f waits for more
  tunnel [--listen ADDR]
        serve ADDR and carry its requests over standard input and output
  version
        print the version
`

// exitWith ends the command with code; a nil err prints nothing.
func exitWith(code int, err error) error { return exitcode.With(code, err) }

// usageError is a command line that makes no sense.
func usageError(format string, args ...any) error {
	return exitWith(exitcode.Usage, diag.WithHint(fmt.Errorf(format, args...), "see 'sbx-init help'"))
}

// main runs the command line args and returns the exit code.
func (p *program) main(args []string) int {
	return p.exitCode(p.dispatch(args))
}

// exitCode shows err and returns the code that it stands for.
func (p *program) exitCode(err error) int {
	code, show := exitcode.Of(err, exitcode.Internal)
	if show != nil {
		p.printError(show)
	}
	return code
}

func (p *program) dispatch(args []string) error {
	if len(args) == 0 {
		return usageError("no command given")
	}
	switch command, args := args[0], args[1:]; command {
	case "run":
		return p.run(args)
	case shimCommand:
		return p.shim(args)
	case "reap":
		return p.reap(args)
	case confineCommand:
		return p.confine(args)
	case attendCommand:
		return p.attend(args)
	case deliverCommand:
		return delivery.Send(os.Stdin)
	case "check":
		return p.check(args)
	case "plan":
		return p.plan(args)
	case "keys":
		return p.keys(args)
	case "tunnel":
		return p.tunnel(args)
	case "reload", "amend", "status", "verify":
		return p.ask(command, args)
	case "canary":
		return p.canary(args)
	case "each":
		return p.each(args)
	case "log":
		return p.log(args)
	case "version":
		return p.version(args)
	case "help", "-h", "--help":
		_, err := io.WriteString(p.stdout, usage)
		return err
	default:
		return usageError("unknown command %q", command)
	}
}

// printError is the one place that shows an error to a person.
func (p *program) printError(err error) {
	diag.WriteError(p.stderr, "sbx-init", err)
}

// printWarning shows what goes on without.
func (p *program) printWarning(err error) {
	fmt.Fprintf(p.stderr, "sbx-init: warning: %v\n", err)
}
