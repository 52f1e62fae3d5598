"""A member with a browser, who follows redirects, signs in, confirms the password and answers the consent page.

Forms are submitted with all their fields, including hidden ones.
"""

from urllib.parse import urljoin, urlsplit

import lxml.html
import requests

# A member of Acme in the demo data.
CREDENTIALS = {"email": "ada@acme.example", "password": "acme demo password"}


class Member:
    def __init__(self):
        self.session = requests.Session()

    def allow(self, url, **choices):
        """Allows access and returns the URL that the browser is redirected to. `choices` are fields of the form."""
        return self._press(self._open(url), "Allow", choices)

    def confirm(self, url):
        """Confirms an assistant's call on its page of the dashboard."""
        self._press(self._open(url), "Confirm", {})

    def _open(self, url):
        page = self._go("GET", url)
        if urlsplit(page.base_url).path == "/dashboard/sign-in":
            page = self._press(page, "Sign in", CREDENTIALS)
        if urlsplit(page.base_url).path == "/dashboard/confirm":
            page = self._press(page, "Continue", {"password": CREDENTIALS["password"]})
        return page

    def _press(self, page, label, typed):
        [button] = [button for button in page.iter("button") if button.text_content().strip() == label]
        [form] = button.iterancestors("form")
        for name, value in typed.items():
            form.fields[name] = value
        fields = form.form_values()
        if button.get("name"):
            fields.append((button.get("name"), button.get("value")))
        return self._go(form.method, form.action, fields)

    def _go(self, method, url, fields=None):
        """Follows redirects to a page, or to the first URL outside the service, which it returns."""
        response = self.session.request(method, url, data=fields, allow_redirects=False)
        if response.status_code == 303:
            target = urljoin(url, response.headers["location"])
            is_same_origin = urlsplit(target)[:2] == urlsplit(url)[:2]
            return self._go("GET", target) if is_same_origin else target
        assert response.status_code == 200, f"{url} returned {response.status_code}: {response.text}"
        return lxml.html.fromstring(response.text, base_url=url)
