package app

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// TokenFile is the file in the data folder that keeps the admin token.
const TokenFile = "admin-token"

const (
	minToken = 16
	maxToken = 512
)

// ReadAdminToken reads the admin token that a server keeps in its data folder.
func ReadAdminToken(data string) (string, error) {
	path := filepath.Join(data, TokenFile)
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	raw, err := io.ReadAll(io.LimitReader(f, maxToken+2))
	if err != nil {
		return "", err
	}
	token := strings.TrimSpace(string(raw))
	if !validToken(token) {
		return "", fmt.Errorf("%s does not hold a token (%d to %d visible ASCII characters): remove the file and a new one is made at the next start",
			path, minToken, maxToken)
	}
	return token, nil
}

// keepAdminToken returns the token of the data folder, and makes it on first
// start. Only the owner may read the file. Of two processes that make one at the
// same time, one does, and the other reads it.
func keepAdminToken(data string) (token string, made bool, err error) {
	token, err = ReadAdminToken(data)
	if !errors.Is(err, fs.ErrNotExist) {
		return token, false, err
	}
	token = rand.Text() + rand.Text()
	err = os.MkdirAll(data, 0o700)
	if err == nil {
		err = writeOnce(filepath.Join(data, TokenFile), token+"\n")
	}
	switch {
	case errors.Is(err, fs.ErrExist):
		token, err = ReadAdminToken(data)
		return token, false, err
	case err != nil:
		return "", false, fmt.Errorf("the admin token cannot be kept: %w: name a folder that can be written with --data, or give --admin-token", err)
	}
	return token, true, nil
}

// writeOnce writes a file that is there as a whole or not at all, unless there
// is one already.
func writeOnce(path, content string) error {
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+"-*") // 0600
	if err != nil {
		return err
	}
	_, err = f.WriteString(content)
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = os.Link(f.Name(), path) // which, unlike a rename, never takes a file's place
	}
	return errors.Join(err, os.Remove(f.Name()))
}

func validToken(s string) bool {
	return len(s) >= minToken && len(s) <= maxToken && visible(s)
}

// visible says that a text is ASCII without spaces and control characters.
func visible(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r > '~' })
}
