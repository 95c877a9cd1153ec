package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"time"
)

// adminToken is that of every Rushgate that is measured.
const adminToken = "bench-bench-bench-bench-bench-bench"

// saleID and itemID name what is sold.
const (
	saleID = "bench"
	itemID = "black-128"
)

// rushgate starts the server as a user would, with the flags of the scenario,
// and makes a sale as shops make it: one unit for each user, held for 15 minutes.
func (s *server) rushgate(ctx context.Context, b *bench, stock int64, flags []string) error {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	addr := listener.Addr().String()
	listener.Close() // the server takes the port next; if somebody else does, it says so
	args := append([]string{"serve", "--listen", addr, "--data", filepath.Join(s.data, "ledger"), "--admin-token", adminToken}, flags...)
	c, err := start(s.system, s.data, filepath.Join(b.bin, "rushgate"), args...)
	if err != nil {
		return err
	}
	s.own(c)
	s.url, s.token = "http://"+addr, adminToken
	if err := c.until(func() bool { return s.call(ctx, http.MethodGet, "/readyz", nil) == nil }); err != nil {
		return err
	}
	return s.call(ctx, http.MethodPost, "/v1/sales", map[string]any{"id": saleID, "name": "Bench", "per_user": 1, "hold": "15m",
		"items": []map[string]any{{"id": itemID, "name": "Black 128 GB", "stock": stock}}})
}

// call makes one request of an operator.
func (s *server) call(ctx context.Context, method, path string, body any) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	encoded, err := json.Marshal(body)
	if err != nil {
		return err
	}
	r, err := http.NewRequestWithContext(ctx, method, s.url+path, bytes.NewReader(encoded))
	if err != nil {
		return err
	}
	r.Header.Set("Authorization", "Bearer "+s.token)
	r.Header.Set("Content-Type", "application/json")
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode >= 300 {
		said, _ := io.ReadAll(io.LimitReader(answer.Body, 1<<10)) // for the message only
		return fmt.Errorf("%s %s: %s: %s", method, path, answer.Status, said)
	}
	return nil
}
