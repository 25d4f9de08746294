package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/org/claude-sandbox/firewall/audit"
	"github.com/org/claude-sandbox/firewall/live"
	"github.com/org/claude-sandbox/firewall/owner"
	"github.com/org/claude-sandbox/initproc"
	"github.com/org/claude-sandbox/initproc/tamper"
	"github.com/org/claude-sandbox/internal/diag"
)

// inputs are what a start obeys, and for whom it is made.
type inputs struct {
	who       initproc.Account // the command's; the zero Account when there is none
	reach     tamper.Who       // who must not be able to change the policy file and the records
	policy    policyFile
	resolvers live.Resolvers
}

func (p *program) readInputs(o runOptions) (in inputs, err error) {
	in.reach = tamper.Who{Anyone: true}
	if !o.sidecar {
		if in.who, err = initproc.FindAccount(o.user); err != nil {
			return in, err
		}
		in.reach = tamper.Who{UID: in.who.UID, GIDs: append(in.who.Groups, in.who.GID)}
	}
	if in.policy, err = p.loadPolicy(o.policy, &in.reach, o.around); err != nil {
		return in, err
	}
	if in.resolvers, err = live.ReadResolvers(live.ResolvConf); err != nil {
		return in, fmt.Errorf("finding the machine's resolvers: %w", err)
	}
	p.warn(in.policy, in.resolvers)
	return in, nil
}

// opensTLS says that the policy has hosts whose requests are judged.
func (in inputs) opensTLS() bool {
	return in.policy.Resolves() && len(in.policy.Operations().Hosts()) > 0
}

// records are the audit log of a start, and the lookup of the processes that it names.
type records struct {
	*audit.Recorder
	lookup *owner.Lookup
}

func openRecords(o runOptions, in inputs) (records, error) {
	log, err := openAudit(o.audit, in.reach)
	if err != nil {
		return records{}, diag.WithHint(err, "give another place with --audit FILE, in a folder that only root can write")
	}
	lookup, err := findProcesses(o, in.who, in.resolvers)
	if err != nil {
		return records{}, err
	}
	return records{audit.NewRecorder(log.Record, lookup.Complete), lookup}, nil
}

// findProcesses returns the lookup of the processes behind decisions. who is the
// command's account, the zero Account when there is none.
func findProcesses(o runOptions, who initproc.Account, resolvers live.Resolvers) (*owner.Lookup, error) {
	l, err := owner.New(resolvers.Servers(), os.Environ())
	if err != nil {
		return nil, err
	}
	if o.askAgent {
		l.AskAgent()
	}
	if !o.sidecar {
		if err := l.SearchAs(who.UID, who.GID); err != nil {
			return nil, diag.WithHint(err, initproc.HintCapabilities)
		}
	}
	return l, nil
}

// openAudit opens the audit log where who can neither change nor replace it.
func openAudit(path string, who tamper.Who) (*audit.Log, error) {
	log, err := audit.OpenLog(path)
	if err != nil {
		return nil, err
	}
	if err := who.Check(path); err != nil {
		log.Close()
		return nil, fmt.Errorf("the audit log: %w", err)
	}
	return log, nil
}

// warn shows the warnings about a policy.
func (p *program) warn(policy policyFile, resolvers live.Resolvers) {
	for _, line := range policy.Warnings(resolvers) {
		p.printWarning(errors.New(line))
	}
}
