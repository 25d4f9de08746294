package firewall

// ChainLoopback keeps packets for loopback addresses on loopback.
const ChainLoopback = "SBX-LO" // mangle

// mangle is the table that is judged before and after the others.
func (r rules) mangle() Table {
	t := Table{Name: "mangle", Chains: []Chain{r.loopback()}, Jumps: []Jump{{"POSTROUTING", ChainLoopback}}}
	if r.facts.Queue {
		t.Chains = append(t.Chains, r.hold()...)
		t.Jumps = append(t.Jumps, Jump{"OUTPUT", ChainHold})
	}
	return t
}

// loopback drops what is addressed to loopback and would leave by another
// interface. A program without any privilege can bind its socket to one
// (SO_BINDTODEVICE, IP_PKTINFO), and then "-d 127.0.0.0/8 -j ACCEPT" would let
// its payload out to whoever sits on the link, and the nat table's REDIRECT
// would send its DNS queries there too.
//
// It has to be POSTROUTING: in OUTPUT a packet that the nat table has led to
// loopback still shows the interface of its old destination.
func (r rules) loopback() Chain {
	return Chain{ChainLoopback, []Rule{
		{"-d " + r.family.loopback.String() + " ! -o lo -j DROP", "loopback addresses do not leave the machine, whatever a socket is bound to"},
	}}
}
