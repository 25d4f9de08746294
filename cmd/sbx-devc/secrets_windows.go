package main

// hidden leaves it to hideKeys: Windows shows the environment of a process to
// those alone who may read its memory, and that changes with the variable.
func hidden() (keys, error) { return nil, nil }
