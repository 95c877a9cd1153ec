package server

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
)

// specification is what the docs page shows of the OpenAPI document.
type specification struct {
	Info struct {
		Title       string `json:"title"`
		Description string `json:"description"`
	} `json:"info"`
	Tags []struct {
		Name        string `json:"name"`
		Description string `json:"description"`
	} `json:"tags"`
	Paths      map[string]map[string]json.RawMessage `json:"paths"`
	Components struct {
		Responses  map[string]response  `json:"responses"`
		Parameters map[string]parameter `json:"parameters"`
	} `json:"components"`
}

type operation struct {
	ID          string                `json:"operationId"`
	Tags        []string              `json:"tags"`
	Summary     string                `json:"summary"`
	Description string                `json:"description"`
	Security    []map[string][]string `json:"security"`
	Parameters  []parameter           `json:"parameters"`
	Body        content               `json:"requestBody"`
	Responses   map[string]*response  `json:"responses"`
	Method      string                `json:"-"`
	Path        string                `json:"-"`
	Answers     []answerText          `json:"-"`
}

type parameter struct {
	Name        string `json:"name"`
	In          string `json:"in"`
	Description string `json:"description"`
}

type content struct {
	Content map[string]struct {
		Example  json.RawMessage `json:"example"`
		Examples map[string]struct {
			Value json.RawMessage `json:"value"`
		} `json:"examples"`
	} `json:"content"`
}

type response struct {
	content
	Ref         string `json:"$ref"`
	Description string `json:"description"`
}

// Example returns the example of a body, indented.
func (c content) Example() string {
	for _, m := range c.Content {
		var b bytes.Buffer
		if json.Indent(&b, m.Example, "", "  ") == nil && b.Len() > 0 {
			var text string
			if json.Unmarshal(m.Example, &text) == nil {
				return text
			}
			return b.String()
		}
	}
	return ""
}

// section is one tag with its operations.
type section struct {
	Name, Description string
	Operations        []operation
}

// answerText is one status with what it means and the codes it may have.
type answerText struct {
	Status, Description string
	Codes               []string
	Example             string
}

// problemText is one code of a problem with an example.
type problemText struct {
	Code, Example string
}

// sections orders the operations as the table of routes does, under their tags.
func (s *specification) sections() []section {
	var all []section
	for _, tag := range s.Tags {
		sec := section{Name: tag.Name, Description: tag.Description}
		for _, rt := range routes() {
			path := strings.TrimSuffix(rt.pattern, "{$}")
			var op operation
			if json.Unmarshal(s.Paths[path][strings.ToLower(rt.method)], &op) != nil || !slices.Contains(op.Tags, tag.Name) {
				continue
			}
			op.Method, op.Path, op.Answers = rt.method, path, s.answers(&op)
			sec.Operations = append(sec.Operations, op)
		}
		all = append(all, sec)
	}
	return all
}

func (s *specification) answers(op *operation) []answerText {
	var all []answerText
	for status, r := range op.Responses {
		shared := *r
		if name, ok := strings.CutPrefix(r.Ref, "#/components/responses/"); ok {
			shared = s.Components.Responses[name]
		}
		a := answerText{Status: status, Description: shared.Description, Codes: shared.codes()}
		if status < "300" {
			a.Example = shared.Example()
		}
		all = append(all, a)
	}
	slices.SortFunc(all, func(a, b answerText) int { return strings.Compare(a.Status, b.Status) })
	return all
}

// codes returns the codes of the problems that a response may be.
func (r *response) codes() []string {
	var codes []string
	for code := range r.Content["application/problem+json"].Examples {
		codes = append(codes, code)
	}
	slices.Sort(codes)
	return codes
}

// problems returns every code once, with an example.
func (s *specification) problems() []problemText {
	examples := map[string]string{}
	for _, r := range s.Components.Responses {
		for code, e := range r.Content["application/problem+json"].Examples {
			var b bytes.Buffer
			if json.Indent(&b, e.Value, "", "  ") == nil && b.Len() > len(examples[code]) {
				examples[code] = b.String()
			}
		}
	}
	var all []problemText
	for code, example := range examples {
		all = append(all, problemText{Code: code, Example: example})
	}
	slices.SortFunc(all, func(a, b problemText) int { return strings.Compare(a.Code, b.Code) })
	return all
}
