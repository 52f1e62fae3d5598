"""A member at a browser: follows redirects, signs in, and answers the consent page.

The forms are sent as they came, hidden fields and all.
"""

from urllib.parse import urljoin, urlsplit

import lxml.html
import requests

# The local service has this member of Acme on every machine.
CREDENTIALS = {"email": "ada@acme.example", "password": "acme demo password"}


class Member:
    def __init__(self):
        # Plain pairs: a session of requests would send secure cookies over TLS only; a browser trusts its own machine, too.
        self.cookies = {}

    def allow(self, address, **choices):
        """Where the browser is sent with a yes; `choices` are fields of the form."""
        page = self._go("GET", address)
        if urlsplit(page.base_url).path == "/dashboard/sign-in":
            page = self._press(page, "Sign in", CREDENTIALS)
        return self._press(page, "Allow", choices)

    def _press(self, page, label, typed):
        [button] = [button for button in page.iter("button") if button.text_content().strip() == label]
        [form] = button.iterancestors("form")
        for name, value in typed.items():
            form.fields[name] = value
        fields = form.form_values()
        if button.get("name"):
            fields.append((button.get("name"), button.get("value")))
        return self._go(form.method, form.action, fields)

    def _go(self, method, address, fields=None):
        """The page at the end of the redirects, or the first address that is not the service's."""
        response = requests.request(method, address, data=fields, cookies=self.cookies, allow_redirects=False)
        self.cookies.update(response.cookies.get_dict())
        if response.status_code == 303:
            following = urljoin(address, response.headers["location"])
            same = urlsplit(following)[:2] == urlsplit(address)[:2]
            return self._go("GET", following) if same else following
        assert response.status_code == 200, f"{address} answers {response.status_code}: {response.text}"
        return lxml.html.fromstring(response.text, base_url=address)
