package settings

import (
	"strconv"

	"github.com/org/claude-sandbox/firewall"
	"github.com/org/claude-sandbox/internal/jsonc"
)

// networkSection reads "network" as written. Whether its entries mean
// something is for the firewall to say.
func (d *decoder) networkSection(n *jsonc.Node, network *firewall.Network) {
	list := func(name string, to *[]string) func(*jsonc.Node) {
		return func(n *jsonc.Node) {
			*to = []string{} // a list that is there and empty is not the same as none
			for _, e := range d.list(n) {
				*to = append(*to, e.text)
				d.places[name] = append(d.places[name], e.place)
			}
		}
	}
	one := func(name string, to *string) func(*jsonc.Node) {
		return func(n *jsonc.Node) {
			d.text(n, to)
			d.places[name] = []place{d.placeOf(n)}
		}
	}
	d.object(n, fields{
		"mode":    one("mode", (*string)(&network.Mode)),
		"presets": list("presets", &network.Presets),
		"allow":   list("allow", &network.Allow),
		"deny":    list("deny", &network.Deny),
		"private": list("private", &network.Private),
		"guard":   one("guard", (*string)(&network.Guard)),
		"inbound": func(n *jsonc.Node) {
			d.each(n, func(e *jsonc.Node) {
				if !d.want(e, jsonc.Number, "a port number") {
					return
				}
				port, err := strconv.Atoi(e.Text)
				if err != nil {
					d.wrongType(e, "a whole number")
					return
				}
				network.Inbound = append(network.Inbound, port)
				d.places["inbound"] = append(d.places["inbound"], d.placeOf(e))
			})
		},
	})
}

// policy asks the firewall for a policy and places its complaints; nil when the
// network is none.
func (d *decoder) policy(network firewall.Network) *firewall.Policy {
	policy, bad := firewall.NewPolicy(network)
	for _, e := range bad {
		d.at(d.placeOfEntry(e), RuleNetwork, e.Error(), e.Hint)
	}
	if policy == nil {
		return nil
	}
	for _, e := range policy.Review() {
		d.warn(d.placeOfEntry(e), RuleReview, e.Error(), e.Hint)
	}
	return policy
}

func (d *decoder) placeOfEntry(e firewall.EntryError) place {
	if places := d.places[e.List]; e.Index < len(places) {
		return places[e.Index]
	}
	return place{doc: d.doc, pointer: "/network"}
}
