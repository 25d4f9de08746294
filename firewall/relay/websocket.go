package relay

import (
	"crypto/sha1" //nolint:gosec // the protocol's; it protects nothing here
	"encoding/base64"
	"net/http"
	"strings"

	"golang.org/x/net/http/httpguts"
)

// checkWebSocket refuses a request to leave HTTP for anything but a WebSocket, in the
// one form that RFC 6455 section 4.1 has.
func checkWebSocket(r *http.Request) *unread {
	field := func(name string) string {
		if values := r.Header[name]; len(values) == 1 {
			return values[0]
		}
		return ""
	}
	key, err := base64.StdEncoding.DecodeString(field("Sec-Websocket-Key"))
	switch {
	case !strings.EqualFold(field("Upgrade"), "websocket"):
		return unreadable("the request asks to leave HTTP for %q", strings.Join(r.Header["Upgrade"], ", "))
	case r.ProtoMajor != 1 || r.Method != http.MethodGet || !httpguts.HeaderValuesContainsToken(r.Header["Connection"], "upgrade"),
		err != nil || len(key) != 16, field("Sec-Websocket-Version") != "13":
		return unreadable("the request for a WebSocket is not in its form")
	}
	return nil
}

// agreesToWebSocket reports whether a response begins the WebSocket that the request
// asks for: it answers its key (section 4.2.2).
func agreesToWebSocket(res *http.Response) bool {
	sum := sha1.Sum([]byte(res.Request.Header.Get("Sec-Websocket-Key") + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"))
	accepts, upgrades := res.Header["Sec-Websocket-Accept"], res.Header["Upgrade"]
	return len(upgrades) == 1 && strings.EqualFold(upgrades[0], "websocket") &&
		len(accepts) == 1 && accepts[0] == base64.StdEncoding.EncodeToString(sum[:])
}
