// The official Go SDK for the Model Context Protocol connects by nothing but the address of /mcp: it finds the authorization
// server, registers, and sends the member to the consent page. Then it lists the tools, calls one, and is refused.
//
// ROLECALL is the URL of the service. SCOPE, if it is set, is what the client registers for, instead of the default.
package main

import (
	"context"
	"fmt"
	"log"
	"net/url"
	"os"
	"os/exec"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
)

const redirect = "http://127.0.0.1:9/callback"

// allow is the member's browser.
func allow(here context.Context, arguments *auth.AuthorizationArgs) (*auth.AuthorizationResult, error) {
	member := exec.CommandContext(here, "node", "allow.mjs", arguments.URL)
	member.Stderr = os.Stderr
	printed, err := member.Output()
	if err != nil {
		return nil, fmt.Errorf("the member cannot allow the access: %w", err)
	}
	back, err := url.Parse(strings.TrimSpace(string(printed)))
	if err != nil {
		return nil, err
	}
	query := back.Query()
	return &auth.AuthorizationResult{Code: query.Get("code"), State: query.Get("state"), Iss: query.Get("iss")}, nil
}

func text(result *mcp.CallToolResult) string {
	return result.Content[0].(*mcp.TextContent).Text
}

func main() {
	here := context.Background()
	handler, err := auth.NewAuthorizationCodeHandler(&auth.AuthorizationCodeHandlerConfig{
		DynamicClientRegistrationConfig: &auth.DynamicClientRegistrationConfig{
			Metadata: &oauthex.ClientRegistrationMetadata{
				ClientName:   "Go SDK",
				RedirectURIs: []string{redirect},
				Scope:        os.Getenv("SCOPE"),
			},
		},
		RedirectURL:              redirect,
		AuthorizationCodeFetcher: allow,
	})
	must(err)
	client := mcp.NewClient(&mcp.Implementation{Name: "stranger", Version: "1"}, nil)
	endpoint := os.Getenv("ROLECALL") + "/mcp"
	session, err := client.Connect(here, &mcp.StreamableClientTransport{Endpoint: endpoint, OAuthHandler: handler}, nil)
	must(err)
	defer session.Close()

	names := []string{}
	for tool, err := range session.Tools(here, nil) {
		must(err)
		names = append(names, tool.Name)
	}
	check(len(names) > 10, names)
	found, err := session.CallTool(here, &mcp.CallToolParams{Name: "list_roles", Arguments: map[string]any{}})
	must(err)
	check(!found.IsError && found.StructuredContent != nil, text(found))
	refused, err := session.CallTool(here, &mcp.CallToolParams{Name: "list_roles", Arguments: map[string]any{"role_id": 1}})
	must(err)
	check(refused.IsError, text(refused))
	fmt.Printf("the Go SDK connects by the address, lists %d tools, reads roles, and is refused: %s\n", len(names), text(refused))
}

func check(fact bool, about any) {
	if !fact {
		log.Panic(about)
	}
}

func must(err error) {
	check(err == nil, err)
}
