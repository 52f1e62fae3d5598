"""What a checkout of the project contains: files, definitions, tests, lanes, commands, routes and parameters."""

import collections
import fnmatch
import functools
import pathlib
import re
import tomllib

import markdown

# No sources of names: the inputs of fuzz targets contain words by accident, and these checks name what does not exist.
LEFT_OUT = ("infra/fuzz/corpus/", ".ci/documents/names.py", ".ci/documents/claims.py", ".ci/documents/test_names.py")
DEFINITIONS = {
    ".rs": re.compile(
        r"\b(?:fn|struct|enum|trait|type|const|static|mod|macro_rules!|let|let mut)\s+(\w+)"
        r"|^\s+(?:pub(?:\([^)]*\))?\s+)?([a-z]\w*):\s"  # a field
        r"|^\s+([A-Z]\w*)\s*(?:[,({]|= )"  # a variant
        r'|"(\w+)"',  # a name of data, such as a field of a log line
        re.MULTILINE,
    ),
    ".py": re.compile(r"\b(?:def|class)\s+(\w+)|^\s*(\w+)\s*(?::[^=\n]+)?=[^=]", re.MULTILINE),
}
SCRIPT = re.compile(r"\b(?:function\*?|const|let|class)\s+(\w+)|^\s+(?:async\s+)?(\w+)\(.*\{$|(\w+):", re.MULTILINE)


class Tree:
    def __init__(self, root):
        self.root = pathlib.Path(root).resolve()
        self.files = markdown.files(self.root)
        self.paths = set(self.files)
        for file in self.files:
            self.paths.update(parent.as_posix() for parent in pathlib.PurePosixPath(file).parents)
        self.paths.discard(".")
        self.extensions = {pathlib.PurePosixPath(file).suffix for file in self.files} - {""}

    @functools.cache
    def text(self, file):
        try:
            return (self.root / file).read_text()
        except (UnicodeDecodeError, FileNotFoundError):
            return ""

    @functools.cached_property
    def documents(self):
        return [markdown.read(path) for path in markdown.documents(self.root)]

    @functools.cached_property
    def sources(self):
        return [
            file
            for file in self.files
            if not file.endswith((".md", ".png", "-lock.json")) and not file.startswith(LEFT_OUT)
        ]

    @functools.cached_property
    def source(self):
        """All sources in one text."""
        return "\n".join(self.text(file) for file in self.sources)

    @functools.cached_property
    def words(self):
        return set(re.findall(r"\w+", self.source))

    @functools.cached_property
    def lower(self):
        return self.source.lower()

    @functools.cached_property
    def ignored(self):
        """The first parts of paths that Git ignores, because tools make them."""
        lines = self.text(".gitignore").split()
        return {line.strip("/") for line in lines if re.fullmatch(r"/?[\w.]+/?", line)}

    # Paths

    def find(self, path, folders=()):
        """The files and folders that a path in a document means. Folders are tried in their order, then any folder."""
        path = re.sub(r"\{[^{}]*\}", "*", path.rstrip("/"))
        if not path.strip("*"):
            return []
        for folder in (*folders, ""):
            full = re.sub(r"(^|/)\./", r"\1", f"{folder}/{path}".lstrip("/"))
            while "/../" in full:
                full = re.sub(r"[^/]+/\.\./", "", full, count=1)
            if full in self.paths:
                return [full]
            if "*" in full and (found := fnmatch.filter(self.paths, full)):
                return found
        ending = [known for known in self.paths if f"/{known}".endswith(f"/{path}")]
        for folder in folders:
            if near := [known for known in ending if known.startswith(f"{folder}/" if folder else "")]:
                return near
        return ending

    def below(self, path):
        return [file for file in self.sources if file == path or file.startswith(f"{path}/")]

    # Definitions

    @functools.cache
    def defined_in(self, file):
        """The names that a file defines. A file of data or of commands defines all its words."""
        suffix = pathlib.PurePosixPath(file).suffix
        if suffix in (".mjs", ".js", ".ts"):
            pattern = SCRIPT
        elif not (pattern := DEFINITIONS.get(suffix)):
            return set(re.findall(r"\w+", self.text(file)))
        return {name for groups in pattern.findall(self.text(file)) for name in groups if name}

    @functools.cached_property
    def definitions(self):
        """The Rust files that define each name."""
        files = collections.defaultdict(set)
        for file in self.sources:
            if file.endswith(".rs"):
                for name in self.defined_in(file):
                    files[name].add(file)
        return files

    @functools.cached_property
    def types(self):
        """The types and traits of Rust."""
        return set(re.findall(r"\b(?:struct|enum|trait|type)\s+(\w+)", self.source))

    # Tests

    @functools.cached_property
    def tests(self):
        """The names of all Rust tests, with the package and the target: (package, target, file, module path and name)."""
        found = []
        for file in self.sources:
            if not file.endswith(".rs") or "test" not in self.text(file):
                continue
            package = self.package_of(file)
            if not package:
                continue
            inner = file.removeprefix(f"{self.packages[package]}/")
            parts = [part for part in inner.removesuffix(".rs").split("/") if part not in ("mod", "lib", "main")]
            if parts[0] == "src":
                target, modules = "lib", parts[1:]
            elif package == "tests":
                target, modules = parts[0], parts[1:]
            else:
                target, modules = parts[1] if len(parts) > 1 else parts[0], parts[2:]
            text = self.text(file)
            for test in re.finditer(r"#\[(?:tokio::)?test[^\n]*\]\s*(?:#\[[^\n]*\]\s*)*(?:async )?fn (\w+)\(", text):
                indented = text.rfind("\n", 0, test.start()) + 1 < test.start()
                found.append((package, target, file, "::".join([*modules, *(["tests"] if indented else []), test[1]])))
        return found

    # Packages and commands

    @functools.cached_property
    def packages(self):
        """The folder of each package."""
        found = {}
        for file in self.files:
            if file.endswith("Cargo.toml") and (package := self.manifest(file).get("package")):
                found[package["name"]] = file.removesuffix("Cargo.toml").rstrip("/")
        return found

    @functools.cached_property
    def crates(self):
        """The crates of others."""
        manifests = [self.manifest(file) for file in self.files if file.endswith("Cargo.toml")]
        tables = [manifest.get("workspace", manifest) for manifest in manifests]
        names = {
            name for table in tables for kind in ("", "dev-", "build-") for name in table.get(f"{kind}dependencies", {})
        }
        return {name.replace("-", "_") for name in names - set(self.packages)} | {"std", "core"}

    @functools.cache
    def manifest(self, file):
        return tomllib.loads(self.text(file))

    @functools.cache
    def package_of(self, file):
        owners = [name for name, folder in self.packages.items() if file.startswith(f"{folder}/")]
        return max(owners, key=lambda name: len(self.packages[name]), default=None)

    @functools.cached_property
    def binaries(self):
        """The package of each binary."""
        found = {}
        for name, folder in self.packages.items():
            if f"{folder}/src/main.rs" in self.paths:
                found[name] = name
            for binary in self.manifest(f"{folder}/Cargo.toml").get("bin", []):
                found[binary["name"]] = name
            for file in self.files:
                if match := re.fullmatch(re.escape(folder) + r"/src/bin/(\w+)\.rs", file):
                    found[match[1]] = name
        return found

    @functools.cached_property
    def default_package(self):
        """The package that `cargo run` runs."""
        return next((name for name, folder in self.packages.items() if self._runs_by_default(folder)), None)

    def _runs_by_default(self, folder):
        return "default-run" in self.manifest(f"{folder}/Cargo.toml")["package"] and folder.endswith("local")

    @functools.cache
    def options(self, path):
        """The options of a program: of a package's command line, or of a script."""
        if path in self.packages:
            texts = [self.text(file) for file in self.below(f"{self.packages[path]}/src")]
            arguments = re.findall(r"#\[arg\((.*?)\)\]\s*(?:pub(?:\([^)]*\))?\s+)?(\w+):", "\n".join(texts), re.DOTALL)
            found = set()
            for attribute, field in arguments:
                if long := re.search(r'\blong(?: = "([\w-]+)")?', attribute):
                    found.add("--" + (long[1] or field.replace("_", "-")))
            return found | {"--help", "--version"}
        return set(re.findall(r"--[a-z][\w-]*", self.text(path))) | {"--help"}

    @functools.cached_property
    def all_options(self):
        return set().union(*map(self.options, self.packages)) | set(re.findall(r"--[a-z][\w-]*", self.source))

    @functools.cache
    def subcommands(self, package):
        """The commands of a package's command line: a tree of names."""
        text = "\n".join(self.text(file) for file in self.below(f"{self.packages[package]}/src"))
        enums = {}
        for name, body in re.findall(
            r"derive\([^)]*Subcommand[^)]*\)\]\s*pub(?:\([^)]*\))? enum (\w+) \{\n(.*?)\n\}", text, re.DOTALL
        ):
            enums[name] = re.findall(
                r'(?:^    #\[command\((flatten)\)\]\n|^        name = "([\w-]+)".*?)?^    ([A-Z]\w*)(?:\((\w+)\))?',
                body,
                re.MULTILINE | re.DOTALL,
            )

        def commands(name):
            found = {}
            for flatten, given, variant, inner in enums.get(name, []):
                if flatten:
                    found |= commands(inner)
                else:
                    found[given or re.sub(r"(?<!^)(?=[A-Z])", "-", variant).lower()] = commands(inner)
            return found

        return commands("Command")

    # Lanes

    @functools.cached_property
    def lanes(self):
        script = self.text(".ci/run")
        lists = [re.search(rf"^{name}=\(([^)]*)\)", script, re.MULTILINE) for name in ("lanes", "on_request")]
        return [lane for found in lists if found for lane in found[1].split()]

    # Routes and parameters of the deployment

    @functools.cached_property
    def routes(self):
        """Method and path of each route in functions/ROUTES.md, which is generated from the functions' tables."""
        return set(re.findall(r"^\| `([A-Z]+) (\S+)` \|", self.text("functions/ROUTES.md"), re.MULTILINE))

    @functools.cached_property
    def parameters(self):
        """The parameters of all templates."""
        found = set()
        for file in self.files:
            if file.endswith(".yaml"):
                for section in re.findall(r"^Parameters:\n((?:(?:  .*)?\n)*)", self.text(file), re.MULTILINE):
                    found.update(re.findall(r"^  (\w+):", section, re.MULTILINE))
        return found
