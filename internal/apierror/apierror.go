// Package apierror writes errors in the shape of the Messages API, so that
// Claude Code shows their text to the user instead of a parse failure.
//
//	refusal in credproxy | dead stream in tunnel | scripted error in fakeapi
//	        -> Write(w, status, kind, message) -> {"type":"error","error":{…}}
package apierror

import (
	"encoding/json"
	"net/http"
)

// Kind is the error.type of the Messages API.
type Kind string

// The kinds that the API documents, with the status each belongs to.
const (
	InvalidRequest Kind = "invalid_request_error" // 400
	Authentication Kind = "authentication_error"  // 401
	Billing        Kind = "billing_error"         // 402
	Permission     Kind = "permission_error"      // 403
	NotFound       Kind = "not_found_error"       // 404
	TooLarge       Kind = "request_too_large"     // 413
	RateLimit      Kind = "rate_limit_error"      // 429
	API            Kind = "api_error"             // 500 and other server errors
	Overloaded     Kind = "overloaded_error"      // 529
)

// Write answers with status and an error body of the given kind. The message
// must hold no secret: it is shown to the agent and lands in its transcript.
func Write(w http.ResponseWriter, status int, kind Kind, message string) {
	type detail struct {
		Type    Kind   `json:"type"`
		Message string `json:"message"`
	}
	body, err := json.Marshal(struct {
		Type  string `json:"type"`
		Error detail `json:"error"`
	}{"error", detail{kind, message}})
	if err != nil { // two strings always marshal
		panic(err)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(body) // a client that left is not our error
}
