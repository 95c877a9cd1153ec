package testenv

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"time"
)

// ask sends one command to a Redis on a connection of its own and returns the
// answer as text: an array gives a line for each element. A client library
// would hide what is to be seen here, as it asks again and follows redirections.
func ask(addr, password string, words ...string) (string, error) {
	return converse(addr, password, words)
}

// exchange is how long one exchange with a Redis may take: longer than it is asked
// to wait for its replicas.
const exchange = 30 * time.Second

// converse sends several commands, one after the other, and returns the answer to
// the last one.
func converse(addr, password string, commands ...[]string) (answer string, err error) {
	conn, err := net.DialTimeout("tcp", addr, exchange/3)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(exchange)); err != nil {
		return "", err
	}
	answers := bufio.NewReader(conn)
	if password != "" {
		commands = append([][]string{{"AUTH", password}}, commands...)
	}
	for _, words := range commands {
		if answer, err = question(conn, answers, words...); err != nil {
			return "", err
		}
	}
	return answer, nil
}

func question(conn io.Writer, answers *bufio.Reader, words ...string) (string, error) {
	var b strings.Builder
	fmt.Fprintf(&b, "*%d\r\n", len(words))
	for _, w := range words {
		fmt.Fprintf(&b, "$%d\r\n%s\r\n", len(w), w)
	}
	if _, err := io.WriteString(conn, b.String()); err != nil {
		return "", err
	}
	answer, err := answer(answers)
	if err != nil {
		return "", fmt.Errorf("%s: %w", words[0], err)
	}
	return answer, nil
}

// answer reads one value of the protocol (RESP 2).
func answer(r *bufio.Reader) (string, error) {
	line, err := r.ReadString('\n')
	if err != nil {
		return "", err
	}
	if line = strings.TrimRight(line, "\r\n"); line == "" {
		return "", errors.New("an empty answer")
	}
	kind, text := line[0], line[1:]
	switch kind {
	case '+', ':':
		return text, nil
	case '-':
		return "", errors.New(text)
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		return "", fmt.Errorf("answer %q: %w", line, err)
	}
	if kind == '*' {
		return elements(r, n)
	}
	if n < 0 {
		return "", nil // there is no such thing
	}
	bulk := make([]byte, n+len("\r\n"))
	_, err = io.ReadFull(r, bulk)
	return string(bulk[:n]), err
}

func elements(r *bufio.Reader, n int) (string, error) {
	var lines []string
	for range n {
		line, err := answer(r)
		if err != nil {
			return "", err
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n"), nil
}
