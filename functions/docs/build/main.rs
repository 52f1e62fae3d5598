//! Makes the pages of the API reference from the contract and the API guide: a page for each section of the
//! guide, and a page for each tag of the document with its operations and the objects that they return.

mod document;
mod highlight;
mod markdown;
mod samples;
mod schema;
mod search;

use std::error::Error;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;
use std::{env, fs};

use askama::Template;
use serde_json::Value;

use document::{Document, Endpoint, list, members, text};
use highlight::{Language, highlighted};
use markdown::{Links, Section, slug};
use samples::{Authentication, JSON, Request, Sample, literal};
use schema::{Object, Schemas, rendered};

/// The files beside the pages, with their media types.
const FILES: [(&str, &str); 3] = [
    ("style.css", "text/css; charset=utf-8"),
    ("reference.js", "text/javascript; charset=utf-8"),
    ("search.json", "application/json"),
];
/// The parts of the stylesheet and of the script.
const ASSETS: [(&str, &[&str]); 2] = [
    ("style.css", &["../../shared/style/base.css", "../../shared/style/rolecall.css", "assets/style.css"]),
    ("reference.js", &["assets/reference.js"]),
];
/// The operations of the start page.
const FIRST: [&str; 2] = ["show_organization", "create_quick_post"];

/// The sections of the guide about tags with another name.
const GUIDES: [(&str, &str); 5] = [
    ("Careers", "Career pages"),
    ("Docs", "Typed clients"),
    ("MCP", "Connect an assistant"),
    ("Voice webhook", "Webhooks from providers"),
    ("Webhook endpoints", "Webhooks"),
];

/// A tag of the document, which is a page.
struct Resource {
    page: String,
    title: String,
    /// HTML.
    description: String,
    /// A sentence in plain text.
    summary: String,
    /// The page and the title of its section in the guide.
    guide: Option<(String, String)>,
    operations: Vec<Operation>,
    objects: Vec<Object>,
}

impl Resource {
    /// Whether a section of the guide is about this resource.
    fn is_about(&self, section: &Section) -> bool {
        self.guide.as_ref().is_some_and(|(page, _)| *page == section.page)
    }

    /// Whether samples need an API key.
    fn needs_key(&self) -> bool {
        self.operations.iter().any(|operation| operation.authentication == Authentication::Credential)
    }
}

/// An operation as its page shows it.
struct Operation {
    id: String,
    title: String,
    method: String,
    path: String,
    /// HTML.
    description: String,
    is_deprecated: bool,
    scopes: Vec<String>,
    authentication: Authentication,
    inputs: Vec<Inputs>,
    returned: Vec<Returned>,
    failures: Vec<Failure>,
    samples: [Sample; 3],
    /// Whether the response is one page of a list.
    is_paged: bool,
    /// The example of the response: its status and its HTML.
    response: Option<(String, String)>,
    /// The body with which the form for requests begins. `None` if there is no form.
    form: Option<String>,
    /// The text for the search.
    words: String,
}

/// Parameters in one place, or the fields of the body.
struct Inputs {
    title: &'static str,
    anchor: &'static str,
    /// HTML.
    fields: String,
}

/// A successful response.
struct Returned {
    status: String,
    /// HTML.
    description: String,
    /// What the response contains, in HTML.
    content: Option<String>,
    headers: Vec<String>,
}

/// An error response.
struct Failure {
    status: String,
    /// HTML.
    description: String,
}

/// What all pages have in common.
struct Site {
    sections: Vec<Section>,
    resources: Vec<Resource>,
    /// The version in the URLs of the files.
    version: String,
}

impl Site {
    /// Returns the first operations to try.
    fn first(&self) -> impl Iterator<Item = &Operation> {
        let operations = || self.resources.iter().flat_map(|resource| &resource.operations);
        FIRST.iter().filter_map(move |id| operations().find(|operation| operation.id == *id))
    }
}

#[derive(Template)]
#[template(path = "start.html")]
struct StartPage<'s> {
    site: &'s Site,
    page: &'static str,
}

#[derive(Template)]
#[template(path = "guide.html")]
struct GuidePage<'s> {
    site: &'s Site,
    page: &'s str,
    section: &'s Section,
}

#[derive(Template)]
#[template(path = "resource.html")]
struct ResourcePage<'s> {
    site: &'s Site,
    page: &'s str,
    resource: &'s Resource,
}

/// Returns the lines that are no comments. Nobody downloads the others.
fn without_comments(code: &str) -> String {
    let is_comment = |line: &str| line.starts_with("//") || line.starts_with("/*") && line.ends_with("*/");
    code.split_inclusive('\n').filter(|line| !is_comment(line.trim())).collect()
}

fn main() -> Result<(), Box<dyn Error>> {
    let folder = env::var("CARGO_MANIFEST_DIR")?;
    let folder = Path::new(&folder);
    let output = env::var("OUT_DIR")?;
    let output = Path::new(&output);
    for path in ["contract.json", "../README.md", "assets", "../../shared/style"] {
        println!("cargo::rerun-if-changed={}", folder.join(path).display());
    }
    let document = Document::parse(&fs::read_to_string(folder.join("contract.json"))?)?;
    let (sections, links) = markdown::guide(&fs::read_to_string(folder.join("../README.md"))?)?;
    let resources = resources(&document, &links, &sections)?;
    let index = search::index(&sections, &resources);
    fs::write(output.join("search.json"), &index)?;
    let mut hasher = DefaultHasher::new();
    index.hash(&mut hasher);
    for (name, parts) in ASSETS {
        let contents = parts.iter().map(|part| fs::read_to_string(folder.join(part)));
        let content = without_comments(&contents.collect::<Result<Vec<_>, _>>()?.concat());
        content.hash(&mut hasher);
        fs::write(output.join(name), content)?;
    }
    let site = Site { sections, resources, version: format!("{:016x}", hasher.finish()) };

    let mut pages = vec![("", StartPage { site: &site, page: "" }.render()?)];
    for section in &site.sections {
        let page = GuidePage { site: &site, page: &section.page, section };
        pages.push((&section.page, page.render()?));
    }
    for resource in &site.resources {
        let page = ResourcePage { site: &site, page: &resource.page, resource };
        pages.push((&resource.page, page.render()?));
    }
    let mut rows = Vec::new();
    for (name, html) in pages {
        let file = format!("page-{name}.html");
        fs::write(output.join(&file), html)?;
        rows.push(format!("({name:?}, include_str!({file:?})),"));
    }
    let files = FILES.map(|(name, media)| format!("({name:?}, {media:?}, include_str!({name:?})),"));
    let tables = format!(
        "/// The URL of the service in the pages.\nconst EXAMPLE_URL: &str = {:?};\n\
         /// The API key in the pages.\nconst EXAMPLE_KEY: &str = {:?};\n\
         /// The pages by name. The start page has no name.\nconst PAGES: &[(&str, &str)] = &[\n{}\n];\n\
         /// The other files: name, media type, content.\nconst FILES: &[(&str, &str, &str)] = &[\n{}\n];\n",
        samples::BASE_URL,
        samples::API_KEY,
        rows.join("\n"),
        files.join("\n"),
    );
    fs::write(output.join("pages.rs"), tables)?;
    Ok(())
}

/// Returns the pages of the document's tags.
fn resources(document: &Document, links: &Links, sections: &[Section]) -> Result<Vec<Resource>, String> {
    let mut schemas = Schemas::new(document, links);
    let endpoints: Vec<_> = document.endpoints().collect();
    let of_tag = |tag| -> Vec<_> { endpoints.iter().filter(|endpoint| endpoint.tag() == tag).collect() };
    let responses: Vec<_> = document
        .tags()
        .map(|(tag, _)| {
            let responses = of_tag(tag).into_iter().filter_map(|endpoint| endpoint.success(document));
            let contents = responses.flat_map(|(_, response)| members(&response["content"]));
            (slug(tag), contents.flat_map(|(_, content)| schemas_of(content)).collect())
        })
        .collect();
    schemas.settle(&responses);
    document
        .tags()
        .map(|(tag, summary)| {
            let page = slug(tag);
            let guide = GUIDES.iter().find(|(name, _)| *name == tag).map_or(tag, |(_, guide)| guide);
            let guide = sections.iter().find(|section| section.title == guide);
            Ok(Resource {
                title: tag.to_owned(),
                description: schemas.description(&Value::from(summary))?,
                summary: summary.to_owned(),
                guide: guide.map(|section| (section.page.clone(), section.title.clone())),
                operations: of_tag(tag)
                    .into_iter()
                    .map(|endpoint| operation(&schemas, endpoint))
                    .collect::<Result<_, _>>()?,
                objects: schemas.objects(&page)?,
                page,
            })
        })
        .collect()
}

fn operation<'d>(schemas: &Schemas<'d>, endpoint: &Endpoint<'d>) -> Result<Operation, String> {
    let document = schemas.document;
    let authentication = Authentication::of(endpoint);
    let scopes = list(&endpoint.value["security"]).iter().flat_map(|scheme| list(&scheme["oauth"]));
    let parameters: Vec<_> =
        list(&endpoint.value["parameters"]).iter().map(|parameter| document.resolve(parameter)).collect();
    let mut inputs = Vec::new();
    let mut words = vec![format!("{} {}", text(&endpoint.value["description"]), endpoint.id())];
    let body = members(&endpoint.value["requestBody"]["content"]).next();
    for (place, title, anchor) in [
        ("path", "Path parameters", "path"),
        ("query", "Query parameters", "query"),
        ("", "Body", "body"),
        ("header", "Headers", "headers"),
    ] {
        let fields = if let ("", Some((_, content))) = (place, body) {
            schemas.body(&content["schema"])?
        } else {
            let here = parameters.iter().filter(|parameter| parameter["in"] == place);
            here.map(|parameter| schemas.parameter(parameter)).collect::<Result<_, _>>()?
        };
        if !fields.is_empty() {
            inputs.push(Inputs { title, anchor, fields: rendered(&fields)? });
        }
        words.extend(fields.iter().map(|field| field.name.clone()));
    }
    let mut returned = Vec::new();
    let mut failures = Vec::new();
    for (status, response) in endpoint.responses(document) {
        let description = schemas.description(&response["description"])?;
        if status.starts_with(['2', '3']) {
            let content = members(&response["content"]).next();
            let headers = members(&response["headers"]).map(|(name, _)| name.to_owned());
            returned.push(Returned {
                status: status.to_owned(),
                description,
                content: content.map(|(_, content)| returned_by(schemas, content)).transpose()?,
                headers: headers.filter(|name| is_notable(name)).collect(),
            });
        } else {
            failures.push(Failure { status: status.to_owned(), description });
        }
    }
    let body = samples::body(endpoint);
    let can_try = match authentication {
        Authentication::Credential => true,
        Authentication::None => endpoint.method == "get",
        Authentication::Signature => false,
    };
    Ok(Operation {
        id: endpoint.id().to_owned(),
        title: text(&endpoint.value["summary"]).to_owned(),
        method: endpoint.method.to_uppercase(),
        path: endpoint.path.to_owned(),
        description: schemas.description(&endpoint.value["description"])?,
        is_deprecated: endpoint.value["deprecated"] == true,
        scopes: scopes.map(|scope| text(scope).to_owned()).collect(),
        authentication,
        inputs,
        returned,
        failures,
        samples: Request::of(document, endpoint).samples(),
        is_paged: parameters.iter().any(|parameter| parameter["name"] == "cursor"),
        response: endpoint.success(document).and_then(|(status, response)| example(status, response)),
        form: can_try.then(|| body.map_or_else(String::new, |(_, body)| literal(body, &JSON, ""))),
        words: words.join(" "),
    })
}

/// The schemas of a response: for credentials that may read people, and for others.
fn schemas_of(content: &Value) -> impl Iterator<Item = &Value> {
    ["schema", "x-without-candidates-read"].into_iter().filter_map(|name| content.get(name))
}

/// Returns the HTML of what a response contains.
fn returned_by<'d>(schemas: &Schemas<'d>, content: &'d Value) -> Result<String, String> {
    let returned =
        schemas_of(content).map(|schema| schemas.returned(schema)).collect::<Result<Vec<_>, _>>()?;
    Ok(returned.join(", without <code>candidates:read</code> "))
}

/// Returns the status and the HTML of the example of a response.
fn example(status: &str, response: &Value) -> Option<(String, String)> {
    let (media, content) = members(&response["content"]).next()?;
    let example = content.get("example")?;
    let (code, language) = match example.as_str() {
        Some(text) => (text.to_owned(), Language::Text),
        None => (literal(example, &JSON, ""), Language::Json),
    };
    let html = markdown::boxed(&highlighted(code.trim_end(), language), code.lines().count());
    Some((format!("{status} {media}"), html))
}

/// Whether a page mentions a header of successful responses. The guide describes those that every response has.
fn is_notable(header: &str) -> bool {
    matches!(header, "ETag" | "Location" | "Link" | "Retry-After" | "WWW-Authenticate")
}
