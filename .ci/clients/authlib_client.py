"""Tests Authlib, a requests session with OAuth, as a confidential client with Basic authentication and test data."""

import sys

import requests
from authlib.common.security import generate_token
from authlib.integrations.requests_client import OAuth2Session
from authlib.oauth2.rfc8414 import AuthorizationServerMetadata, get_well_known_url

from member import Member

BASE = sys.argv[1]
API = f"{BASE}/api/v1"
REDIRECT = "http://127.0.0.1:43120/callback"


def main():
    server = AuthorizationServerMetadata(requests.get(get_well_known_url(BASE, external=True)).json())
    server.validate()
    print(f"the metadata of {server.issuer} is valid")

    # Authlib does not support registration.
    registration = {"client_name": "Authlib", "redirect_uris": [REDIRECT]}
    client = requests.post(server.registration_endpoint, json=registration).json()
    session = OAuth2Session(
        client["client_id"],
        client["client_secret"],
        token_endpoint_auth_method=client["token_endpoint_auth_method"],
        redirect_uri=REDIRECT,
        scope="organization:read roles:write",
        code_challenge_method="S256",
    )
    print(f"registered with the method {client['token_endpoint_auth_method']}")

    verifier = generate_token(48)
    url, state = session.create_authorization_url(
        server.authorization_endpoint, code_verifier=verifier, resource=API
    )
    redirect = Member().allow(url, mode="test")
    first = session.fetch_token(
        server.token_endpoint, authorization_response=redirect, state=state, code_verifier=verifier, resource=API
    )
    assert first["scope"].split() == ["roles:write", "organization:read"], first["scope"]
    use(session)
    print("exchanged the code; the token reads the organization and creates a role in test mode")

    second = session.refresh_token(server.token_endpoint)
    use(session)
    assert status(first) == 200
    print("refreshed; the previous access token is still valid")

    revoked = session.revoke_token(server.revocation_endpoint, token_type_hint="refresh_token")
    assert revoked.status_code == 200, revoked.text
    assert status(second) == 401
    print("revoked; the access token is rejected")


def use(session):
    organization = session.get(f"{API}/organization").json()
    assert organization["mode"] == "test", organization
    assert session.post(f"{API}/roles", json={"title": "Lighthouse Keeper"}).status_code == 201


def status(token):
    authorization = {"Authorization": f"Bearer {token['access_token']}"}
    return requests.get(f"{API}/organization", headers=authorization).status_code


main()
