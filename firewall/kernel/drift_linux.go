package kernel

import (
	"fmt"

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
	generation, err = k.lister.askNumber(unix.NFNL_SUBSYS_NFTABLES<<8|unix.NFT_MSG_GETGEN, unix.NFTA_GEN_ID)
	if err != nil {
		return 0, false, fmt.Errorf("asking for the generation of the rules: %w", err)
	}
	return generation, true, nil
}
