// Package credproxy is the proxy on the host that holds the model API's
// credential. The agent reaches it through internal/tunnel with a session
// token that is worth nothing elsewhere; the proxy checks the token, lets
// through exactly the calls below and adds the real credential on the way out.
//
//	agent ── session token ──► Proxy ── credential ──► api.anthropic.com
//	                             │  POST /v1/messages[?beta=true]
//	                             │  POST /v1/messages/count_tokens[?beta=true]
//	                             │  HEAD /api/hello: answered here
//	                             ├──────────────────────────────► Options.Providers, each with its key
//	                             │  POST /providers/NAME/chat/completions, …/embeddings
//	                             ├─► Options.Log, one Entry a request
//	                             ├─► Usage, CostUSD: tokens as the API reports them, and their price
//	                             ├─► LastAnswer: how the model's newest answer to Claude ended
//	                             └─► Reached: the limit for which requests are refused
//
// Why it is shaped as it is:
//
//   - Requests are built anew from an allowlist of headers. Anything that the agent
//     sends besides (credentials, Proxy-*, Forwarded) does not exist upstream.
//   - Paths are compared in their escaped form, byte for byte, so no reading
//     of "..", "//" or "%2f" by anybody downstream matters.
//   - Bodies are read strictly, by a list of members and types in their exact
//     spelling (messages.go). All else is refused: the
//     provider fetches no pages, files or images, calls no MCP servers and runs
//     no code for the agent, and only known values of Anthropic-Beta pass.
//   - Bodies are checked in place, as text, and their memory is bounded together
//     (memory.go): the agent writes them, and this process supervises it.
//   - Answers are read while they pass (answer.go). The agent's words about its
//     result, its turns and its cost can then be compared.
//   - The upstream is fixed and redirects are refused: the credential goes to
//     one origin.
//   - With Options.Patience an overloaded upstream is asked again before the agent hears a
//     byte (outage.go): Claude Code gives a 529 up within seconds, and a CI job with it.
//   - Answers pass through a filter that blanks the credential, should the
//     upstream echo it. Compressed answers could hide it and are not asked for.
//   - No body and no credential is ever logged.
package credproxy
