"""Tests of names.py: it finds a planted fault of each kind in a small project, and nothing in a correct one."""

import contextlib
import io
import pathlib
import struct
import tempfile
import unittest

import markdown
import names


def png(text):
    chunk = b"page\0" + text.encode()
    return b"\x89PNG\r\n\x1a\n" + struct.pack(">I", len(chunk)) + b"tEXt" + chunk + b"\0\0\0\0"


PROJECT = {
    ".gitignore": "/target/\n",
    ".ci/run": "lanes=(format test)\non_request=(load)\n",
    ".ci/renew": "#!/bin/sh\n# Renews.\nfiles=(\n  functions/README.md\n)\n",
    "Cargo.toml": "[workspace]\n",
    "shared/Cargo.toml": '[package]\nname = "shared"\n[dependencies]\nargon2 = "1"\n[dev-dependencies]\nammonia = "4"\n',
    "shared/src/lib.rs": "pub mod store;\npub struct Gate;\nimpl Gate {\n    pub fn admit() {}\n}\n",
    "shared/src/store/keys.rs": 'const PK: &str = "pk";\nconst SK: &str = "sk";\nfn gate() {}\n',
    "shared/src/store/chart.rs": 'fn gate() {}\nchart! { gate: Gate, "{tenant}#GATE", "GATE"; role: Role, "{tenant}#ROLE", "{id}"; }\n',
    ".ci/examples/cards.patch": "+++ b/shared/src/store/cards.rs\n",
    "shared/src/store/roles.rs": "pub fn list_roles() {}\n",
    "functions/roles/Cargo.toml": '[package]\nname = "roles"\n',
    "functions/roles/src/lib.rs": 'use shared::handlers;\nfn routes() {\n    R::new("GET /api/v1/roles", handlers::list)\n}\n',
    "functions/dashboard/src/layout.rs": "impl Section {\n    const fn name(self) -> &'static str {\n        match self {\n"
    '            Self::Roles => "Roles",\n            Self::Keys => "API keys",\n        }\n    }\n}\n',
    "infra/local/Cargo.toml": '[package]\nname = "rolecall-local"\ndefault-run = "rolecall"\n[[bin]]\nname = "rolecall"\n',
    "infra/local/src/main.rs": "    #[arg(long, default_value_t = 3000)]\n    port: u16,\n    #[arg(long)]\n    in_memory: bool,\n"
    'const KEY: &str = env!("SIGNING_KEY");\n',
    "infra/admin/Cargo.toml": '[package]\nname = "rolecall-admin"\n',
    "infra/admin/src/main.rs": "#[derive(Debug, Subcommand)]\npub(crate) enum Command {\n    #[command(subcommand)]\n    Key(KeyCommand),\n}\n"
    "#[derive(Debug, Subcommand)]\npub(crate) enum KeyCommand {\n    Create(NewKey),\n    RotateAll,\n}\n"
    "struct NewKey {\n    #[arg(long)]\n    name: String,\n}\n",
    "infra/deploy.py": 'parser.add_argument("--rollback")\n',
    "infra/board.png": png('{"menu": ["Roles", "API keys"], "addresses": ["http://127.0.0.1:3000/careers"]}'),
    "template.yaml": "Parameters:\n  BaseUrl:\n    Type: String\nResources:\n",
    "functions/ROUTES.md": "# Routes\n\n| Route | Function | Description |\n|---|---|---|\n"
    "| `GET /api/v1/roles` | roles | lists |\n| `GET /api/v1/roles/{id}` | roles | shows |\n| `DELETE /api/v1/roles/{id}` | roles | closes |\n",
    "tests/Cargo.toml": '[package]\nname = "tests"\n',
    "tests/api/roles.rs": "#[tokio::test]\nasync fn a_role_is_closed() {}\n",
    "functions/README.md": "# API guide\n",
    "functions/SECURITY.md": "# Security\n\nPasswords: argon2id.\n\n| Threat | Tested by |\n|---|---|\n"
    "| guesses | `roles::a_role_is_closed`, `roles` |\n",
    "tests/README.md": "# Tests\n\n## Generated files\n\n| File | Test |\n|---|---|\n| `functions/README.md` | |\n\n"
    "## Files\n\n| File | Subject |\n|---|---|\n| `roles.rs` | roles |\n",
    "shared/README.md": "# Architecture\n\n## The table\n\n| Item | `pk` | `sk` |\n|---|---|---|\n"
    "| gate | `{tenant}#GATE` | `GATE` |\n| role * | `{tenant}#ROLE` | id |\n",
    "CONTRIBUTING.md": """# Contributing

| Lane | Checks |
|---|---|
| `format` | style |
| `test`, `load` | the rest |

See `shared/src/store/cards.rs`, [the table](shared/README.md#the-table), the picture ![board](infra/board.png) and <http://127.0.0.1:3000/api/v1/roles>.

`Gate::admit` in `shared/src/lib.rs` is called first, then `list_roles` (`store/roles.rs`). `shared/src/lib.rs` has `Gate`.
`.ci/run load`, `SIGNING_KEY=x cargo run -- --in-memory --port 1`, `rolecall-admin key create --name x`, `key rotate-all`
and `python3 infra/deploy.py dev --rollback BaseUrl=x` work, and so does `cargo test --test api roles::`. The lane `test`
writes to `target/log`. `GET /roles/:id`, `DELETE /api/v1/roles/17` and `HEAD /roles?limit=1` are routes.

Create `shared/src/comment.rs`:

```rust
//! Comments.
fn list_comments() {}
```

In `functions/roles/src/lib.rs`, add a row, as in `shared/src/comment.rs`.

In `functions/roles/src/lib.rs`:

```rust
    R::new("GET", handlers::list_comments, routes())
```
""",
}


def run(files):
    with tempfile.TemporaryDirectory() as folder:
        for path, content in files.items():
            path = pathlib.Path(folder, path)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content if isinstance(content, bytes) else content.encode())
        with contextlib.redirect_stdout(io.StringIO()) as output:
            failed = names.main(folder)
        found = output.getvalue().splitlines()
        assert failed == bool(found)
        return found


class Names(unittest.TestCase):
    maxDiff = None

    def test_a_correct_project_has_no_faults(self):
        self.assertEqual(run(PROJECT), [])

    def test_each_untrue_name_is_found(self):
        for text, message in {
            "`admit` in `shared/src/store/roles.rs`": "admit is not in shared/src/store/roles.rs, but in shared/src/lib.rs",
            "`list_roles`, and then `gate` or\n`admit` (`store/roles.rs`)": "gate is not in store/roles.rs",
            "`Gate` from `store/roles.rs`": "Gate is not in store/roles.rs, but in shared/src/lib.rs",
            "`Gate` at the top of `store/keys.rs`": "Gate is not in store/keys.rs, but in shared/src/lib.rs",
            "`store/keys.rs` has `Gate`": "Gate is not in store/keys.rs, but in shared/src/lib.rs",
            "`shared/src/gone.rs`": "shared/src/gone.rs does not exist",
            "`functions/*/src/gone.rs`": "functions/*/src/gone.rs does not exist",
            "[a](shared/gone.md)": "shared/gone.md does not exist",
            "[a](shared/README.md#gone)": "shared/README.md has no heading #gone",
            "[a](#gone)": "README.md has no heading #gone",
            "`.ci/run test slow`": "no lane is called slow",
            "the lanes `test` and `slow`": "no lane is called slow",
            "`cargo run -- --fast`": "rolecall-local has no option --fast",
            "`rolecall-admin key create --fast`": "rolecall-admin has no option --fast",
            "`rolecall-admin key delete`": "rolecall-admin has no command delete",
            "`key delete`": "rolecall-admin has no command delete",
            "`python3 infra/deploy.py dev --fast`": "infra/deploy.py has no option --fast",
            "`--fast`": "no program has the option --fast",
            "`FAST_KEY`": "nothing is called FAST_KEY",
            "`FAST=1 .ci/run test`": "nothing reads FAST",
            "`BaseUri=x`": "no template has the parameter BaseUri",
            "`roles::a_role_is_open`": "nothing is called a_role_is_open",
            "`roles::admit`": "roles::admit does not exist",
            "`Gate::list_roles`": "Gate::list_roles does not exist",
            "`cargo test --test api offers::`": "no test's name contains offers::",
            "`cargo test --package gone`": "no package is called gone",
            "`POST /api/v1/roles`": "no route is POST /api/v1/roles",
            "`GET /roles/:id/stats`": "no route is GET /roles/:id/stats",
            "`/api/v1/offers`": "no route is /api/v1/offers",
            "<http://127.0.0.1:3000/docs>": "no route is /docs",
            "`{tenant}#OFFER`": "no key contains OFFER",
            "`ApiRequest`": "nothing is called ApiRequest",
            "| Threat | Tested by |\n|---|---|\n| a | `offers` |": "offers is no test",
            "| File | Subject |\n|---|---|\n| `roles.rs` | `Gate` |": "Gate is not in `roles.rs`",
            "| Lane | Checks |\n|---|---|\n| `slow` | a |": "no lane is called slow",
            "In `shared/src/lib.rs`:\n\n```rust\nlet role = find(&request);\n```": "shared/src/lib.rs has no find, which the example uses",
            "```sh\n.ci/run \\\n  slow\n```": "no lane is called slow",
            "A person with two tags 17 items.": "a verb or a comma is missing: 'two tags 17 items'",
        }.items():
            with self.subTest(text):
                found = [line.split(": ", 1)[1] for line in run({**PROJECT, "README.md": f"# A\n\n{text}\n"})]
                self.assertIn(message, found)

    def test_each_untrue_file_is_found(self):
        for path, content, fault in [
            (".ci/run", PROJECT[".ci/run"].replace("load", "load soak"), "CONTRIBUTING.md:1: the lane soak is not described"),
            ("functions/SECURITY.md", "It is sanitized.", "functions/SECURITY.md:1: 'sanitized': no function links ammonia"),
            (".ci/renew", PROJECT[".ci/renew"].replace(")", "  README.md\n)"), ".ci/renew:3: tests/README.md does not have README.md"),
            ("infra/admin/src/renewed.rs", 'env::var_os("RENEW")',
             "infra/admin/src/renewed.rs:1: writes files if RENEW is set, but .ci/renew does not run its tests"),
            ("infra/board.png", png('{"menu": ["Roles"], "addresses": []}'), "CONTRIBUTING.md:8: infra/board.png: the menu lacks API keys"),
            ("infra/board.png", png('{"menu": [], "addresses": ["http://127.0.0.1:33695/"]}'),
             "CONTRIBUTING.md:8: infra/board.png: shows the address http://127.0.0.1:33695/, whose port is not 3000"),
            ("infra/board.png", b"\x89PNG\r\n\x1a\n",
             "CONTRIBUTING.md:8: infra/board.png: the picture has no notes of its page; .ci/browser/pictures.mjs writes them"),
        ]:  # fmt: skip
            with self.subTest(fault):
                self.assertIn(fault, run({**PROJECT, path: content}))


class Markdown(unittest.TestCase):
    def test_everything_has_its_line(self):
        text = "# A `b`\n\nIn `c` and\n`d e`:\n\n```sh\nrun\n```\n\n- [x](y)\n\n| H |\n|---|\n| `f\\|g` |\n"
        document = markdown.parse(pathlib.Path("a.md"), text)
        self.assertEqual(
            [(code.line, code.text) for code in document.codes], [(1, "b"), (3, "c"), (4, "d e"), (14, "f|g")]
        )
        (block,) = document.blocks
        self.assertEqual((block.line, block.language, block.text, block.section), (7, "sh", "run\n", "A b"))
        self.assertEqual(block.before, "In `c` and\n`d e`:")
        self.assertEqual((document.links[0].line, document.links[0].target), (10, "y"))
        self.assertEqual(
            (document.tables[0].line, document.tables[0].header, document.tables[0].rows), (12, ["H"], [["`f|g`"]])
        )
        self.assertEqual(document.headings[0].slug, "a-b")


if __name__ == "__main__":
    unittest.main()
