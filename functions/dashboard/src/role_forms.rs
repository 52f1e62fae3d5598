//! The forms of quick post, roles and postings.

use std::sync::Arc;

use careers::Preview;
use serde_json::{Value, json};
use shared::handlers::responses;
use shared::handlers::responses::role::RolePatch;
use shared::handlers::{postings, quick_post, roles};
use shared::http::{
    Error, HandlerCall, Html, Input, MemberRequest, Parameters, Reply, entity_tag, read_form,
};
use shared::id::Id;
use shared::model::{
    self, Amount, Country, Currency, Department, EmploymentType, ExternalId, Location, PayPeriod, Place,
    Posting, Questions, RemotePolicy, Role, RoleAndPosting, Salary, Text, Title,
};

use crate::form_page::{Field, FieldKind, Form};
use crate::layout::Section;
use crate::messages::Notice;
use crate::preview;

/// Begins the names of the fields with the questions of a job that is copied.
const QUESTIONS: &str = "job_posting.questions[";
/// What the form says of them.
const WITH_QUESTIONS: &str =
    "The questions of the copied job are asked, too. You can change everything later.";

/// Shows the form that creates a role with its posting: an empty one, or with the content of the role `copy`.
pub(crate) async fn quick_post(request: Arc<MemberRequest>) -> Result<Reply<Html>, Error> {
    let query = request.context.query();
    let Some(copied) = query.non_empty("copy") else { return quick_post_form(&request).show(&request) };
    let found = match copied.parse::<Id>() {
        Ok(id) => request.context.store().find_role_and_posting(request.tenant(), id).await?,
        Err(_) => None,
    };
    let RoleAndPosting { mut role, posting, .. } = found.ok_or(Error::NotFound)?;
    // Only one role can have an identifier in another system, and the day may be over.
    role.content.external_id = None;
    role.content.closes_on = None;
    let content = posting.map(|posting| posting.content).unwrap_or_default();
    let shown = json!(shown(&role, &request));
    let fields = quick_post_fields(&request, &shown, role.content.places.list(), &content);
    let form = quick_post_form_of(fields).carrying(question_fields(&content.questions));
    let form = if content.questions.list().is_empty() { form } else { form.lead(WITH_QUESTIONS) };
    form.show(&request)
}

/// Creates a role with its posting, and publishes both unless they are saved as a draft.
pub(crate) async fn post(request: Arc<MemberRequest>) -> Result<Reply<Html>, Error> {
    if preview::is_wanted(&request) {
        let job = sent::<quick_post::QuickPost>(&request).and_then(|fields| read_form(&fields));
        let job = job.and_then(|job: quick_post::QuickPost| {
            let posting = job.job_posting.with_ids(|| request.context.ids().next());
            Ok(Preview { role: job.role, posting: posting.map_err(Error::Validation)?, stored: None })
        });
        return match job {
            Ok(job) => job.page(&request).await,
            Err(error) => {
                proposing(quick_post_form_with(&request), &request, "role").show_again(&request, error)
            }
        };
    }
    let is_draft = request.page.form().get("publish") == "false";
    let posted = match sent::<quick_post::QuickPost>(&request) {
        Ok(fields) => request.carry_out(request.call(fields), quick_post::create).await,
        Err(error) => Err(error),
    };
    match posted {
        Ok(reply) => {
            let path = reply
                .created_id()
                .map_or_else(|| "/dashboard/roles".to_owned(), |id| format!("/dashboard/roles/{id}"));
            Ok(if is_draft { Notice::DraftSaved } else { Notice::Posted }.redirect_to(&path))
        }
        Err(error) => proposing(quick_post_form_with(&request), &request, "role").show_again(&request, error),
    }
}

fn quick_post_form(request: &MemberRequest) -> Form {
    quick_post_form_of(quick_post_fields(request, &Value::Null, &[], &model::PostingContent::default()))
}

/// The form with the questions of a copied job that were sent with it.
fn quick_post_form_with(request: &MemberRequest) -> Form {
    let is_question = |(name, _): &(&str, &str)| name.starts_with(QUESTIONS);
    let fields = request.fields();
    let questions =
        fields.iter().filter(is_question).map(|(name, value)| (name.to_owned(), value.to_owned()));
    quick_post_form(request).carrying(questions.collect())
}

fn quick_post_form_of(fields: Vec<Field>) -> Form {
    Form::new(Section::Roles, "Post a job", fields, "/dashboard/quick-post", "Publish")
        .with_buttons("publish", &[("true", "Publish"), ("false", "Save as a draft")])
        .below("/dashboard/roles", "Roles")
        .lead("Only the title is required. You can change everything later.")
}

/// The questions of a posting as fields of a form, without their identifiers.
fn question_fields(questions: &Questions) -> Vec<(String, String)> {
    let fields = questions.list().iter().enumerate().flat_map(|(index, question)| {
        let content = &question.content;
        let field = move |name: &str, value: &str| (format!("{QUESTIONS}{index}].{name}"), value.to_owned());
        let options = content.options().iter().enumerate();
        let options: Vec<_> =
            options.map(|(number, option)| field(&format!("options[{number}]"), option.as_str())).collect();
        let required = if content.is_required() { "true" } else { "false" };
        [
            field("label", content.label().as_str()),
            field("kind", content.kind().as_str()),
            field("required", required),
            field("help", content.help().map_or("", Text::as_str)),
        ]
        .into_iter()
        .chain(options)
    });
    fields.collect()
}

/// The fields of a role and its posting, with the values of another one. A title and a description that are the posting's own
/// are the role's.
fn quick_post_fields(
    request: &MemberRequest,
    role: &Value,
    places: &[Place],
    posting: &model::PostingContent,
) -> Vec<Field> {
    let model::PostingContent { title, public_description, requirements, questions: _ } = posting;
    let mut role = role.clone();
    if let Some(title) = title {
        role["title"] = json!(title);
    }
    if let Some(description) = public_description {
        role["description"] = json!(description);
    }
    let mut fields = role_fields(request, "role.", &role, places);
    fields.push(
        Field::line("job_posting.requirements", "Requirements")
            .of(FieldKind::Lines(5))
            .hint("Optional. Shown below the description. Markdown.")
            .with(requirements.as_ref().map_or("", Text::as_str)),
    );
    fields
}

/// Shows the form that edits a role.
pub(crate) async fn edit_role(request: Arc<MemberRequest>) -> Result<Reply<Html>, Error> {
    role_form(&request, &find_role(&request).await?)?.show(&request)
}

/// Saves a role.
pub(crate) async fn save_role(request: Arc<MemberRequest>) -> Result<Reply<Html>, Error> {
    if preview::is_wanted(&request) {
        let stored = preview::find(&request).await?;
        let edited = sent::<RolePatch>(&request).and_then(|fields| {
            let patch: RolePatch = read_form(&fields)?;
            let mistake = |(field, problem)| Error::Validation(vec![format!("{field} {problem}")]);
            patch.apply(stored.role.content.clone()).map_err(mistake)
        });
        return match edited {
            Ok(role) => Preview { role, ..Preview::of(stored) }.page(&request).await,
            Err(error) => {
                proposing(role_form(&request, &stored.role)?, &request, "").show_again(&request, error)
            }
        };
    }
    let saved = match sent::<RolePatch>(&request) {
        Ok(fields) => request.carry_out(request.call(fields), roles::update).await,
        Err(error) => Err(error),
    };
    match saved {
        Ok(_) => Ok(Notice::RoleSaved.redirect_to(&format!("/dashboard/roles/{}", request.context.id()?))),
        Err(error) => {
            let form = role_form(&request, &find_role(&request).await?)?;
            proposing(form, &request, "").show_again(&request, error)
        }
    }
}

fn role_form(request: &MemberRequest, role: &Role) -> Result<Form, Error> {
    let shown = shown(role, request);
    let (page, title) = (format!("/dashboard/roles/{}", role.id), role.content.title.as_str());
    let fields = role_fields(request, "", &json!(shown), role.content.places.list());
    let form = Form::new(Section::Roles, format!("Edit {title}"), fields, format!("{page}/edit"), "Save");
    Ok(form.below(page, title).of_version(entity_tag(&shown)?))
}

/// The form with a proposal for the currency: that of the country that the member has chosen.
fn proposing(form: Form, request: &MemberRequest, prefix: &str) -> Form {
    let (fields, _) = as_the_api_has_them(request);
    let country = [".locations[0].country", ".country"]
        .map(|name| fields.get(format!("{prefix}{name}").trim_start_matches('.')).parse::<Country>().ok());
    let currency = country.into_iter().flatten().next().and_then(Country::currency);
    let name = format!("{prefix}.pay.currency");
    form.proposing(name.trim_start_matches('.'), currency.map(Currency::code))
}

/// The fields of a role as the API has them. Fails with all mistakes of the form if an amount cannot be read.
fn sent<I: Input>(request: &MemberRequest) -> Result<Parameters, Error> {
    let (fields, mut mistakes) = as_the_api_has_them(request);
    if mistakes.is_empty() {
        return Ok(fields);
    }
    match read_form::<I>(&fields) {
        Ok(_) => {}
        Err(Error::Validation(others)) => mistakes.extend(others),
        Err(error) => return Err(error),
    }
    Err(Error::Validation(mistakes))
}

/// The fields of a role as the API has them, and the messages about amounts that cannot be read. The
/// form has one line for each place, a period also without any pay, and amounts as people type them.
fn as_the_api_has_them(request: &MemberRequest) -> (Parameters, Vec<String>) {
    let mut mistakes = Vec::new();
    let is_lines = |name: &str| matches!(name, "locations" | "role.locations");
    let fields = request.fields();
    let is_amount = |name: &str| name.ends_with("pay.min") || name.ends_with("pay.max");
    let has_pay = fields.iter().any(|(name, value)| is_amount(name) && !value.trim().is_empty());
    let is_pay = |name: &str| name.starts_with("pay.") || name.starts_with("role.pay.");
    let places = fields.iter().flat_map(|(name, value)| {
        let lines = value.lines().filter(|line| is_lines(name) && !line.trim().is_empty()).enumerate();
        let parts = move |(index, line)| {
            Place::parts_of(line)
                .map(move |(part, text)| (format!("{name}[{index}].{part}"), text.to_owned()))
        };
        lines.flat_map(parts)
    });
    let is_whole = |(name, value): &(&str, &str)| !is_lines(name) || value.trim().is_empty();
    let mut amount = |name: &str, value: &str| match Amount::typed(value) {
        Ok(amount) => amount.to_string(),
        Err(problem) => {
            mistakes.push(format!("{name} {problem}"));
            // A number that is no other mistake.
            if name.ends_with("max") { Salary::MAX } else { 0 }.to_string()
        }
    };
    let others: Vec<_> = fields
        .iter()
        .filter(is_whole)
        .map(|(name, value)| {
            let value = match value {
                _ if is_pay(name) && !has_pay => String::new(),
                value if is_amount(name) && !value.trim().is_empty() => amount(name, value),
                value => value.to_owned(),
            };
            (name.to_owned(), value)
        })
        .collect();
    (others.into_iter().chain(places).collect(), mistakes)
}

/// The fields of a role, with their values in `role`, which is the API's form of a role, and its places. `prefix` precedes
/// their names.
fn role_fields(request: &MemberRequest, prefix: &str, role: &Value, places: &[Place]) -> Vec<Field> {
    let field = |name: &str, label| {
        let value = match name.split('.').fold(role, |value, part| &value[part]) {
            Value::Null => String::new(),
            Value::String(text) => text.clone(),
            value => value.to_string(),
        };
        Field::line(format!("{prefix}{name}"), label).with(&value)
    };
    let periods = PayPeriod::ALL.map(|period| (period.as_str(), period.words()));
    let period = field("pay.period", "Pay is for").of(choices(periods));
    let period = if role["pay"].is_null() { period.with(PayPeriod::Year.as_str()) } else { period };
    let none = [("", "Not given")];
    let workplaces = RemotePolicy::ALL.map(|policy| (policy.as_str(), policy.words()));
    let employment = EmploymentType::ALL.map(|kind| (kind.as_str(), kind.words()));
    let countries = Country::all().map(|country| (country.code(), country.name()));
    // The currency of the organization's country comes first.
    let usual = request.named_organization().settings.country.and_then(Country::currency);
    let others = Currency::all().filter(|currency| Some(*currency) != usual);
    let currencies = usual.into_iter().chain(others).map(|currency| (currency.code(), currency.code()));
    vec![
        field("title", "Title").required().at_most(Title::MAX_LENGTH),
        field("department", "Department").at_most(Department::MAX_LENGTH),
        field("location", "Location").at_most(Location::MAX_LENGTH).hint("A city or a region, or the word Remote."),
        field("country", "Country").of(choices(none.into_iter().chain(countries))),
        field("locations", "Places")
            .of(FieldKind::Lines(3))
            .hint(
                "If there are several, or to have addresses in search engines: a line for each, as city; region; postal code; \
                 country. A part may be empty. Location and country then follow the first line.",
            )
            .with(&places.iter().map(Place::line).collect::<Vec<_>>().join("\n")),
        field("remote_policy", "Workplace").of(choices(none.into_iter().chain(workplaces))),
        field("employment_type", "Employment").of(choices(none.into_iter().chain(employment))),
        field("pay.min", "Pay from").on_keyboard("decimal").hint("Such as 60,000, 80k or 18.50."),
        field("pay.max", "Pay to").on_keyboard("decimal"),
        field("pay.currency", "Currency of the pay")
            .of(choices([("", "Choose one")].into_iter().chain(currencies)))
            .hint("If you choose none, the currency of the country is proposed, and nothing is saved yet."),
        period,
        field("closes_on", "Last day to apply")
            .of(FieldKind::Line("date"))
            .hint("Optional. The posting is taken off the career page at the end of this day, in the organization's time zone."),
        field("external_id", "Identifier in another system")
            .at_most(ExternalId::MAX_LENGTH)
            .hint("Optional. Only one role can have it."),
        field("description", "Description")
            .of(FieldKind::Lines(10))
            .hint("Markdown: headings, lists, bold, links and tables."),
    ]
}

/// The facts of a role that its page shows, with their labels.
pub(crate) fn role_facts(role: &Role, request: &MemberRequest) -> Vec<(&'static str, String)> {
    let fields = role_fields(request, "", &json!(shown(role, request)), &[]);
    let facts = fields.iter().filter(|field| {
        !matches!(field.name(), "title" | "description" | "locations") && !field.name().starts_with("pay.")
    });
    let places = role.content.places.list().iter().map(|place| ("Place", place.to_string()));
    let pay = role.content.pay;
    let words = pay.words().unwrap_or_else(|| "–".to_owned());
    facts.map(Field::fact).chain(places).chain([(pay.label(), words)]).collect()
}

/// The API's form of a role.
fn shown(role: &Role, request: &MemberRequest) -> responses::role::Role {
    responses::role::Role::of(role.clone(), request.organization(), request.context.base_url())
}

/// Shows the form of a role's posting.
pub(crate) async fn edit_posting(request: Arc<MemberRequest>) -> Result<Reply<Html>, Error> {
    posting_form(&request).await?.show(&request)
}

/// Creates or saves a role's posting.
pub(crate) async fn save_posting(request: Arc<MemberRequest>) -> Result<Reply<Html>, Error> {
    if preview::is_wanted(&request) {
        let stored = Preview::of(preview::find(&request).await?);
        let edited = request
            .input::<postings::PostingPatch>()
            .and_then(|patch| patch.apply(&stored.posting, || request.context.ids().next()));
        return match edited {
            Ok(posting) => Preview { posting, ..stored }.page(&request).await,
            Err(error) => posting_form(&request).await?.show_again(&request, error),
        };
    }
    let role = find_role(&request).await?;
    let saved = if let Some(link) = &role.posting {
        let call = HandlerCall { id: Some(link.id), ..request.call(request.fields()) };
        request.carry_out(call, postings::update).await.map(drop)
    } else {
        let in_object = |(name, value): (&str, &str)| (format!("job_posting.{name}"), value.to_owned());
        let role_id = ("role_id".to_owned(), role.id.to_string());
        let fields: Parameters = request.fields().iter().map(in_object).chain([role_id]).collect();
        request.carry_out(request.call(fields), postings::create).await.map(drop)
    };
    match saved {
        Ok(()) => Ok(Notice::PostingSaved.redirect_to(&format!("/dashboard/roles/{}", role.id))),
        Err(error) => posting_form(&request).await?.show_again(&request, with_short_paths(error)),
    }
}

/// The messages of a new posting begin with the path in the API's request, which has the fields in an object.
fn with_short_paths(error: Error) -> Error {
    match error {
        Error::Validation(messages) => {
            let short = |message: String| message.strip_prefix("job_posting.").unwrap_or(&message).to_owned();
            Error::Validation(messages.into_iter().map(short).collect())
        }
        error => error,
    }
}

async fn posting_form(request: &MemberRequest) -> Result<Form, Error> {
    let role = find_role(request).await?;
    let posting = find_posting(request, &role).await?;
    let empty = model::PostingContent::default();
    let content = posting.as_ref().map_or(&empty, |posting| &posting.content);
    let seen = match &posting {
        Some(posting) => entity_tag(&responses::posting::Posting::of(
            posting,
            &role,
            request.organization(),
            request.context.base_url(),
            request.context.now(),
        ))?,
        None => String::new(),
    };
    let text = |value: Option<&model::LongText>| value.map_or("", Text::as_str).to_owned();
    let fields = vec![
        Field::line("title", "Public title")
            .at_most(Title::MAX_LENGTH)
            .hint("Optional. Without one, the posting has the title of the role.")
            .with(content.title.as_ref().map_or("", Text::as_str)),
        Field::line("public_description", "Public description")
            .of(FieldKind::Lines(12))
            .hint("Optional. Without one, the posting has the description of the role. Markdown.")
            .with(&text(content.public_description.as_ref())),
        Field::line("requirements", "Requirements")
            .of(FieldKind::Lines(6))
            .hint("Optional. Markdown.")
            .with(&text(content.requirements.as_ref())),
    ];
    let (page, title) = (format!("/dashboard/roles/{}", role.id), role.content.title.as_str());
    let action = format!("{page}/posting");
    Ok(Form::new(Section::Roles, format!("Posting of {title}"), fields, action, "Save")
        .below(page, title)
        .lead("What candidates see on the career page. An empty title or description follows the role.")
        .of_version(seen))
}

async fn find_posting(request: &MemberRequest, role: &Role) -> Result<Option<Posting>, Error> {
    match &role.posting {
        Some(link) => Ok(request.context.store().find_posting(request.tenant(), link.id).await?),
        None => Ok(None),
    }
}

async fn find_role(request: &MemberRequest) -> Result<Role, Error> {
    let found = request.context.store().find_role(request.tenant(), request.context.id()?).await?;
    found.ok_or(Error::NotFound)
}

/// A choice of these values, with their labels.
fn choices<'c>(values: impl IntoIterator<Item = (&'c str, &'c str)>) -> FieldKind {
    FieldKind::Choice(values.into_iter().map(|(value, label)| (value.to_owned(), label.to_owned())).collect())
}
