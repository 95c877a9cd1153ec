module rushgate

go 1.26.0

require (
	github.com/go-jose/go-jose/v4 v4.1.8 // indirect
	github.com/go-json-experiment/json v0.0.0-20260820222146-c27c302e5fc3 // indirect
	github.com/prometheus/client_golang v1.25.0 // indirect
)
