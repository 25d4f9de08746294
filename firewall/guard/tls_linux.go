package guard

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/netip"
	"time"
)

// helloRetry is the random of a ServerHello that asks for a second ClientHello
// (RFC 8446 section 4.1.3).
var helloRetry = []byte{
	0xcf, 0x21, 0xad, 0x74, 0xe5, 0x9a, 0x61, 0x11, 0xbe, 0x1d, 0x8c, 0x02, 0x1e, 0x65, 0xb8, 0x91,
	0xc2, 0xa2, 0x11, 0x16, 0x7a, 0xbb, 0x8c, 0x5e, 0x07, 0x9e, 0x09, 0xe2, 0xc8, 0xa8, 0x33, 0x9c,
}

// serveTLS judges the name of the ClientHello and joins both sides.
func (c *conn) serveTLS(ctx context.Context) error {
	name, size, err := c.readHello(&flight{})
	var unread *refusal
	if (errors.As(err, &unread) || err == nil && !c.opens(name)) && c.openByAddress() {
		return c.serveAddress(ctx, name)
	}
	if err != nil {
		return err
	}
	addrs, err := c.judge(ctx, name)
	if err != nil {
		return err
	}
	if c.opened {
		return c.relay(ctx, name)
	}
	retry, err := c.sendHello(ctx, addrs, size)
	if err != nil {
		return err
	}
	if retry {
		if err := c.secondHello(name); err != nil {
			return err
		}
	}
	c.settle()
	return c.carry(c.noOtherHello)
}

// sendHello connects, passes the hello of so many bytes on and reports whether
// the site asks for a second one.
func (c *conn) sendHello(ctx context.Context, addrs []netip.Addr, size int) (bool, error) {
	defer c.watch()()
	if err := c.dial(ctx, addrs); err != nil {
		return false, err
	}
	// Bytes behind it wait: they could be a second hello already.
	if err := c.client.pass(c.upstream, size); err != nil {
		return false, err
	}
	return c.answerIsRetry()
}

// readHello reads a whole ClientHello, which then lies in the client's buffer
// with whatever came behind it. It returns the name and the bytes it took.
func (c *conn) readHello(f *flight) (name string, length int, err error) {
	added := 0
	for {
		done, err := f.add(c.client.buf[added:], 0)
		added = len(c.client.buf)
		if err != nil {
			return "", 0, &refusal{rule: ruleGuard, why: "the ClientHello cannot be read: " + err.Error(), alert: alertDecodeError}
		}
		if done {
			break
		}
		if err := c.more(); err != nil {
			return "", 0, c.unfinished(err, "the ClientHello")
		}
	}
	name, err = parseHello(f.message)
	if err != nil {
		return "", 0, &refusal{rule: ruleGuard, why: err.Error(), alert: alertUnrecognizedName}
	}
	return name, f.parsed, nil
}

// answerIsRetry passes the server's first bytes on to the client and reports
// whether they ask for a second ClientHello. Until then nothing of the client
// is passed on: a second hello could name another site, and some servers heed
// that.
func (c *conn) answerIsRetry() (bool, error) {
	if err := c.upstream.SetDeadline(time.Now().Add(c.server.opts.Timeout)); err != nil {
		return false, err
	}
	const upToRandom = 4 + 2 + 32 // message header, version
	// A warning may precede the ServerHello (RFC 6066 section 3).
	f := &flight{skip: func(kind byte) bool { return kind == recordAlert }}
	up := stream{TCPConn: c.upstream}
	for {
		switch err := up.fill(); {
		case errors.Is(err, io.EOF):
			return false, nil // an alert at most; carry passes the end on
		case err != nil:
			return false, err
		}
		done, err := f.add(up.buf, upToRandom)
		if passErr := up.pass(c.client, len(up.buf)); passErr != nil {
			return false, passErr
		}
		switch {
		case errors.Is(err, errNotTLS):
			// A server that is not TLS could hear something else than TLS next.
			return false, &refusal{name: c.sites[0].name, rule: ruleGuard, why: "the site does not answer in TLS", alert: alertAccessDenied}
		case err != nil:
			return false, err
		case done:
			return f.message[0] == messageServerHello && bytes.Equal(f.message[6:upToRandom], helloRetry), nil
		}
	}
}

// secondHello lets the client's second hello pass when it names the same site.
func (c *conn) secondHello(name string) error {
	f := &flight{skip: func(kind byte) bool {
		// RFC 8446 appendix D.4, and early data of the first hello.
		return kind == recordChangeCipherSpec || kind == recordApplicationData
	}}
	if err := c.awaitWords(); err != nil {
		return err
	}
	again, size, err := c.readHello(f)
	if err != nil {
		return err
	}
	if again != name {
		return &refusal{name: again, rule: ruleGuard, why: "the second ClientHello names " + again + ", the first one " + name,
			alert: alertIllegalParameter}
	}
	return c.client.pass(c.upstream, size)
}

// noOtherHello refuses a further ClientHello in the clear, which no version of
// TLS has in this place. Servers of the time of step-up cryptography began anew
// with it, and so with its name. It looks at the client's next record that is no
// alert; what comes behind that is encrypted.
func (c *conn) noOtherHello() error {
	const header = 5
	alerts := 0
	for {
		rest := c.client.buf[min(alerts, len(c.client.buf)):]
		switch {
		case len(rest) > 0 && rest[0] == recordAlert && len(rest) >= header:
			alerts += header + (int(rest[3])<<8 | int(rest[4]))
			if alerts > maxHello {
				return errNotTLS
			}
			continue
		case len(rest) >= header && rest[3] == 0 && rest[4] == 0:
			return &refusal{name: c.sites[0].name, rule: ruleGuard,
				why: "an empty record follows the ClientHello, and servers may overlook a second one behind it"}
		case len(rest) >= header && rest[0] != recordHandshake:
			return nil
		case len(rest) > header:
			if rest[header] == messageClientHello {
				return &refusal{name: c.sites[0].name, rule: ruleGuard, why: "another ClientHello follows, which no server asked for"}
			}
			return nil
		}
		switch err := c.more(); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
	}
}
