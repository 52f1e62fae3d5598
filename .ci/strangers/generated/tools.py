"""The tools. Each command runs in Bash, in this folder; the document is at $DOCUMENT."""

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Tool:
    """A tool that generates clients."""

    name: str
    # Generates a client in the folder `made`.
    generate: str
    # Compiles the client and the story, or checks their types. Several tools can have the same command.
    compile: str
    # Runs the story.
    story: str
    # What the tool prints as warnings although nothing is wrong: regular expressions.
    harmless: tuple[str, ...] = ()
    # The columns that the tool or its language does not reach, with the reason.
    lacks: dict[str, str] = field(default_factory=dict, hash=False)


# What every tool does unless it says otherwise.
COLUMNS = ("generates", "compiles", "key", "pages", "null", "422", "304", "429", "future")
# openapi-generator's warnings about every document of this version, and about types that are null or a reference.
OPENAPI_GENERATOR = ("OpenAPI 3.1 support is still in beta", "Failed to get the schema name: null")
PYTHON = "mypy --no-incremental --no-error-summary"
# TypeScript 7 takes a fifth of the time, but generators of types need the interface of TypeScript 5.
TYPESCRIPT = "node_modules/typescript-7/bin/tsc"

SHORT = [
    Tool(
        name="openapi-fetch",
        generate="openapi-typescript $DOCUMENT --root-types --root-types-no-schema-prefix --output made/rolecall.d.ts >/dev/null",
        compile=TYPESCRIPT,
        story="node made/js/stories/openapi_fetch.js",
    ),
    Tool(
        name="hey-api",
        generate="openapi-ts --file hey_api.config.mjs --input $DOCUMENT --silent",
        compile=TYPESCRIPT,
        story="node made/js/stories/hey_api.js",
    ),
    Tool(
        name="openapi-generator typescript-fetch",
        generate="$OPENAPI_GENERATOR -g typescript-fetch -i $DOCUMENT -o made/openapi_generator_fetch "
        "--additional-properties=importFileExtension=.js",
        compile=TYPESCRIPT,
        story="node made/js/stories/openapi_generator_fetch.js",
        harmless=OPENAPI_GENERATOR,
    ),
    Tool(
        name="openapi-generator python",
        generate="$OPENAPI_GENERATOR -g python -i $DOCUMENT -o made/openapi_generator_python "
        "--additional-properties=packageName=rolecall_api",
        compile=PYTHON,
        story="PYTHONPATH=made/openapi_generator_python python stories/openapi_generator_python.py",
        harmless=(*OPENAPI_GENERATOR, "cannot be used as model name", "map/dict of undefined type"),
    ),
    Tool(
        name="openapi-python-client",
        generate="openapi-python-client generate --path $DOCUMENT --meta none "
        "--output-path made/rolecall_client --fail-on-warning >/dev/null",
        compile=PYTHON,
        story="PYTHONPATH=made python stories/openapi_python_client.py",
    ),
]

GO = "cd go && go vet ./story_{0} ./made/{0} && go build -o made/ ./story_{0}"
LONG = [
    Tool(
        name="orval",
        generate="orval/node_modules/.bin/orval --config orval/orval.config.mjs",
        compile=TYPESCRIPT + " --project orval",
        story="node made/orval_js/orval/story.js",
        harmless=("orval v", "has been converted into ready to use"),
    ),
    Tool(
        name="openapi-generator java",
        generate="$OPENAPI_GENERATOR -g java -i $DOCUMENT -o made/java --additional-properties=library=native,"
        "invokerPackage=rolecall,apiPackage=rolecall.api,modelPackage=rolecall.model,"
        "useSingleRequestParameter=true",
        compile="javac -nowarn -proc:none -d made/java_classes -cp 'java/jars/*' "
        "$(find made/java/src/main -name '*.java') java/Story.java",
        story="java -cp 'made/java_classes:java/jars/*' Story",
        harmless=(*OPENAPI_GENERATOR, "Ignoring complex example on request body"),
    ),
    Tool(
        name="openapi-generator kotlin",
        generate="$OPENAPI_GENERATOR -g kotlin -i $DOCUMENT -o made/kotlin --additional-properties=packageName=rolecall,"
        "serializationLibrary=jackson",
        # The compiler is itself among the jars.
        compile="java -Xmx2g -cp 'kotlin/jars/*' org.jetbrains.kotlin.cli.jvm.K2JVMCompiler -nowarn -no-stdlib -no-reflect "
        "-jvm-target 17 -cp $(ls kotlin/jars/*.jar | tr '\\n' ':') -d made/kotlin_classes "
        "made/kotlin/src/main/kotlin kotlin/Story.kt",
        story="java -cp 'made/kotlin_classes:kotlin/jars/*' StoryKt",
        harmless=OPENAPI_GENERATOR,
        lacks={"null": "an optional property that is null is left out"},
    ),
    Tool(
        name="openapi-generator go",
        generate="$OPENAPI_GENERATOR -g go -i $DOCUMENT -o go/made/openapi_generator --additional-properties="
        "packageName=openapi_generator,enumClassPrefix=true,withGoMod=false,"
        "disallowAdditionalPropertiesIfNotPresent=false && rm -rf go/made/openapi_generator/test",
        compile=GO.format("openapi_generator"),
        story="go/made/story_openapi_generator",
        harmless=(*OPENAPI_GENERATOR, "reserved word"),
    ),
    Tool(
        name="oapi-codegen",
        generate="mkdir -p go/made/oapi_codegen && cd go && go tool oapi-codegen -config oapi_codegen.yaml $DOCUMENT",
        compile=GO.format("oapi_codegen"),
        story="go/made/story_oapi_codegen",
    ),
    Tool(
        name="ogen",
        generate="cd go && go tool ogen --config ogen.yaml --target made/ogen --package ogen --clean $DOCUMENT",
        compile=GO.format("ogen"),
        story="go/made/story_ogen",
        harmless=("INFO", "Header name is not canonical"),
    ),
    Tool(
        name="openapi-generator rust",
        generate="$OPENAPI_GENERATOR -g rust -i $DOCUMENT -o made/rust --additional-properties=packageName=rolecall",
        compile="cargo build --locked --quiet --manifest-path rust/Cargo.toml --target-dir made/rust_target",
        story="made/rust_target/debug/story",
        harmless=(*OPENAPI_GENERATOR, "cannot be used as a (model|field/variable|parameter) name"),
        lacks={"304": "responses have no headers, so no ETag", "429": "responses have no headers, so no Retry-After"},
    ),
    Tool(
        name="openapi-generator ruby",
        generate="$OPENAPI_GENERATOR -g ruby -i $DOCUMENT -o made/ruby --additional-properties="
        "gemName=rolecall,moduleName=Rolecall",
        # Loads every file.
        compile="ruby -Imade/ruby/lib -e 'require \"rolecall\"'",
        story="ruby -Imade/ruby/lib stories/openapi_generator_ruby.rb",
        harmless=OPENAPI_GENERATOR,
    ),
    Tool(
        name="openapi-generator php",
        generate="$OPENAPI_GENERATOR -g php -i $DOCUMENT -o made/php --additional-properties=invokerPackage=Rolecall",
        compile="find made/php/lib -name '*.php' -print0 | xargs -0 -n 50 -P 2 php -l >/dev/null",
        story="php stories/openapi_generator_php.php",
        harmless=(*OPENAPI_GENERATOR, "reserved word"),
    ),
]
