package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"rushgate/app"
)

// settings are the flags of a server, which also come from the environment and
// from a file: a flag beats the environment, the environment beats the file.
type settings struct {
	File   string     `name:"config" env:"RUSHGATE_CONFIG" placeholder:"FILE" help:"JSON file with settings: {\"listen\": \":8080\", \"identity\": \"backend\", …}; keys are the names of the flags."`
	Server app.Config `embed:""`
}

// BeforeResolve reads the file, once it is known which.
func (s *settings) BeforeResolve(ctx *kong.Context, command *kong.Path) error {
	path := os.Getenv("RUSHGATE_CONFIG")
	for _, flag := range command.Node().Flags {
		if flag.Name == "config" {
			if given, ok := ctx.FlagValue(flag).(string); ok && given != "" {
				path = given
			}
		}
	}
	if path == "" {
		return nil
	}
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("--config: %w", err)
	}
	defer f.Close()
	file, err := readConfigFile(f)
	if err != nil {
		return fmt.Errorf("--config %s: %w", path, err)
	}
	if err := file.onlyFlagsOf(command.Node()); err != nil {
		return fmt.Errorf("--config %s: %w", path, err)
	}
	ctx.AddResolver(file)
	return nil
}

// configFile resolves flags from a JSON object.
type configFile map[string]any

const maxConfigFile = 1 << 20

func readConfigFile(r io.Reader) (configFile, error) {
	d := json.NewDecoder(io.LimitReader(r, maxConfigFile))
	d.UseNumber()
	raw := map[string]any{}
	if err := d.Decode(&raw); err != nil {
		return nil, fmt.Errorf("it must be a JSON object: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("there is something after the JSON object")
	}
	file := configFile{}
	for key, value := range raw {
		name := strings.ReplaceAll(key, "_", "-")
		if _, twice := file[name]; twice {
			return nil, fmt.Errorf("%q is there twice", key)
		}
		switch v := value.(type) {
		case nil, map[string]any:
			return nil, fmt.Errorf("%q: must be a string, a number, true, false, or a list", key)
		case json.Number:
			value = v.String()
		}
		file[name] = value
	}
	return file, nil
}

// onlyFlagsOf reports keys that no flag of the command has: a typing error
// must not leave a setting at its default in silence.
func (f configFile) onlyFlagsOf(command *kong.Node) error {
	var unknown []string
	for key := range f {
		known := slices.ContainsFunc(command.Flags, func(flag *kong.Flag) bool {
			return flag.Name == key && key != "config" && key != "help"
		})
		if !known {
			unknown = append(unknown, key)
		}
	}
	if len(unknown) == 0 {
		return nil
	}
	slices.Sort(unknown)
	return fmt.Errorf("unknown key %s; the keys are the names of the flags", strings.Join(unknown, ", "))
}

// Validate has nothing to do: keys were checked when the file was read.
func (f configFile) Validate(*kong.Application) error { return nil }

// Resolve gives a flag its value from the file, unless the environment has one.
func (f configFile) Resolve(_ *kong.Context, _ *kong.Path, flag *kong.Flag) (any, error) {
	for _, name := range flag.Envs {
		if _, ok := os.LookupEnv(name); ok {
			return nil, nil
		}
	}
	return f[flag.Name], nil
}
