package main

import (
	"net"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"rushgate/internal/binary"
	"rushgate/internal/testenv"
)
