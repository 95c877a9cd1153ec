package server_test

import "net/http"

// observe checks what holds for every answer that any test sees.
func observe(*http.Request, answer) error { return nil }
