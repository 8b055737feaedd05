package api

import (
	"net/http"
	"slices"
	"strconv"

	"github.com/danielgtaylor/huma/v2"
)

// describe adds what huma does not know of: the routes that are no operations of its, and the fields of our problems.
func describe(spec *huma.OpenAPI) {
	schemas := spec.Components.Schemas
	if p := schemas.Map()["ErrorModel"]; p != nil {
		p.Properties["state"] = &huma.Schema{Type: huma.TypeString, Description: "With 409: the state of the job that does not allow it"}
		p.Properties["code"] = &huma.Schema{Type: huma.TypeString, Description: "What kind of error it is, where that is more than the status says",
			Enum: []any{CodeNoJob, CodeNoPlan, CodeNoReport, CodeNothing, CodeUnreachable, CodeFull}}
	}
	for _, name := range []string{"Submission", "Settings", "Order", "Again"} {
		for field, p := range schemas.Map()[name].Properties {
			if p.Ref != "" || slices.Contains(schemas.Map()[name].Required, field) {
				continue
			}
			if p.Nullable = true; p.Enum != nil && !slices.Contains(p.Enum, nil) { // null is as if the field were absent
				p.Enum = append(p.Enum, nil)
			}
		}
	}
	id := spec.Paths["/v1/jobs/{id}"].Get.Parameters[0]
	text := func(kind, what string) *huma.Response {
		return &huma.Response{Description: what, Content: map[string]*huma.MediaType{kind: {Schema: &huma.Schema{Type: huma.TypeString}}}}
	}
	problems := func(r map[string]*huma.Response, status ...int) map[string]*huma.Response {
		for _, s := range status {
			r[strconv.Itoa(s)] = &huma.Response{Description: http.StatusText(s), Content: map[string]*huma.MediaType{
				"application/problem+json": {Schema: &huma.Schema{Ref: "#/components/schemas/ErrorModel"}}}}
		}
		return r
	}
	spec.AddOperation(&huma.Operation{
		OperationID: "watch-job", Method: http.MethodGet, Path: "/v1/jobs/{id}/events", Summary: "Where a job stands, as server-sent events",
		Description: "An event \"status\" with a Job in its data whenever something changes, at most once a second; an event \"end\" once the job is done or cancelled. " +
			"A comment comes each 15 seconds. A client that connects again with the newest id as Last-Event-ID is sent nothing twice.",
		Parameters: []*huma.Param{id, {Name: "Last-Event-ID", In: "header", Description: "Id of the last event that the client has", Schema: &huma.Schema{Type: huma.TypeString}}},
		Responses: problems(map[string]*huma.Response{"200": text("text/event-stream", "Events, until the job has ended")},
			http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound, http.StatusServiceUnavailable),
	})
	describeSession(spec, problems)
	spec.AddOperation(&huma.Operation{
		OperationID: "get-openapi", Method: http.MethodGet, Path: "/v1/openapi.yaml", Summary: "This description",
		Responses: problems(map[string]*huma.Response{"200": text("application/yaml", "OpenAPI 3.1")}, http.StatusUnauthorized, http.StatusForbidden, http.StatusServiceUnavailable),
	})
}

// Description is the description of the API: OpenAPI 3.1 in YAML.
func (a *API) Description() ([]byte, error) { return a.spec.YAML() }

func (a *API) openAPI(rw http.ResponseWriter, r *http.Request) {
	data, err := a.Description()
	if err != nil {
		write(rw, err)
		return
	}
	rw.Header().Set("Content-Type", "application/yaml")
	rw.Write(data)
}
