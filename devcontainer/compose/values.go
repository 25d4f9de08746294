package compose

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/lazyregexp"
)

// declared reports networks, secrets and configs of a service that are not declared.
func (p *checker) declared(s *Service) {
	for _, key := range []string{"networks", "secrets", "configs"} {
		list := s.Get(key).names()
		for _, item := range s.Get(key).items() {
			if source := item.Get("source"); source.String() != "" {
				list = append(list, Member{source.Text, source.Start, source.End, source})
			}
		}
		for _, m := range list {
			if m.Name == "" || key == "networks" && m.Name == "default" || strings.Contains(m.Name, "$") || p.Root.Get(key).Get(m.Name) != nil {
				continue
			}
			p.refuse(m.place(s.Doc), fmt.Sprintf("the %s %s is not declared under %s", strings.TrimSuffix(key, "s"), m.Name, key))
		}
	}
}

func (n *Node) items() []*Node {
	if n == nil {
		return nil
	}
	return n.Items
}

// textLists are keys of a service whose lists hold texts alone.
var textLists = []string{"environment", "labels", "command", "entrypoint", "cap_add", "cap_drop", "security_opt", "dns", "extra_hosts",
	"expose", "profiles"}

// values reports values that Compose or the engine refuses: a map in a list of texts, which a
// space behind a colon makes, and words and ports that are none.
func (p *checker) values(s *Service) {
	for _, key := range textLists {
		for _, item := range s.Get(key).items() {
			if item.Kind != Scalar {
				p.refuse(item, fmt.Sprintf("an element of %s is a text; put it into quotes, or write NAME=VALUE", key))
			}
		}
	}
	for _, key := range slices.Concat(textLists, onlyLists, []string{"env_file", "depends_on", "networks", "tmpfs"}) {
		for _, item := range s.Get(key).items() {
			if item.Null {
				p.refuse(item, fmt.Sprintf("an element of %s is empty", key))
			}
		}
	}
	p.spaces(s)
	if user := s.Get("user"); user.String() != "" && user.Type() == "int" {
		p.refuse(user, fmt.Sprintf("the user is a text: write %q", user.Text))
	}
	p.word(s.Get("restart"), restarts, "no, always, on-failure, unless-stopped")
	for _, m := range s.Get("depends_on").names() {
		if m.Value.Kind == Map {
			p.word(m.Value.Get("condition"), conditions,
				"service_started, service_healthy, service_completed_successfully")
		}
	}
	for _, item := range s.Get("ports").items() {
		if item.Kind != Scalar || strings.Contains(item.Text, "$") {
			continue
		}
		for _, number := range portNumber.FindAllString(publishedPart(item.Text), -1) {
			if n, err := strconv.Atoi(number); err != nil || n > 65535 {
				p.refuse(item, fmt.Sprintf("%s is no port: they end at 65535", number))
			}
		}
	}
}

// spaces reports a port or a volume that a space behind its colon makes a map, and names to wait for in neither of the two forms.
func (p *checker) spaces(s *Service) {
	for _, item := range s.Get("ports").items() {
		if item.Kind == Map && len(item.Members) == 1 && strings.Trim(item.Members[0].Name, "0123456789.:-/") == "" {
			p.refuse(item, "a port is one text: take the space behind the colon out")
		}
	}
	for _, item := range s.Get("volumes").items() {
		if item.Kind == Map && len(item.Members) == 1 && strings.ContainsAny(item.Members[0].Name+item.Members[0].Value.String(), "/.~") {
			p.refuse(item, "a volume is one text: take the space behind the colon out")
		}
	}
	depends := s.Get("depends_on")
	for _, item := range depends.items() {
		if item.Kind != Scalar {
			p.refuse(item, "an element of depends_on is a name; leave the - out in front of a name with a condition")
		}
	}
	if depends != nil && depends.Kind == Map {
		for _, m := range depends.Members {
			if m.Value.Kind == Scalar {
				p.refuse(m.place(s.Doc), fmt.Sprintf("write condition: service_started below %s, or a list of names", m.Name))
			}
		}
	}
}

var (
	restarts   = lazyregexp.New(`^(no|false|always|unless-stopped|on-failure(:\d+)?)$`)
	conditions = lazyregexp.New(`^service_(started|healthy|completed_successfully)$`)
	portNumber = lazyregexp.New(`\d+`)
)

// publishedPart is a port of the short form without address and protocol.
func publishedPart(s string) string {
	s, _, _ = strings.Cut(s, "/")
	parts := strings.Split(s, ":")
	return strings.Join(parts[max(0, len(parts)-2):], ":")
}

// word reports a scalar that is none of the words that are known.
func (p *checker) word(n *Node, known *lazyregexp.Regexp, list string) {
	if n.String() == "" || strings.Contains(n.Text, "$") || known.MatchString(n.Text) {
		return
	}
	p.refuse(n, fmt.Sprintf("%q is not accepted here; accepted: %s", n.Text, list))
}

// topLevel are the keys of a Compose file.
var topLevel = []string{"version", "name", "include", "services", "networks", "volumes", "secrets", "configs", "models"}

// misspelt reports top-level keys that are near to one that is known.
func (p *checker) misspelt() {
	for _, m := range p.Root.Members {
		if slices.Contains(topLevel, m.Name) || strings.HasPrefix(m.Name, "x-") || m.Value.Doc == nil {
			continue
		}
		best := diag.Suggest(m.Name, topLevel)
		switch isService := m.Value.Get("image") != nil || m.Value.Get("build") != nil; {
		case best != "":
			p.refuse(m.place(m.Value.Doc), fmt.Sprintf("a Compose file has no %q; did you mean %s?", m.Name, best))
		case isService && p.Root.Get("services") != nil:
			p.refuse(m.place(m.Value.Doc), fmt.Sprintf("the service %s stands outside services: indent it as the others", m.Name))
		case knownKeys()[m.Name] && p.Root.Get("services") != nil:
			p.refuse(m.place(m.Value.Doc), fmt.Sprintf("%s belongs to a service, so indent it more", m.Name))
		}
	}
}
