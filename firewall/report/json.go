package report

import (
	"bytes"
	"encoding/json"
	"io"
	"time"

	"github.com/org/claude-sandbox/firewall"
	"github.com/org/claude-sandbox/firewall/audit"
)

// WriteJSON prints the report in its versioned JSON form.
func (r *Report) WriteJSON(w io.Writer) error {
	rows := r.Rows
	if rows == nil {
		rows = []Row{} // an empty list, never null
	}
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	err := enc.Encode(struct {
		SchemaVersion int       `json:"schemaVersion"`
		From          time.Time `json:"from,omitzero"` // of the first and the last record
		To            time.Time `json:"to,omitzero"`
		Unwatched     bool      `json:"unwatched,omitempty"` // there was no firewall: what is not here may have happened all the same
		Rows          []Row     `json:"rows"`
		Keys          []Key     `json:"keys,omitempty"`
	}{1, r.from, r.to, r.mode == firewall.ModeHost, rows, r.Keys})
	if err != nil {
		return err
	}
	_, err = w.Write(audit.EscapeJSON(text.Bytes()))
	return err
}
