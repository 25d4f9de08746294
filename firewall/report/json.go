package report

import (
	"encoding/json"
	"io"
	"time"
)

// WriteJSON prints the report in its versioned JSON form.
func (r *Report) WriteJSON(w io.Writer) error {
	rows := r.Rows
	if rows == nil {
		rows = []Row{} // an empty list, never null
	}
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(struct {
		SchemaVersion int       `json:"schemaVersion"`
		From          time.Time `json:"from,omitzero"` // of the first and the last record
		To            time.Time `json:"to,omitzero"`
		Rows          []Row     `json:"rows"`
	}{1, r.from, r.to, rows})
}
