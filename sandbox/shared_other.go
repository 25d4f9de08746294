//go:build !linux

package sandbox

func fileIDOf(string) (fileID, error) { return fileID{}, nil }
