// The story with the client that openapi-generator generates for Go.
package main

import (
	"context"
	"fmt"
	"net/http"
	"slices"

	. "rolecall/made/openapi_generator"
	"rolecall/story"
)

func connect(url, key string) *APIClient {
	configuration := NewConfiguration()
	configuration.Servers = ServerConfigurations{{URL: url}}
	configuration.AddDefaultHeader("Authorization", "Bearer "+key)
	return NewAPIClient(configuration)
}

// model returns the body of an error.
func model[T any](err error) T {
	return err.(*GenericOpenAPIError).Model().(T)
}

func main() {
	here := context.Background()
	client := connect(story.URL, story.Key)
	roles := client.RolesAPI

	baker := NewRoleInput("Baker")
	baker.SetLocation("Berlin")
	baker.SetSalaryMin(50_000)
	baker.SetRemotePolicy(REMOTEPOLICY_HYBRID)
	quickPost := func() (*QuickPost, *http.Response) {
		request := client.QuickPostAPI.CreateQuickPost(here).QuickPostInput(*NewQuickPostInput(*baker))
		posted, response, err := request.IdempotencyKey("go").Execute()
		story.Check(err == nil, err)
		return posted, response
	}
	posted, _ := quickPost()
	role := posted.Role
	story.Check(role.Status == "open" && *role.SalaryMin.Get() == 50_000, role)
	again, response := quickPost()
	story.Check(again.Role.Id == role.Id && response.Header.Get("Idempotency-Replayed") == "true", again)
	story.Passed("key")

	var found []int64
	for request := roles.ListRoles(here).Limit(3); ; {
		page, _, err := request.Execute()
		story.Check(err == nil, err)
		for _, listed := range page.Data {
			found = append(found, listed.Id)
		}
		if !page.NextCursor.IsSet() || page.NextCursor.Get() == nil {
			break
		}
		request = request.Cursor(*page.NextCursor.Get())
	}
	story.Pages(found, role.Id)

	patch := NewRolePatch()
	patch.SetSalaryMinNil()
	changed, _, err := roles.UpdateRole(here, role.Id).RolePatch(*patch).Execute()
	story.Check(err == nil && changed.SalaryMin.Get() == nil && *changed.Location.Get() == "Berlin", changed, err)
	story.Passed("null")

	mistakes := NewRoleInput(" ")
	mistakes.SetSalaryMin(2)
	mistakes.SetSalaryMax(1)
	_, _, err = roles.CreateRole(here).RoleInput(*mistakes).Execute()
	story.Check(slices.Equal(model[Invalid](err).Messages, story.Messages), err)
	story.Passed("422")

	_, response, _ = roles.ShowRole(here, role.Id).Execute()
	_, response, _ = roles.ShowRole(here, role.Id).IfNoneMatch(response.Header.Get("ETag")).Execute()
	story.Check(response.StatusCode == http.StatusNotModified, response)
	story.Passed("304")

	_, response, err = connect(story.URL, story.Limited).RolesAPI.ListRoles(here).Execute()
	story.OverLimit(response.StatusCode, response.Header, model[Problem](err).Code)

	everyone, _, err := client.CandidatesAPI.ListCandidates(here).Limit(1).Execute()
	story.Check(err == nil, err)
	newer := connect(story.Newer, story.Key)
	_, _, listed := newer.RolesAPI.ListRoles(here).Execute()
	_, _, candidates := newer.CandidatesAPI.ListCandidates(here).Execute()
	_, _, candidate := newer.CandidatesAPI.ShowCandidate(here, everyone.Data[0].Id).Execute()
	if listed == nil && candidates == nil && candidate == nil {
		story.Passed("future")
	} else {
		fmt.Println("-- future:", listed, candidates, candidate)
	}
}
