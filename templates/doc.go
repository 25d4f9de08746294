// Package templates holds the dev container Templates that sbx-devc init
// writes, in the standard collection layout (src/ID/devcontainer-template.json
// and src/ID/.devcontainer), and renders them.
//
//	embedded src/ -> Load(id) -> Template -> Render(options) -> []File ─┐
//	           project folder -> Observe -> Facts -> Adapt ─────────────┤
//	                                                                    └-> WriteFiles (all or nothing)
//
// The standard replaces ${templateOption:x} in raw text, so a quote in a value
// breaks the file or smuggles something into it. Here a value is escaped for
// JSON, refused elsewhere, and the result is the caller's to validate before
// it is written.
package templates
