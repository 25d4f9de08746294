package settings

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/org/claude-sandbox/internal/jsonc"
)

// Extend returns the text of the user's own settings with more in it: the network's lists,
// Instructions, Env and MCP.Servers of more, and the model. Everything that is there stays
// byte for byte, and wins: a variable, a server and a model that the file has are not
// changed. A second call changes nothing. It errs when src is no valid settings file, or
// the result would not be one.
func Extend(file string, src []byte, more Settings, model string, read FileReader) ([]byte, error) {
	var own Own
	before, findings := parse(file, src, read, &own)
	if before == nil {
		return nil, fmt.Errorf("%s:%d:%d: %s", file, findings[0].Line, findings[0].Column, findings[0].Message)
	}
	e := editor{file: file, src: src}
	list := func(pointer, parent, name string, have, want []string) {
		for _, entry := range want {
			if !holds(have, entry) {
				have = append(have, entry)
				e.element(pointer, parent, name, jsonc.Quote(entry))
			}
		}
	}
	if own.Model == "" && model != "" {
		e.member("", "model", jsonc.Quote(model))
		e.edits++
	}
	list("/instructions", "", "instructions", before.Instructions, more.Instructions)
	old := listsOf(before.Network).all()
	for i, l := range listsOf(more.Network).all() {
		if len(l.entries) > 0 {
			e.member("", "network", "{\n}")
			list("/network/"+l.name, "/network", l.name, old[i].entries, l.entries)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(more.Env)) {
		if _, has := before.Env[name]; !has {
			e.member("", "env", "{\n}")
			e.member("/env", name, jsonc.Quote(more.Env[name]))
			e.edits++
		}
	}
	for _, s := range more.MCP.Servers {
		if !slices.ContainsFunc(before.MCP.Servers, func(b MCPServer) bool { return b.Name == s.Name }) {
			e.member("", "mcp", "{\n}")
			e.element("/mcp/servers", "/mcp", "servers", serverText(s))
		}
	}
	if e.err != nil {
		return nil, fmt.Errorf("changing %s: %w", file, e.err)
	}
	if e.edits == 0 {
		return src, nil
	}
	if after, findings := parse(file, e.src, read, &own); after == nil {
		return nil, fmt.Errorf("changing %s: the result would not be valid: %s", file, findings[0].Message)
	}
	return e.src, nil
}

// element adds an element to the array name of the object at parent, which is made where it
// lacks.
func (e *editor) element(pointer, parent, name, text string) {
	e.member(parent, name, "[\n]")
	e.change(func(d *jsonc.Document) []jsonc.Edit { return d.AddElement(d.Root.Find(pointer), text) })
}

// serverText is a server as the file has it, on one line.
func serverText(s MCPServer) string {
	text, _ := json.Marshal(struct { // of texts: never fails
		Name    string            `json:"name"`
		Command string            `json:"command"`
		Args    []string          `json:"args,omitempty"`
		Env     map[string]string `json:"env,omitempty"`
	}{s.Name, s.Command, s.Args, s.Env})
	return string(text)
}
