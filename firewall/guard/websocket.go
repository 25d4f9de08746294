package guard

import (
	"bytes"
	"crypto/sha1"
	"encoding/base64"
	"strings"
)

// switchBegins is what a reply begins with by which a server leaves HTTP.
const switchBegins = "HTTP/1.1 101 "

// agreesToWebSocket reports whether a reply's whole head, as headEnd cuts it,
// ends HTTP on the connection: it answers the request's Sec-WebSocket-Key (RFC
// 6455 section 4.2.2). The status alone says little: there are sites that answer
// with whatever status one asks for, and go on in HTTP.
func agreesToWebSocket(head []byte, key string) bool {
	lines := strings.Split(string(bytes.TrimSuffix(head, []byte("\r\n\r\n"))), "\r\n")
	if !strings.HasPrefix(lines[0], switchBegins) {
		return false
	}
	var upgrades, accepts []string
	for _, line := range lines[1:] {
		name, value, err := parseField(line)
		switch {
		case err != nil:
			return false
		case strings.EqualFold(name, "Upgrade"):
			upgrades = append(upgrades, strings.ToLower(value))
		case strings.EqualFold(name, "Sec-WebSocket-Accept"):
			accepts = append(accepts, value)
		}
	}
	return len(upgrades) == 1 && upgrades[0] == "websocket" && len(accepts) == 1 && accepts[0] == acceptFor(key)
}

// acceptFor is the Sec-WebSocket-Accept for a Sec-WebSocket-Key.
func acceptFor(key string) string {
	sum := sha1.Sum([]byte(key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"))
	return base64.StdEncoding.EncodeToString(sum[:])
}
