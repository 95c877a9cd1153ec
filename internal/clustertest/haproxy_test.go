package clustertest

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"rushgate/internal/fleet"
)

// haproxy is the real balancer, with the configuration of deploy/.
type haproxy struct {
	t      *testing.T
	url    string
	socket string // on which it is told where the nodes are
}

// proxied puts HAProxy in front of the nodes that run now.
func (c *cluster) proxied() *haproxy {
	t := c.t
	t.Helper()
	path, err := exec.LookPath("haproxy")
	if err != nil {
		path = "/usr/sbin/haproxy" // where Debian has it, outside the path of most users
	}
	front, err := net.Listen("tcp", "127.0.0.1:0") // HAProxy takes it over: nobody else can have the port
	if err != nil {
		t.Fatal(err)
	}
	file, err := front.(*net.TCPListener).File()
	if err != nil {
		t.Fatal(err)
	}
	h := &haproxy{t: t, url: "http://" + front.Addr().String(), socket: filepath.Join(t.TempDir(), "haproxy")}
	config := filepath.Join(t.TempDir(), "haproxy.cfg")
	if err := os.WriteFile(config, h.config(), 0o600); err != nil {
		t.Fatal(err)
	}
	var said bytes.Buffer
	cmd := exec.Command(path, "-db", "-f", config)
	cmd.ExtraFiles, cmd.Stdout, cmd.Stderr = []*os.File{file}, &said, &said // file is number 3 there
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		t.Fatalf("haproxy (run `make servers`): %v", err)
	}
	_, _ = file.Close(), front.Close()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("haproxy:\n%s", said.String())
		}
	})
	for i, n := range c.Nodes {
		h.find(i, n)
	}
	return h
}

// config is deploy/haproxy.cfg, but for addresses, the number of files that a
// machine lets it open, and how soon a node that is slow to answer counts as down:
// on a busy machine, all of them may be.
func (h *haproxy) config() []byte {
	text, err := os.ReadFile("../../deploy/haproxy.cfg")
	if err != nil {
		h.t.Fatal(err)
	}
	for pattern, by := range map[string]string{
		`maxconn \d+`:        "maxconn 500\n    stats socket " + h.socket + " level admin",
		`timeout connect 2s`: "timeout connect 20s\n    timeout check 20s",
		`bind :8080`:         "bind fd@3",
		` resolvers names`:   "",
		`node(\d):8080`:      "127.0.0.1:1",
	} {
		re := regexp.MustCompile(pattern)
		if !re.Match(text) {
			h.t.Fatalf("deploy/haproxy.cfg has no %s any more", pattern)
		}
		text = re.ReplaceAll(text, []byte(by))
	}
	return text
}

// find tells HAProxy where a node is, and returns when it sends requests there.
func (h *haproxy) find(i int, n *fleet.Node) {
	h.t.Helper()
	u, err := url.Parse(n.URL())
	if err != nil {
		h.t.Fatal(err)
	}
	server := fmt.Sprintf("nodes/node%d", i+1)
	until(h.t, "haproxy listens", func() error {
		_, err := h.ask(fmt.Sprintf("set server %s addr %s port %s", server, u.Hostname(), u.Port()))
		return err
	})
	until(h.t, "haproxy finds "+n.Name, func() error {
		said, err := h.ask("show stat nodes 4 -1")
		if err != nil {
			return err
		}
		for line := range strings.Lines(said) { // pxname,svname,…: the 18th is the status
			if fields := strings.Split(line, ","); len(fields) > 17 && "nodes/"+fields[1] == server && fields[17] == "UP" {
				return nil
			}
		}
		return fmt.Errorf("%s is not up: %s", server, said)
	})
}

// ask gives a command to HAProxy's socket (its management guide, 9.3).
func (h *haproxy) ask(command string) (string, error) {
	conn, err := net.Dial("unix", h.socket)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	if _, err := fmt.Fprintln(conn, command); err != nil {
		return "", err
	}
	said, err := io.ReadAll(bufio.NewReader(conn))
	return string(said), err
}
