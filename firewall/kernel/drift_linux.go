package kernel

import (
	"encoding/binary"
	"fmt"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// Generation is a number that the kernel changes with every change of the
// namespace's nft rules, whoever made it: while it stays the same, the
// rules are as they were and need not be listed. ok is false with the legacy backend, which
// has no such number.
func (k *Kernel) Generation() (generation uint32, ok bool, err error) {
	if k.backend != NFT {
		return 0, false, nil
	}
	if err := k.here(); err != nil {
		return 0, false, err
	}
	req := nl.NewNetlinkRequest(unix.NFNL_SUBSYS_NFTABLES<<8|unix.NFT_MSG_GETGEN, 0)
	req.AddData(&nl.Nfgenmsg{NfgenFamily: unix.AF_UNSPEC, Version: nl.NFNETLINK_V0})
	replies, err := req.Execute(unix.NETLINK_NETFILTER, 0)
	if err != nil {
		return 0, false, fmt.Errorf("asking for the generation of the rules: %w", err)
	}
	for _, reply := range replies {
		attrs, err := nl.ParseRouteAttr(reply[min(nl.SizeofNfgenmsg, len(reply)):])
		if err != nil {
			return 0, false, fmt.Errorf("asking for the generation of the rules: %w", err)
		}
		for _, a := range attrs {
			if a.Attr.Type == unix.NFTA_GEN_ID && len(a.Value) == 4 {
				return binary.BigEndian.Uint32(a.Value), true, nil
			}
		}
	}
	return 0, false, fmt.Errorf("asking for the generation of the rules: the kernel's reply holds none")
}
