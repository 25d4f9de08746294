package firewall

// Mode says how the sandbox's network is restricted.
type Mode string

// The modes, from the narrowest to the widest.
const (
	ModeNone      Mode = "none"      // loopback only
	ModeAllowlist Mode = "allowlist" // what the allowlist names; the default
	ModeAudit     Mode = "audit"     // the whole internet, recorded, to learn what the allowlist lacks
	ModeHost      Mode = "host"      // no firewall at all
)

// Guard says what connections to learned addresses on the web's ports are asked.
type Guard string

// The guards.
const (
	GuardSNI Guard = "sni" // the site that they are for, in TLS and in HTTP/1; the default
	GuardOff Guard = "off" // nothing: an address that one name opened is open for every site on it
)

// Network is the "network" section of sandbox.jsonc as written, before any
// entry is understood. The zero value means mode allowlist with an empty list.
type Network struct {
	Mode    Mode     `json:"mode,omitempty"`
	Presets []string `json:"presets,omitempty"`
	Allow   []string `json:"allow,omitempty"`
	Deny    []string `json:"deny,omitempty"`
	Private []string `json:"private,omitempty"`
	Guard   Guard    `json:"guard,omitempty"`
	Inbound []int    `json:"inbound,omitempty"`
}

// EntryError says which entry of a Network cannot be used and why. The caller
// that read the file turns List and Index into a position.
type EntryError struct {
	List    string // "mode", "presets", "allow", "deny", "private", "guard" or "inbound"
	Index   int    // 0-based place in the list; 0 for mode and guard
	Message string // what is wrong; lower case, no full stop
	Hint    string // how to correct it; may be empty
}

func (e EntryError) Error() string {
	return "network." + e.List + ": " + e.Message
}
