package settings

import (
	"fmt"
	"slices"
	"strings"

	"github.com/org/claude-sandbox/firewall/credential"
)

// Reference says where the value of a secret comes from.
type Reference struct {
	Kind ReferenceKind
	Of   string // what to ask there, see the kinds
}

// ReferenceKind is a kind of source.
type ReferenceKind string

// The kinds of sources.
const (
	ReferenceEnv     ReferenceKind = "env"     // a variable of the caller's environment
	ReferenceOp      ReferenceKind = "op"      // 1Password: "//vault/item/field" or "//vault/item/section/field"
	ReferenceKeyring ReferenceKind = "keyring" // the keyring of the user's session: "service/account"
	ReferencePass    ReferenceKind = "pass"    // an entry of pass, whose first line counts
	ReferenceFile    ReferenceKind = "file"    // a file's content without the line end at its end
	ReferenceCommand ReferenceKind = "cmd"     // a line for the user's shell, which prints the value
	ReferenceGH      ReferenceKind = "gh"      // gh's token for a host
	ReferenceGit     ReferenceKind = "git"     // git's credential for an https:// address, "USER:PASSWORD"
)

// String is the reference as it is written.
func (r Reference) String() string { return string(r.Kind) + ":" + r.Of }

// Reference is where the secret's value comes from: From, or the variable of its name.
// It errs on a From that Parse refuses.
func (s Secret) Reference() (Reference, error) {
	if s.From == "" {
		return Reference{ReferenceEnv, s.Name}, nil
	}
	r, bad := parseReference(s.From)
	if bad != nil {
		return Reference{}, fmt.Errorf("the secret %s: %s", s.Name, bad.message)
	}
	return r, nil
}

const referenceHint = "accepted: env:NAME, op://VAULT/ITEM/FIELD, keyring:SERVICE/ACCOUNT, pass:ENTRY, file:PATH, cmd:COMMAND, " +
	"gh:HOST, git:https://HOST/PATH"

// parseReference reads a reference. An error about one does not repeat its text,
// which may be a secret that somebody wrote in the wrong place.
func parseReference(text string) (Reference, *problem) {
	kind, of, found := strings.Cut(text, ":")
	r := Reference{ReferenceKind(kind), of}
	no := func(why string) (Reference, *problem) { return Reference{}, &problem{why, referenceHint} }
	if strings.ContainsFunc(text, func(c rune) bool { return c < ' ' || c == 0x7f }) {
		return no("the source of a secret is one line without control characters")
	}
	parts := strings.Split(of, "/")
	empty := slices.Contains(parts, "")
	switch {
	case !found:
		return no("the source of a secret has no kind; a value itself belongs in no file and no argument")
	case of == "":
		return no("after the kind of a source nothing follows")
	case r.Kind == ReferenceEnv:
		if checkVariable(of) != nil {
			return no("after env: there is no name of a variable")
		}
	case r.Kind == ReferenceOp:
		if rest, ok := strings.CutPrefix(of, "//"); !ok || slices.Contains(strings.Split(rest, "/"), "") || strings.Count(rest, "/") < 2 {
			return no("a source of 1Password is op://VAULT/ITEM/FIELD")
		}
	case r.Kind == ReferenceKeyring:
		if len(parts) < 2 || parts[0] == "" || parts[len(parts)-1] == "" {
			return no("a source in the keyring is keyring:SERVICE/ACCOUNT")
		}
	case r.Kind == ReferencePass:
		if empty || strings.HasPrefix(of, "-") || slices.Contains(parts, "..") {
			return no("after pass: there is no name of an entry")
		}
	case r.Kind == ReferenceGH:
		if strings.HasPrefix(of, "-") || strings.ContainsAny(of, " /") {
			return no("after gh: there is no name of a host")
		}
	case r.Kind == ReferenceGit:
		if !strings.HasPrefix(of, "https://") || strings.ContainsAny(of, " @") {
			return no("after git: there is no https:// address without a user")
		}
	case r.Kind == ReferenceFile, r.Kind == ReferenceCommand:
	default:
		return no("a kind of source is not known")
	}
	return r, nil
}

// AddSecrets adds secrets that are given as NAME or NAME=SOURCE. The last source of a
// name counts.
func (g *Given) AddSecrets(name string, list []string) {
	for _, text := range g.expand(name, list) {
		secret, from, found := strings.Cut(text, "=")
		g.check(name, checkVariable(secret))
		if found {
			_, bad := parseReference(from)
			g.check(name, bad)
		}
		g.Secrets = MergeSecrets(g.Secrets, []Secret{{Name: secret, From: from}})
	}
}

// AddKeys adds keys that are given as "NAME[=SOURCE] for ENTRY", with " as FORM" behind
// it where that is not the usual one.
func (g *Given) AddKeys(name string, list []string) {
	for _, text := range g.expand(name, list) {
		of, entry, found := strings.Cut(text, " for ")
		if !found {
			g.check(name, &problem{"it does not say what the key is for", "write it as 'NAME=SOURCE for git:github.com/acme/app'"})
			continue
		}
		var s Secret
		s.Name, s.From, found = strings.Cut(strings.TrimSpace(of), "=")
		g.check(name, checkVariable(s.Name))
		if found {
			_, bad := parseReference(s.From)
			g.check(name, bad)
		}
		if at := strings.LastIndex(entry, " as "); at >= 0 {
			entry, s.As = entry[:at], strings.TrimSpace(entry[at+len(" as "):])
			if message, hint := credential.CheckForm(s.As); message != "" {
				g.check(name, &problem{message, hint})
			}
		}
		s.For = strings.TrimSpace(entry)
		if message, hint := credential.CheckFor(s.For); message != "" {
			g.check(name, &problem{message, hint})
		}
		g.Secrets = MergeSecrets(g.Secrets, []Secret{s})
	}
}

// MergeSecrets returns the secrets of both lists, each name once, also where one list has
// it twice: what the later one says counts, and the rest of it is the earlier one's.
func MergeSecrets(base, top []Secret) (out []Secret) {
	for _, s := range slices.Concat(base, top) {
		i := slices.IndexFunc(out, func(b Secret) bool { return b.Name == s.Name })
		switch {
		case i < 0:
			out = append(out, s)
		case s.From != "":
			out[i].From = s.From
			fallthrough
		default:
			if s.For != "" {
				out[i].For = s.For
			}
			if s.As != "" {
				out[i].As = s.As
			}
		}
	}
	return out
}
