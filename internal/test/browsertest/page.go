package browsertest

import (
	"encoding/base64"
	"encoding/json"
	"os"
	"path/filepath"
	"time"
)

// View is what a page is looked at with.
type View struct {
	Width, Height int  // CSS pixels
	Dark          bool // the person prefers dark colours
	Print         bool // on paper
}

// Page is an open page.
type Page struct {
	b       *Browser
	session string

	// Guarded by b.mu.
	loaded     chan struct{}
	complaints []string
}

// Open shows a file and returns when it is loaded.
func (b *Browser) Open(file string, v View) *Page {
	b.t.Helper()
	file, err := filepath.Abs(file)
	if err != nil {
		b.t.Fatal(err)
	}
	var target struct{ TargetID string }
	b.call("", "Target.createTarget", map[string]any{"url": "about:blank"}, &target)
	var attached struct{ SessionID string }
	b.call("", "Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true}, &attached)
	p := &Page{b: b, session: attached.SessionID, loaded: make(chan struct{})}
	b.mu.Lock()
	b.events = p.event
	b.mu.Unlock()
	for _, domain := range []string{"Page", "Runtime", "Log", "Network"} {
		p.call(domain+".enable", nil, nil)
	}
	p.call("Emulation.setDeviceMetricsOverride",
		map[string]any{"width": v.Width, "height": v.Height, "deviceScaleFactor": 1, "mobile": v.Width < 600}, nil)
	scheme := "light"
	if v.Dark {
		scheme = "dark"
	}
	media := ""
	if v.Print {
		media = "print"
	}
	p.call("Emulation.setEmulatedMedia",
		map[string]any{"media": media, "features": []map[string]string{{"name": "prefers-color-scheme", "value": scheme}}}, nil)
	p.call("Page.navigate", map[string]any{"url": "file://" + file}, nil)
	select {
	case <-p.loaded:
	case <-time.After(timeout):
		b.t.Fatalf("the browser did not load %s", file)
	}
	return p
}

func (p *Page) call(method string, params map[string]any, into any) {
	p.b.t.Helper()
	p.b.call(p.session, method, params, into)
}

// event takes note of what the browser says about the page; b.mu is held.
func (p *Page) event(session, method string, params json.RawMessage) {
	if session != p.session {
		return
	}
	switch method {
	case "Page.loadEventFired":
		close(p.loaded)
	case "Log.entryAdded", "Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Page.javascriptDialogOpening":
		p.complaints = append(p.complaints, method+" "+string(params))
	case "Network.requestWillBeSent":
		var sent struct{ Request struct{ URL string } }
		if json.Unmarshal(params, &sent) == nil && filepath.Ext(sent.Request.URL) != ".html" {
			p.complaints = append(p.complaints, "asks for "+sent.Request.URL)
		}
	}
}

// Complaints returns what the browser had to say: errors, violations of the
// content security policy, console output, dialogs, and requests for anything
// but the page.
func (p *Page) Complaints() []string {
	p.Eval("new Promise(done => requestAnimationFrame(() => setTimeout(done)))", nil)
	p.b.mu.Lock()
	defer p.b.mu.Unlock()
	return append([]string(nil), p.complaints...)
}

// Eval evaluates an expression in the page; into receives its value unless nil.
// A promise is waited for.
func (p *Page) Eval(expression string, into any) {
	p.b.t.Helper()
	var reply struct {
		Result           struct{ Value json.RawMessage }
		ExceptionDetails json.RawMessage
	}
	p.call("Runtime.evaluate", map[string]any{"expression": expression, "returnByValue": true, "awaitPromise": true}, &reply)
	if reply.ExceptionDetails != nil {
		p.b.t.Fatalf("%s: %s", expression, reply.ExceptionDetails)
	}
	if into == nil {
		return
	}
	if err := json.Unmarshal(reply.Result.Value, into); err != nil {
		p.b.t.Fatalf("%s: %s: %v", expression, reply.Result.Value, err)
	}
}

// Type types text into the element that has the focus.
func (p *Page) Type(text string) {
	p.b.t.Helper()
	p.call("Input.insertText", map[string]any{"text": text}, nil)
}

// Press presses a key that has no text, such as Tab.
func (p *Page) Press(key string, code int) {
	p.b.t.Helper()
	for _, kind := range []string{"rawKeyDown", "keyUp"} {
		p.call("Input.dispatchKeyEvent", map[string]any{"type": kind, "key": key, "code": key, "windowsVirtualKeyCode": code}, nil)
	}
}

// Node is what a screen reader is told of an element.
type Node struct{ Role, Name string }

// Nodes returns the page as screen readers have it, in order.
func (p *Page) Nodes() []Node {
	p.b.t.Helper()
	type value struct{ Value any }
	var tree struct {
		Nodes []struct {
			Ignored    bool
			Role, Name value
		}
	}
	p.call("Accessibility.getFullAXTree", nil, &tree)
	var nodes []Node
	for _, n := range tree.Nodes {
		role, _ := n.Role.Value.(string)
		name, _ := n.Name.Value.(string)
		if !n.Ignored {
			nodes = append(nodes, Node{role, name})
		}
	}
	return nodes
}

// Screenshot writes a picture of the whole page, in PNG.
func (p *Page) Screenshot(file string) {
	p.b.t.Helper()
	var shot struct{ Data string }
	p.call("Page.captureScreenshot", map[string]any{"format": "png", "captureBeyondViewport": true}, &shot)
	picture, err := base64.StdEncoding.DecodeString(shot.Data)
	if err == nil {
		err = os.WriteFile(file, picture, 0o644)
	}
	if err != nil {
		p.b.t.Fatal(err)
	}
}
