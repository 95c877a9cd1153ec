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
// start. Only the owner may read the file. Whoever calls holds the lock of the
// folder, so that no two processes make one.
func keepAdminToken(data string) (token string, made bool, err error) {
	token, err = ReadAdminToken(data)
	if !errors.Is(err, fs.ErrNotExist) {
		return token, false, err
	}
	token = rand.Text() + rand.Text()
	path := filepath.Join(data, TokenFile)
	if err := writeDurably(path, token+"\n"); err != nil {
		return "", false, fmt.Errorf("the admin token cannot be kept: %w", err)
	}
	return token, true, nil
}

// writeDurably writes a file that is there as a whole or not at all.
func writeDurably(path, content string) error {
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+"-*") // 0600
	if err != nil {
		return err
	}
	_, err = f.WriteString(content)
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}

func validToken(s string) bool {
	return len(s) >= minToken && len(s) <= maxToken &&
		!strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r > '~' })
}
