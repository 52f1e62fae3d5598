"""Tests dependencies.py: every check accepts correct input and reports mistakes."""

import tempfile
import unittest
from pathlib import Path

import dependencies


def package(name, version="1.0.0", license="MIT", source=dependencies.CRATES_IO, **fields):
    return {"name": name, "version": version, "license": license, "source": source, **fields}


class Licenses(unittest.TestCase):
    def test_expressions(self):
        for expression, allowed in {
            "MIT": True,
            "GPL-3.0": False,
            "GPL-3.0 OR MIT": True,
            "GPL-3.0/MIT": True,
            "GPL-3.0 / LGPL-3.0": False,
            "MIT AND Zlib": True,
            "MIT AND GPL-3.0": False,
            "GPL-3.0 OR MIT AND Zlib": True,
            "MIT OR Zlib AND GPL-3.0": True,
            "(MIT OR Zlib) AND GPL-3.0": False,
            "(MIT OR GPL-3.0) AND (GPL-3.0 OR Zlib)": True,
            "((MIT))": True,
            "MIT WITH Some-exception": False,
            "Zlib WITH Known-exception": True,
            "MIT WITH Some-exception OR Zlib": True,
        }.items():
            with self.subTest(expression):
                licenses = {"MIT", "Zlib", "Zlib WITH Known-exception"}
                self.assertEqual(dependencies.license_allowed(expression, licenses), allowed)

    def test_malformed_expressions(self):
        for expression in ["", "()", "MIT AND", "OR MIT", "(MIT", "MIT)", "MIT Zlib", "MIT WITH", "(MIT) WITH Zlib"]:
            with self.subTest(expression), self.assertRaises(ValueError):
                dependencies.license_allowed(expression, {"MIT", "Zlib"})

    def test_crates(self):
        packages = [
            package("fine"),
            package("excepted", license="MPL-2.0"),
            package("copyleft", license="GPL-3.0"),
            package("other", license="MPL-2.0"),
            package("missing", license=None),
            package("member", license=None, source=None),
        ]
        found = list(dependencies.check_licenses(packages, {"MIT"}, {"MPL-2.0": {"excepted", "fine"}}))
        expected = ["copyleft 1.0.0 has", "other 1.0.0 has", "missing 1.0.0: '' is not", "fine needs no exception"]
        self.assertEqual(len(found), len(expected), found)
        for message, part in zip(found, expected):
            self.assertIn(part, message)


class Usage(unittest.TestCase):
    def test_names(self):
        for text, used in {
            "use serde::Serialize;": True,
            "use serde;": True,
            "use ::serde::Serialize;": True,
            "use serde as _;": True,
            "pub use serde;": True,
            "extern crate serde;": True,
            "#[derive(serde::Serialize)]": True,
            '#[serde(with = "serde::something")]': True,
            "let x = ::serde::to(y);": True,
            "use serde_json::Value;": False,
            "use my_serde::Value;": False,
            "use crate::serde::Value;": False,
            "#[serde(default)]": False,
            "mod serde;": False,
        }.items():
            with self.subTest(text):
                self.assertEqual(dependencies.names_crate(text, "serde"), used)

    def test_comments(self):
        text = "//! See [`serde::de`].\nlet url = \"http://a::b\"; // serde::to\n    /// serde::de\n"
        self.assertFalse(dependencies.names_crate(dependencies.without_comments(text), "serde"))
        self.assertTrue(dependencies.names_crate(dependencies.without_comments(text), "a"))

    def test_packages(self):
        files = {
            "build.rs": "fn main() { built::write(); }",
            "src/lib.rs": """
                use linked::Name;
                #[cfg(test)]
                mod tests {
                    use inline::Name;
                    fn test() {}
                }
                mod plain;
                #[cfg(test)]
                mod hidden;
                #[cfg(test)]
                use imported::{
                    Name,
                };
            """,
            "src/plain.rs": "use plain::Name;",
            "src/hidden.rs": "use hidden::Name;",
            "tests/all.rs": "use integration::Name;",
        }
        with tempfile.TemporaryDirectory() as folder:
            for name, text in files.items():
                path = Path(folder, name)
                path.parent.mkdir(exist_ok=True)
                path.write_text(text)
            targets = [("lib", "src/lib.rs"), ("test", "tests/all.rs"), ("custom-build", "build.rs")]
            tested = package(
                "tested",
                manifest_path=str(Path(folder, "Cargo.toml")),
                targets=[{"kind": [kind], "src_path": str(Path(folder, path))} for kind, path in targets],
                dependencies=[
                    {"name": name, "kind": kind, "features": features}
                    for name, kind, features in [
                        ("linked", None, []),
                        ("plain", None, []),
                        ("li-nked", None, []),
                        ("inline", None, []),
                        ("hidden", None, []),
                        ("imported", None, []),
                        ("integration", None, []),
                        ("built", None, []),
                        ("built", "build", []),
                        ("linked", "build", []),
                        ("integration", "dev", ["more"]),
                        ("linked", "dev", []),
                        ("absent", "dev", []),
                    ]
                ],
            )
            texts = dependencies.sources(tested)
            found = list(dependencies.check_usage(tested, {"li-nked": "linked"}, texts))
        expected = [
            "only tests use inline;",
            "only tests use hidden;",
            "only tests use imported;",
            "only tests use integration;",
            "uses built;",
            "uses linked;",
            "repeats linked ",
            "uses absent;",
        ]
        self.assertEqual(len(found), len(expected), found)
        for message, part in zip(found, expected):
            self.assertIn(part, message)

    def test_build_script_with_modules(self):
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder, "build/main.rs")
            root.parent.mkdir()
            root.write_text("mod part;")
            Path(folder, "build/part.rs").write_text("use built::Name;")
            scripted = package(
                "scripted",
                manifest_path=str(Path(folder, "Cargo.toml")),
                targets=[{"kind": ["custom-build"], "src_path": str(root)}],
                dependencies=[{"name": name, "kind": "build", "features": []} for name in ("built", "absent")],
            )
            found = list(dependencies.check_usage(scripted, {}, dependencies.sources(scripted)))
        self.assertEqual(len(found), 1, found)
        self.assertIn("uses absent;", found[0])

    def test_workspace_dependencies(self):
        workspace = {"workspace": {"dependencies": {"a": "1", "b": "1", "c": "1", "d": "1"}}}
        members = [
            {"dependencies": {"a": {"workspace": True}, "c": "1"}},
            {"target": {"cfg(unix)": {"build-dependencies": {"b": {"workspace": True}}}}},
        ]
        found = list(dependencies.check_workspace_dependencies(workspace, members))
        self.assertEqual(len(found), 2, found)
        self.assertIn("uses c ", found[0])
        self.assertIn("uses d ", found[1])


class Crates(unittest.TestCase):
    def test_sources(self):
        locked = [
            {"name": "registry", "version": "1.0.0", "source": dependencies.CRATES_IO},
            {"name": "member", "version": "1.0.0"},
            {"name": "git", "version": "1.0.0", "source": "git+https://example.com/git#1"},
            {"name": "folder", "version": "1.0.0"},
        ]
        found = list(dependencies.check_sources(locked, {"member"}))
        self.assertEqual(len(found), 2, found)
        self.assertIn("git 1.0.0 comes from git+https", found[0])
        self.assertIn("folder 1.0.0 is a folder", found[1])

    def test_banned(self):
        found = list(dependencies.check_banned({"fine", "bad"}, "a function", {"bad": "it is bad", "worse": ""}))
        self.assertEqual(len(found), 1, found)
        self.assertIn("a function needs bad, but it is bad;", found[0])

    def test_duplicates(self):
        packages = [package("tokio", "1.0.0"), package("tokio", "2.0.0"), package("x", "1.0.0"), package("x", "2.0.0")]
        self.assertEqual(dependencies.duplicates(packages), {"tokio": "1.0.0, 2.0.0", "x": "1.0.0, 2.0.0"})
        found = list(dependencies.check_duplicates([*packages, package("serde")]))
        self.assertEqual(len(found), 1, found)
        self.assertIn("tokio has the versions 1.0.0, 2.0.0", found[0])

    def test_features(self):
        run = {"same []", "features [std]", "macro []", "linked []"}
        test = {"same []", "features [alloc,std]", "macro []", "linked []", "only_in_tests []"}
        linked_in_run = {"same []", "features [std]"}
        linked_in_test = {"same []", "features [alloc,std]", "linked []", "only_in_tests []"}
        found = list(dependencies.check_features(run, linked_in_run, test, linked_in_test))
        self.assertEqual(len(found), 2, found)
        self.assertIn("would compile features [std] again", found[0])
        self.assertIn("would compile linked [] again", found[1])


if __name__ == "__main__":
    unittest.main()
