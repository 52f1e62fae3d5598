// The story with the client that oapi-codegen generates.
package main

import (
	"context"
	"fmt"
	"net/http"
	"slices"

	"github.com/oapi-codegen/nullable"
	. "rolecall/made/oapi_codegen"
	"rolecall/story"
)

func connect(url, key string) *ClientWithResponses {
	return story.Must(NewClientWithResponses(url, WithRequestEditorFn(
		func(_ context.Context, request *http.Request) error {
			request.Header.Set("Authorization", "Bearer "+key)
			return nil
		})))
}

func main() {
	here := context.Background()
	client := connect(story.URL, story.Key)

	once, key := &CreateQuickPostParams{}, "oapi_codegen"
	once.IdempotencyKey = &key
	quickPost := QuickPostInput{Role: RoleInput{
		Title:        "Baker",
		Location:     nullable.NewNullableWithValue("Berlin"),
		SalaryMin:    nullable.NewNullableWithValue[int32](50_000),
		RemotePolicy: nullable.NewNullableWithValue(RemotePolicyHybrid),
	}}
	posted := story.Must(client.CreateQuickPostWithResponse(here, once, quickPost)).JSON201
	story.Check(posted != nil && posted.Role.Status == "open", posted)
	role := posted.Role
	again := story.Must(client.CreateQuickPostWithResponse(here, once, quickPost))
	story.Check(again.JSON201.Role.Id == role.Id && again.HTTPResponse.Header.Get("Idempotency-Replayed") == "true", again)
	story.Passed("key")

	var found []int64
	limit := 3
	for parameters := (&ListRolesParams{Limit: &limit}); ; {
		page := story.Must(client.ListRolesWithResponse(here, parameters)).JSON200
		for _, listed := range page.Data {
			found = append(found, listed.Id)
		}
		if page.NextCursor.IsNull() {
			break
		}
		cursor := page.NextCursor.MustGet()
		parameters.Cursor = &cursor
	}
	story.Pages(found, role.Id)

	patch := RolePatch{SalaryMin: nullable.NewNullNullable[int32]()}
	changed := story.Must(client.UpdateRoleWithResponse(here, role.Id, &UpdateRoleParams{}, patch)).JSON200
	story.Check(changed.SalaryMin.IsNull() && changed.Location.MustGet() == "Berlin", changed)
	story.Passed("null")

	mistakes := RoleInput{
		Title:     " ",
		SalaryMin: nullable.NewNullableWithValue[int32](2),
		SalaryMax: nullable.NewNullableWithValue[int32](1),
	}
	invalid := story.Must(client.CreateRoleWithResponse(here, &CreateRoleParams{}, mistakes)).JSON422
	story.Check(slices.Equal(invalid.Messages, story.Messages), invalid)
	story.Passed("422")

	shown := story.Must(client.ShowRoleWithResponse(here, role.Id, &ShowRoleParams{}))
	tag := shown.HTTPResponse.Header.Get("ETag")
	unchanged := story.Must(client.ShowRoleWithResponse(here, role.Id, &ShowRoleParams{IfNoneMatch: &tag}))
	story.Check(unchanged.StatusCode() == http.StatusNotModified, unchanged)
	story.Passed("304")

	over := story.Must(connect(story.URL, story.Limited).ListRolesWithResponse(here, &ListRolesParams{}))
	story.OverLimit(over.StatusCode(), over.HTTPResponse.Header, over.JSON429.Code)

	candidate := story.Must(client.ListCandidatesWithResponse(here, &ListCandidatesParams{})).JSON200.Data[0].Id
	newer := connect(story.Newer, story.Key)
	_, roles := newer.ListRolesWithResponse(here, &ListRolesParams{})
	_, candidates := newer.ListCandidatesWithResponse(here, &ListCandidatesParams{})
	_, shownCandidate := newer.ShowCandidateWithResponse(here, candidate, &ShowCandidateParams{})
	if roles == nil && candidates == nil && shownCandidate == nil {
		story.Passed("future")
	} else {
		fmt.Println("-- future:", roles, candidates, shownCandidate)
	}
}
