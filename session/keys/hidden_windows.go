package keys

// hidden leaves it to Hide: Windows shows the environment of a process to
// those alone who may read its memory, and that changes with the variable.
func hidden([]string) (Keys, error) { return nil, nil }
