package deploy_test

import (
	"os"
	"os/exec"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"rushgate/app"
)

// TestComposeSaysWhatServeUnderstands: every RUSHGATE_ variable is one that the
// server reads, and with them the configuration is valid.
func TestComposeSaysWhatServeUnderstands(t *testing.T) {
	raw, err := os.ReadFile("compose.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Services map[string]struct {
			Environment map[string]string `yaml:"environment"`
		} `yaml:"services"`
	}
	if err := yaml.Unmarshal(raw, &file); err != nil {
		t.Fatal(err)
	}
	nodes := 0
	for name, service := range file.Services {
		if !strings.HasPrefix(name, "node") {
			continue
		}
		nodes++
		cfg := app.Defaults()
		cfg.Listen = ":8080" // as the image says
		for variable, value := range service.Environment {
			set(t, &cfg, variable, value)
		}
		if err := cfg.Validate(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if nodes != 3 {
		t.Errorf("%d nodes, want 3", nodes)
	}
}

// secret is what compose takes out of .env.
var secret = regexp.MustCompile(`\$\{[^}]*\}`)

// set puts the value of an environment variable where serve would.
func set(t *testing.T, cfg *app.Config, variable, value string) {
	t.Helper()
	fields := reflect.TypeOf(*cfg)
	for i := range fields.NumField() {
		if fields.Field(i).Tag.Get("env") != variable {
			continue
		}
		switch f := reflect.ValueOf(cfg).Elem().Field(i); f.Kind() {
		case reflect.String:
			f.SetString(secret.ReplaceAllString(value, "a-secret-from-the-env-file"))
		case reflect.Slice:
			f.Set(reflect.ValueOf([]string{"a-key-of-the-shop-server"}))
		default:
			t.Errorf("%s is a %s", variable, f.Kind())
		}
		return
	}
	t.Errorf("the server does not know %s", variable)
}

// TestTheBalancerTakesItsConfiguration: haproxy itself reads it.
func TestTheBalancerTakesItsConfiguration(t *testing.T) {
	path, err := exec.LookPath("haproxy")
	if err != nil {
		path, err = exec.LookPath("/usr/sbin/haproxy")
	}
	if err != nil {
		t.Fatal("haproxy is not installed: run `make servers`, or install haproxy")
	}
	if said, err := exec.Command(path, "-c", "-f", "haproxy.cfg").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
}
