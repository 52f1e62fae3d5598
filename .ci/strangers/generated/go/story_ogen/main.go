// The story with the client that ogen generates, which checks every response.
package main

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"

	"github.com/ogen-go/ogen/ogenerrors"
	. "rolecall/made/ogen"
	"rolecall/story"
)

// key is an API key, instead of an application's token.
type key string

func (key key) Token(context.Context, OperationName) (Token, error) {
	return Token{Token: string(key)}, nil
}

func (key) OAuth(context.Context, OperationName) (OAuth, error) {
	return OAuth{}, ogenerrors.ErrSkipClientSecurity
}

func connect(url, token string) *Client {
	return story.Must(NewClient(url, key(token)))
}

func main() {
	here := context.Background()
	client := connect(story.URL, story.Key)

	once := CreateQuickPostParams{IdempotencyKey: NewOptString("ogen")}
	quickPost := &QuickPostInput{Role: RoleInput{
		Title:        "Baker",
		Location:     NewOptNilString("Berlin"),
		SalaryMin:    NewOptNilInt32(50_000),
		RemotePolicy: NewOptNilRemotePolicy(RemotePolicyHybrid),
	}}
	posted := story.Must(client.CreateQuickPost(here, quickPost, once)).(*QuickPostHeaders)
	role := posted.Response.Role
	story.Check(role.Status == "open", role)
	again := story.Must(client.CreateQuickPost(here, quickPost, once)).(*QuickPostHeaders)
	story.Check(again.Response.Role.ID == role.ID && again.IdempotencyReplayed.Value == "true", again)
	story.Passed("key")

	var found []int64
	for parameters := (ListRolesParams{Limit: NewOptInt(3)}); ; {
		page := story.Must(client.ListRoles(here, parameters)).(*ListedRoleListHeaders).Response
		for _, listed := range page.Data {
			found = append(found, listed.ID)
		}
		if page.NextCursor.Null {
			break
		}
		parameters.Cursor = NewOptString(page.NextCursor.Value)
	}
	story.Pages(found, role.ID)

	var patch RolePatch
	patch.SalaryMin.SetToNull()
	changed := story.Must(client.UpdateRole(here, NewOptRolePatch(patch), UpdateRoleParams{ID: role.ID}))
	after := changed.(*ShowRoleOKHeaders).Response
	story.Check(after.SalaryMin.Null && after.Location.Value == "Berlin", after)
	story.Passed("null")

	// The client itself refuses what the document excludes.
	mistakes := &RoleInput{Title: " ", SalaryMin: NewOptNilInt32(2), SalaryMax: NewOptNilInt32(1)}
	refused := story.Must(client.CreateRole(here, mistakes, CreateRoleParams{}))
	invalid := refused.(*ValidationFailedOrIdempotencyMismatchHeaders).Response
	story.Check(slices.Equal(invalid.Messages, story.Messages), invalid)
	story.Passed("422")

	shown := story.Must(client.ShowRole(here, ShowRoleParams{ID: role.ID})).(*ShowRoleOKHeaders)
	unchanged := story.Must(client.ShowRole(here, ShowRoleParams{ID: role.ID, IfNoneMatch: NewOptString(shown.ETag)}))
	story.Check(unchanged.(*ShowRoleNotModified).ETag == shown.ETag, unchanged)
	story.Passed("304")

	over := story.Must(connect(story.URL, story.Limited).ListRoles(here, ListRolesParams{})).(*RateLimitedHeaders)
	header := http.Header{"Retry-After": {strconv.Itoa(over.RetryAfter)}}
	story.OverLimit(http.StatusTooManyRequests, header, over.Response.Code)

	everyone := story.Must(client.ListCandidates(here, ListCandidatesParams{})).(*ListedCandidateListHeaders)
	newer := connect(story.Newer, story.Key)
	_, roles := newer.ListRoles(here, ListRolesParams{})
	_, candidates := newer.ListCandidates(here, ListCandidatesParams{})
	_, candidate := newer.ShowCandidate(here, ShowCandidateParams{ID: everyone.Response.Data[0].ID})
	if roles == nil && candidates == nil && candidate == nil {
		story.Passed("future")
	} else {
		fmt.Println("-- future:", roles, candidates, candidate)
	}
}
