package server_test

import (
	"fmt"
	"mime"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"rushgate/server"
)

// specOnce is the OpenAPI document, with its schemas. OpenAPI 3.1 schemas are
// JSON Schema 2020-12, so a validator of that is all that is needed.
var specOnce = sync.OnceValues(func() (*spec, error) {
	f, err := os.Open("openapi.json")
	if err != nil {
		return nil, err
	}
	defer f.Close()
	doc, err := jsonschema.UnmarshalJSON(f)
	if err != nil {
		return nil, err
	}
	s := &spec{doc: doc.(map[string]any), compiler: jsonschema.NewCompiler(), compiled: map[string]*jsonschema.Schema{}}
	s.compiler.AssertFormat()
	return s, s.compiler.AddResource("openapi.json", doc)
})

type spec struct {
	doc      map[string]any
	mu       sync.Mutex
	compiler *jsonschema.Compiler
	compiled map[string]*jsonschema.Schema
}

// at walks into a JSON document.
func at(v any, path ...string) any {
	for _, p := range path {
		m, _ := v.(map[string]any)
		v = m[p]
	}
	return v
}

// schema compiles the schema at a JSON pointer.
func (s *spec) schema(pointer string) (*jsonschema.Schema, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c := s.compiled[pointer]; c != nil {
		return c, nil
	}
	c, err := s.compiler.Compile("openapi.json#" + pointer)
	if err == nil {
		s.compiled[pointer] = c
	}
	return c, err
}

// template returns the path of the document that a path belongs to: the one
// with the most literal segments.
func (s *spec) template(path string) string {
	segments := strings.Split(path, "/")
	best, most := "", -1
	for template := range s.doc["paths"].(map[string]any) {
		literal := 0
		fits := slices.EqualFunc(strings.Split(template, "/"), segments, func(p, s string) bool {
			if p == s {
				literal++
			}
			return p == s || strings.HasPrefix(p, "{") && s != ""
		})
		if fits && literal > most {
			best, most = template, literal
		}
	}
	return best
}

var escapePointer = strings.NewReplacer("~", "~0", "/", "~1", "{", "%7B", "}", "%7D")

// observe checks what holds for every answer that any test sees: it is in the
// OpenAPI document, its body is as the document says, and it carries the
// headers that keep browsers from making something else of it.
func observe(r *http.Request, got answer) error {
	s, err := specOnce()
	if err != nil {
		return err
	}
	if got.header.Get("X-Content-Type-Options") != "nosniff" || got.header.Get("Access-Control-Allow-Origin") != "" {
		return fmt.Errorf("%s %s: headers %v", r.Method, r.URL.Path, got.header)
	}
	if got.status == http.StatusInternalServerError {
		return fmt.Errorf("%s %s: a fault of the server: %s", r.Method, r.URL.Path, got.raw)
	}
	template := s.template(r.URL.EscapedPath())
	op, _ := at(s.doc, "paths", template, strings.ToLower(strings.Replace(r.Method, "HEAD", "GET", 1))).(map[string]any)
	pointer := "/paths/" + escapePointer.Replace(template) + "/" + strings.ToLower(r.Method) + "/responses/" + strconv.Itoa(got.status)
	resp, _ := at(op, "responses", strconv.Itoa(got.status)).(map[string]any)
	if ref, ok := resp["$ref"].(string); ok {
		pointer = strings.TrimPrefix(ref, "#")
		resp, _ = at(s.doc, strings.Split(strings.TrimPrefix(ref, "#/"), "/")...).(map[string]any)
	}
	if op == nil || resp == nil {
		if got.status != 404 && got.status != 405 || op != nil {
			return fmt.Errorf("%s %s: %d is not in the document: %s", r.Method, r.URL.Path, got.status, got.raw)
		}
		pointer = "/components/responses/NotFound"
	}
	return s.check(pointer, r, got)
}

// check holds a body against the response at a pointer.
func (s *spec) check(pointer string, r *http.Request, got answer) error {
	kind, _, _ := mime.ParseMediaType(got.header.Get("Content-Type"))
	if !strings.HasSuffix(kind, "json") || r.Method == http.MethodHead {
		return nil
	}
	sch, err := s.schema(pointer + "/content/" + escapePointer.Replace(kind) + "/schema")
	if err != nil {
		return fmt.Errorf("%s %s %d %s: %w", r.Method, r.URL.Path, got.status, kind, err)
	}
	body, err := jsonschema.UnmarshalJSON(strings.NewReader(got.raw))
	if err != nil {
		return fmt.Errorf("%s %s: %w: %s", r.Method, r.URL.Path, err, got.raw)
	}
	if err := sch.Validate(body); err != nil {
		return fmt.Errorf("%s %s: %w: %s", r.Method, r.URL.Path, err, got.raw)
	}
	if status, ok := got.body["status"].(float64); ok && int(status) != got.status {
		return fmt.Errorf("%s %s: status %d says %v", r.Method, r.URL.Path, got.status, status)
	}
	return nil
}

func TestEveryRouteIsInTheDocumentAndTheOtherWayRound(t *testing.T) {
	s, err := specOnce()
	if err != nil {
		t.Fatal(err)
	}
	var documented []string
	for path, methods := range s.doc["paths"].(map[string]any) {
		for method := range methods.(map[string]any) {
			if method != "parameters" {
				documented = append(documented, strings.ToUpper(method)+" "+path)
			}
		}
	}
	routes := server.RouteNames()
	slices.Sort(routes)
	slices.Sort(documented)
	if !slices.Equal(routes, documented) {
		t.Fatalf("routes:\n%s\ndocumented:\n%s", strings.Join(routes, "\n"), strings.Join(documented, "\n"))
	}
}

func TestTheExamplesOfTheDocumentFitItsSchemas(t *testing.T) {
	s, err := specOnce()
	if err != nil {
		t.Fatal(err)
	}
	checked := 0
	var walk func(v any, pointer string)
	walk = func(v any, pointer string) {
		switch v := v.(type) {
		case map[string]any:
			if _, ok := v["schema"]; ok {
				checked += s.examples(t, v, pointer)
			}
			for k, child := range v {
				walk(child, pointer+"/"+escapePointer.Replace(k))
			}
		case []any:
			for i, child := range v {
				walk(child, pointer+"/"+strconv.Itoa(i))
			}
		}
	}
	walk(s.doc, "")
	if checked < 40 {
		t.Fatalf("only %d examples were found", checked)
	}
}

func (s *spec) examples(t *testing.T, media map[string]any, pointer string) int {
	var examples []any
	if e, ok := media["example"]; ok {
		examples = append(examples, e)
	}
	if named, ok := media["examples"].(map[string]any); ok {
		for _, e := range named {
			examples = append(examples, at(e, "value"))
		}
	}
	for _, e := range examples {
		sch, err := s.schema(pointer + "/schema")
		if err != nil {
			t.Fatal(err)
		}
		if err := sch.Validate(e); err != nil {
			t.Errorf("%s: %v", pointer, err)
		}
	}
	return len(examples)
}
