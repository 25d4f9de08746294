package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/org/claude-sandbox/firewall/control"
	"github.com/org/claude-sandbox/firewall/live"
	"github.com/org/claude-sandbox/firewall/operation"
	"github.com/org/claude-sandbox/initproc"
	"github.com/org/claude-sandbox/initproc/tamper"
	"github.com/org/claude-sandbox/internal/atomicfile"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/exitcode"
	"github.com/org/claude-sandbox/settings"
)

// maxChangeBytes bounds the change that amend reads; a longer one is cut off, and
// so no JSON.
const maxChangeBytes = 128 << 10

// exitDiffers is the exit code of verify for a kernel that is not as it should be.
const exitDiffers = 1

// handler answers root's commands to the running firewall.
type handler struct {
	firewall  *live.Firewall
	options   runOptions
	reach     tamper.Who // who must not be able to change the policy file
	resolvers live.Resolvers
	keys      *keyring // nil where a policy's keys are not used here
	unwritten *unwritten
}

// unwritten is a policy that is in force and could not be written into its file. It is
// good for as long as the file holds what it was made of.
type unwritten struct{ of, source []byte }

// handle carries a request out, with its output in the response.
func (h handler) handle(r control.Request) control.Response {
	if r.Command == "keys" {
		return h.takeKeys(r)
	}
	ctx, cancel := context.WithTimeout(context.Background(), setupTimeout)
	defer cancel()
	return respond(func(p *program) error {
		switch r.Command {
		case "reload":
			return h.reload(ctx, p)
		case "amend":
			return h.amend(ctx, p, r.Input)
		case "status":
			return json.NewEncoder(p.stdout).Encode(h.firewall.Status())
		case "verify":
			return h.verify(ctx, p)
		}
		return usageError("unknown command %q", r.Command)
	})
}

// refuse is the response to a client that gets none.
func refuse(err error) control.Response {
	return respond(func(*program) error { return err })
}

// respond runs a command with buffers for its output.
func respond(run func(*program) error) control.Response {
	var out, errOut bytes.Buffer
	p := &program{stdout: &out, stderr: &errOut}
	code := p.exitCode(run(p))
	return control.Response{Code: code, Stdout: out.String(), Stderr: errOut.String()}
}

// takeKeys leads the requests to hosts that may have a key through the connection.
func (h handler) takeKeys(r control.Request) control.Response {
	var hosts []operation.Host
	if err := json.Unmarshal(r.Input, &hosts); err != nil || len(hosts) == 0 {
		return refuse(fmt.Errorf("reading the hosts of keys: %w", cmp.Or(err, errors.New("there are none"))))
	}
	take, err := h.firewall.TakeKeys(hosts)
	if err != nil {
		return refuse(err)
	}
	r.Keep(take)
	return control.Response{}
}

// keys carries bytes between standard input and output and the running firewall: the
// process that holds keys is at the one end, and the relay at the other.
func (p *program) keys(args []string) error {
	fs := newFlags("keys")
	audit := fs.String("audit", defaultAudit, "")
	rest, err := parseFlags(fs, args)
	if err != nil {
		return err
	}
	if len(rest) != 1 {
		return usageError("keys takes the list of hosts")
	}
	if err := initproc.ForbidDumps(); err != nil {
		return err
	}
	r, conn, err := control.Open(control.Find(*audit), control.Request{Command: "keys", Input: []byte(rest[0])})
	if err != nil {
		return err
	}
	defer conn.Close()
	if r.Code != 0 {
		_, err := io.WriteString(p.stderr, r.Stderr)
		return errors.Join(err, exitWith(r.Code, nil))
	}
	ended := make(chan error, 2)
	go func() { _, err := io.Copy(conn, p.stdin); ended <- err }()
	go func() { _, err := io.Copy(p.stdout, conn); ended <- err }()
	return <-ended
}

// reload puts the policy file's present content in force. On an error the old
// policy stays in force.
func (h handler) reload(ctx context.Context, p *program) error {
	next, err := p.loadPolicy(h.options.policy, &h.reach, h.options.around)
	if err != nil {
		code, show := exitcode.Of(err, exitcode.Internal)
		return exitWith(code, diag.WithHint(show, "correct the policy file and reload again; the old policy stays in force"))
	}
	if err := h.enforce(ctx, p, next); err != nil {
		return err
	}
	*h.unwritten = unwritten{}
	fmt.Fprintln(p.stderr, "sbx-init: the policy is in force")
	return nil
}

// enforce puts a policy in force and shows it to the agent. Meanwhile the firewall
// does not count as verified.
func (h handler) enforce(ctx context.Context, p *program, next policyFile) error {
	if h.keys != nil {
		next.Keys = h.keys.bind(p, next)
	}
	if err := unmarkVerified(); err != nil {
		return err
	}
	if err := h.firewall.Reload(ctx, next.Policy); err != nil {
		if s := h.firewall.Status(); s.Ready {
			err = errors.Join(err, markVerified(s.Mode))
		}
		return err
	}
	if err := markVerified(next.Mode()); err != nil {
		return err
	}
	p.warn(next, h.resolvers)
	return writeEffective(h.options.audit, next.network)
}

// amend changes lists of the policy file and puts it in force. A file that the
// agent could change is refused. The change is in force also where the file cannot
// be written, as on a full disk or a read-only system, and the answer says so.
func (h handler) amend(ctx context.Context, p *program, input []byte) error {
	var change settings.Change
	decoder := json.NewDecoder(bytes.NewReader(input))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&change); err != nil {
		return exitWith(exitcode.Config, fmt.Errorf("reading the change: %w", err))
	}
	path := h.options.policy
	src, err := readPolicyFile(path, &h.reach)
	if err != nil {
		return err
	}
	inForce := src
	if h.unwritten.source != nil && bytes.Equal(h.unwritten.of, src) {
		inForce = h.unwritten.source
	}
	amended, err := settings.ParseFile(path, inForce, listsOf(path, &h.reach)).Amend(change)
	if err != nil {
		return exitWith(exitcode.Config, err)
	}
	next, err := p.judgePolicy(amended, h.options.around)
	if err != nil {
		return err
	}
	// The file comes last: one that is not in force would be at the next start.
	if err := h.enforce(ctx, p, next); err != nil {
		return err
	}
	answer := control.Amended{Network: next.network}
	*h.unwritten = unwritten{}
	if !bytes.Equal(src, amended.Source) {
		if err := atomicfile.Replace(path, src, amended.Source); err != nil {
			answer.Lost = err.Error()
			*h.unwritten = unwritten{src, amended.Source}
		}
	}
	return json.NewEncoder(p.stdout).Encode(answer)
}

// verify prints what differs.
func (h handler) verify(ctx context.Context, p *program) error {
	err := h.firewall.Verify(ctx)
	if err == nil {
		fmt.Fprintln(p.stderr, "sbx-init: the firewall is in force as the policy says")
		return json.NewEncoder(p.stdout).Encode(h.firewall.Status())
	}
	for _, difference := range live.Differences(err) {
		fmt.Fprintf(p.stderr, "sbx-init: differs: %s\n", difference)
	}
	return exitWith(exitDiffers, nil)
}

// ask sends a command to the running firewall and prints what it says.
func (p *program) ask(command string, args []string) error {
	fs := newFlags(command)
	audit := fs.String("audit", defaultAudit, "")
	asJSON := false
	if command == "status" || command == "verify" {
		fs.BoolVar(&asJSON, "json", false, "")
	}
	rest, err := parseFlags(fs, args)
	if err != nil {
		return err
	}
	if len(rest) > 0 || *audit == "" {
		return usageError("%s takes its options as 'sbx-init help' shows", command)
	}
	request := control.Request{Command: command}
	if command == "amend" {
		if request.Input, err = io.ReadAll(io.LimitReader(p.stdin, maxChangeBytes)); err != nil {
			return fmt.Errorf("reading the change: %w", err)
		}
	}
	r, err := control.Call(control.Find(*audit), request)
	if err != nil {
		return err
	}
	if command == "status" && r.Code == 0 && !asJSON {
		var s live.Status
		if err := json.Unmarshal([]byte(r.Stdout), &s); err != nil {
			return fmt.Errorf("reading the firewall's status: %w", err)
		}
		r.Stdout = s.Text()
	}
	if command == "verify" && !asJSON {
		r.Stdout = ""
	}
	_, err = io.WriteString(p.stdout, r.Stdout)
	if _, err2 := io.WriteString(p.stderr, r.Stderr); err == nil {
		err = err2
	}
	if err == nil && r.Code != 0 {
		err = exitWith(r.Code, nil)
	}
	return err
}
