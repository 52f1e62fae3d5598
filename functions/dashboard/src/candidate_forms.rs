//! The forms that add and edit candidates, their applications and their notes.

use std::sync::Arc;

use shared::handlers::candidates::{CandidatePatch, NewCandidate};
use shared::handlers::responses;
use shared::handlers::responses::resume::ResumeLinks;
use shared::handlers::{candidates, files, notes as note_handlers};
use shared::http::{
    ApiRequest, Error, HandlerCall, Html, Input, MemberRequest, Parameters, Reply, entity_tag,
};
use shared::id::Id;
use shared::model::{
    Email, ExternalId, FileName, Name, Phone, Profile, Resume, RoleStatus, Source, Tags, Text,
};
use shared::services::files::{CheckedFile, ENDINGS, FileError};
use shared::store::Paging;

use crate::candidate_list::{candidate_path, in_list};
use crate::form_page::{Field, FieldKind, Form};
use crate::layout::Section;
use crate::messages::{Alert, Notice};
use crate::notes;
use crate::sources::{source_name, source_word};
use crate::tag_line::{line_of, tags_in};

/// The field of the resume file.
const RESUME_FILE: &str = "resume_file";
/// The hidden field of a form about somebody without an e-mail address, which may stay so.
const NO_EMAIL: &str = "no_email";
/// The maximum number of roles to choose from. Candidates apply for the newest open roles.
const ROLES: u32 = 100;

/// Shows the form that adds a candidate.
pub(crate) async fn new(request: Arc<MemberRequest>) -> Result<Reply<Html>, Error> {
    let role = request.context.query().get("role_id").to_owned();
    new_form(&request, &role).await?.show(&request)
}

/// Adds a candidate.
pub(crate) async fn create(request: Arc<MemberRequest>) -> Result<Reply<Html>, Error> {
    if request.page.lacks_part() {
        return new_form(&request, "").await?.show_again(&request, file_is_missing());
    }
    let (call, file) = (request.call(sent(&request)), checked_file(&request));
    let created = match &file {
        Err(wrong) => {
            request.carry_out(call, async |call: ApiRequest<NewCandidate>| refuse(&call, *wrong)).await
        }
        Ok(_) => request.carry_out(call, candidates::create).await,
    };
    match created {
        Ok(reply) => {
            let id = reply.created_id().ok_or(Error::NotFound)?;
            finish(&request, id, file.ok().flatten(), Notice::CandidateAdded).await
        }
        Err(error) => new_form(&request, "").await?.show_again(&request, error),
    }
}

/// What a form says that was sent on after a sign-in, without the file that was chosen before.
fn file_is_missing() -> Error {
    Error::Validation(vec![format!("{RESUME_FILE} Choose the file again. Everything else is still here.")])
}

/// The resume file in the form, if one was chosen and is accepted.
fn checked_file(request: &MemberRequest) -> Result<Option<CheckedFile>, FileError> {
    request.page.file().map(CheckedFile::check).transpose()
}

/// The error of a form whose file is not accepted, with all other problems of the form.
fn refuse<I: Input, O>(call: &ApiRequest<I>, wrong: FileError) -> Result<O, Error> {
    let mut messages = match call.input() {
        Ok(_) => Vec::new(),
        Err(Error::Validation(messages)) => messages,
        Err(error) => return Err(error),
    };
    messages.push(format!("{RESUME_FILE} {wrong}"));
    Err(Error::Validation(messages))
}

/// Attaches the file of a form that was carried out, and redirects to the candidate.
async fn finish(
    request: &MemberRequest,
    id: Id,
    file: Option<CheckedFile>,
    notice: Notice,
) -> Result<Reply<Html>, Error> {
    let page = candidate_path(request, id);
    let Some(file) = file else { return Ok(notice.redirect_to(&page)) };
    let call = request.call(Parameters::default());
    let key = call.key.map(|key| format!("{key} {}", file.digest()));
    let call = HandlerCall { id: Some(id), key, seen: None, ..call };
    let name = request.page.file_name().and_then(FileName::cut);
    match request.carry_out(call, async |call| files::upload(call, &file, name).await).await {
        Ok(_) => Ok(notice.redirect_to(&page)),
        Err(Error::Upstream { .. }) => Ok(Alert::ResumeNotSaved.redirect_to(&page)),
        Err(error) => Err(error),
    }
}

async fn new_form(request: &MemberRequest, role: &str) -> Result<Form, Error> {
    let mut fields = profile_fields(request, None);
    fields.insert(
        3,
        Field::line("role_id", "Applies for").of(open_roles(request, "No role yet").await?).with(role),
    );
    let action = "/dashboard/candidates/new";
    Ok(Form::new(Section::Candidates, "Add a candidate", fields, action, "Add candidate")
        .below("/dashboard/candidates", "Candidates")
        .lead("The candidate gets no message."))
}

/// Shows the form that edits a candidate.
pub(crate) async fn edit(request: Arc<MemberRequest>) -> Result<Reply<Html>, Error> {
    edit_form(&request).await?.show(&request)
}

/// Saves a candidate.
pub(crate) async fn save(request: Arc<MemberRequest>) -> Result<Reply<Html>, Error> {
    if request.page.lacks_part() {
        return edit_form(&request).await?.show_again(&request, file_is_missing());
    }
    let (fields, file) = (sent(&request), checked_file(&request));
    let has_file = request.page.file().is_some();
    let is_blank = |name: &str| fields.get(name).trim().is_empty();
    let mut others = vec!["resume", NO_EMAIL];
    // A form that shows no link to a resume file leaves the file as it is. A new file replaces the link.
    others.extend(
        (has_file || (is_blank("resume_url") && fields.get("resume") == "file")).then_some("resume_url"),
    );
    others.extend((is_blank("email") && !is_blank(NO_EMAIL)).then_some("email"));
    let call = request.call(without(&fields, &others));
    let saved = match &file {
        Err(wrong) => {
            request.carry_out(call, async |call: ApiRequest<CandidatePatch>| refuse(&call, *wrong)).await
        }
        Ok(_) => request.carry_out(call, candidates::update).await,
    };
    match saved {
        Ok(_) => finish(&request, request.context.id()?, file.ok().flatten(), Notice::CandidateSaved).await,
        Err(error) => edit_form(&request).await?.show_again(&request, error),
    }
}

/// The same fields without these.
fn without(fields: &Parameters, names: &[&str]) -> Parameters {
    let kept = fields.iter().filter(|(name, _)| !names.contains(name));
    kept.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

/// The fields of the form, with the API's word for a source that has a name, and with a field for each tag, which may have a
/// comma.
fn sent(request: &MemberRequest) -> Parameters {
    let fields = request.fields();
    let in_words = |(name, value): (&str, &str)| match name {
        "source" => vec![(name.to_owned(), source_word(value).to_owned())],
        "tags" => match tags_in(value) {
            tags if tags.is_empty() => vec![(name.to_owned(), String::new())],
            // One more than allowed is enough for the message.
            tags => (0..=Tags::MAX).zip(tags).map(|(index, tag)| (format!("{name}[{index}]"), tag)).collect(),
        },
        _ => vec![(name.to_owned(), value.to_owned())],
    };
    fields.iter().flat_map(in_words).collect()
}

async fn edit_form(request: &MemberRequest) -> Result<Form, Error> {
    let id = request.context.id()?;
    let found = request.context.store().find_candidate(request.tenant(), id).await?;
    let candidate = Error::unless_missing(found)?.candidate;
    let seen = entity_tag(&responses::candidate::Candidate::of(candidate.clone(), &ResumeLinks::Keys))?;
    let profile = &candidate.profile;
    let has_file = matches!(profile.resume, Some(Resume::File(_)));
    let hidden = [("resume", "file", has_file), (NO_EMAIL, "yes", profile.email.is_none())];
    let hidden = hidden.into_iter().filter(|(.., is_there)| *is_there);
    let (name, fields) = (profile.name.as_str(), profile_fields(request, Some(profile)));
    let action = format!("/dashboard/candidates/{id}/edit{}", in_list(request));
    Ok(Form::new(Section::Candidates, format!("Edit {name}"), fields, action, "Save")
        .below(candidate_path(request, id), name)
        .of_version(seen)
        .hiding(hidden.map(|(name, value, _)| (name, value.to_owned())).collect()))
}

fn profile_fields(request: &MemberRequest, profile: Option<&Profile>) -> Vec<Field> {
    let tags = profile.map(|profile| line_of(&profile.tags));
    let resume = profile.and_then(|profile| match &profile.resume {
        Some(Resume::Address(address)) => Some(address.as_str()),
        Some(Resume::File(_)) | None => None,
    });
    let file = Field::line(RESUME_FILE, "Resume file").of(FieldKind::File(ENDINGS)).hint(
        "Optional. PDF, DOC, DOCX, ODT, RTF or TXT, up to 4 MB. It replaces the link or the file of this candidate. The history \
         keeps earlier files.",
    );
    let takes_files = request.context.stores_files();
    let email = Field::line("email", "E-mail address").of(FieldKind::Line("email")).at_most(Email::MAX);
    let email = match profile.map(|profile| &profile.email) {
        Some(Some(known)) => email.required().with(known.as_str()),
        Some(None) => email.hint("Optional, because none is known yet."),
        None => email.required(),
    };
    let mut fields = vec![
        Field::line("name", "Name").required().at_most(Name::MAX_LENGTH).with(profile.map_or("", |profile| profile.name.as_str())),
        email,
        Field::line("phone", "Phone number")
            .of(FieldKind::Line("tel"))
            .hint("Optional. With the country code, such as +1 212 555 0123, if it is not of the role's or the organization's country.")
            .with(profile.and_then(|profile| profile.phone.as_ref()).map_or("", Phone::as_str)),
        Field::line("resume_url", "Link to a resume")
            .of(FieldKind::Line("url"))
            .hint("Optional. A file that the candidate uploaded stays if this is empty.")
            .with(resume.unwrap_or_default()),
        Field::line("source", "Source")
            .hint("Optional: where the candidate came from, such as referral.")
            .with(profile.and_then(|profile| profile.source.as_ref()).map_or("", |source| source_name(source.as_str()))),
        Field::line("tags", "Tags")
            .hint("Optional, separated by commas. Put quotation marks around a tag with a comma: \"Berlin, Germany\".")
            .with(&tags.unwrap_or_default()),
        Field::line("external_id", "Identifier in another system")
            .at_most(ExternalId::MAX_LENGTH)
            .hint("Optional.")
            .with(profile.and_then(|profile| profile.external_id.as_ref()).map_or("", Text::as_str)),
    ];
    if takes_files {
        fields.insert(4, file);
    }
    fields
}

/// Shows the form that adds an application.
pub(crate) async fn new_application(request: Arc<MemberRequest>) -> Result<Reply<Html>, Error> {
    application_form(&request).await?.show(&request)
}

/// Adds an application for another role.
pub(crate) async fn apply(request: Arc<MemberRequest>) -> Result<Reply<Html>, Error> {
    match request.carry_out(request.call(sent(&request)), candidates::apply).await {
        Ok(_) => Ok(Notice::Applied.redirect_to(&candidate_path(&request, request.context.id()?))),
        Err(error) => application_form(&request).await?.show_again(&request, error),
    }
}

async fn application_form(request: &MemberRequest) -> Result<Form, Error> {
    let id = request.context.id()?;
    let found = request.context.store().find_candidate(request.tenant(), id).await?;
    let name = Error::unless_missing(found)?.candidate.profile.name.as_str().to_owned();
    let fields = vec![
        Field::line("role_id", "Role").of(open_roles(request, "Choose a role").await?),
        Field::line("source", "Source")
            .hint("Optional: where the application came from.")
            .with(source_name(Source::MANUAL.as_str())),
    ];
    let action = format!("/dashboard/candidates/{id}/applications{}", in_list(request));
    let title = format!("Add an application of {name}");
    Ok(Form::new(Section::Candidates, title, fields, action, "Add application")
        .below(candidate_path(request, id), name)
        .lead("A candidate can apply for each open role once."))
}

/// A choice of the newest open roles. `none` is the label of no role.
async fn open_roles(request: &MemberRequest, none: &str) -> Result<FieldKind, Error> {
    let first = Paging { limit: ROLES, before: None };
    let roles = request.context.store().list_roles(request.tenant(), Some(RoleStatus::Open), &first).await?;
    let choices =
        roles.items.iter().map(|role| (role.id.to_string(), role.content.title.as_str().to_owned()));
    Ok(FieldKind::Choice([(String::new(), none.to_owned())].into_iter().chain(choices).collect()))
}

/// Adds a note.
pub(crate) async fn add_note(request: Arc<MemberRequest>) -> Result<Reply<Html>, Error> {
    let id = request.context.id()?;
    match request.carry_out(request.call(request.fields()), note_handlers::create_note).await {
        Ok(_) => Ok(Notice::NoteAdded.redirect_to(&candidate_path(&request, id))),
        Err(error) => {
            let fields =
                vec![Field::line("text", "Note").of(FieldKind::Lines(5)).hint(notes::HINT).required()];
            let action = format!("/dashboard/candidates/{id}/notes{}", in_list(&request));
            Form::new(Section::Candidates, "Add a note", fields, action, "Add note")
                .below(candidate_path(&request, id), "Back to the candidate")
                .lead("Notes are for your team.")
                .show_again(&request, error)
        }
    }
}

/// Saves what the author of a note has edited.
pub(crate) async fn edit_note(request: Arc<MemberRequest>) -> Result<Reply<Html>, Error> {
    let page = candidate_path(&request, request.context.id()?);
    match request.carry_out(request.call(request.fields()), note_handlers::update_note).await {
        Ok(_) => Ok(Notice::NoteSaved.redirect_to(&page)),
        Err(error) => note_form(&request).await?.show_again(&request, error),
    }
}

/// The form that edits a note.
async fn note_form(request: &MemberRequest) -> Result<Form, Error> {
    let (candidate, context) = (request.context.id()?, &request.context);
    let id = context.path_parameter("note_id").parse().map_err(|_| Error::NotFound)?;
    let note = context.store().find_note(request.tenant(), candidate, id).await?.ok_or(Error::NotFound)?;
    let field = Field::line("text", "Note").of(FieldKind::Lines(5)).hint(notes::HINT).required();
    let action = format!("/dashboard/candidates/{candidate}/notes/{id}/edit{}", in_list(request));
    let fields = vec![field.with(note.text.as_str())];
    Ok(Form::new(Section::Candidates, "Edit a note", fields, action, "Save note")
        .below(candidate_path(request, candidate), "Back to the candidate")
        .lead("Notes are for your team.")
        .of_version(notes::version(candidate, &note)?))
}

/// Deletes a note.
pub(crate) async fn delete_note(request: Arc<MemberRequest>) -> Result<Reply<Html>, Error> {
    let page = candidate_path(&request, request.context.id()?);
    match request.carry_out(request.call(request.fields()), note_handlers::delete_note).await {
        Ok(_) => Ok(Notice::NoteDeleted.redirect_to(&page)),
        Err(Error::LegalHold) => Ok(Alert::NothingDeleted.redirect_to(&page)),
        Err(error) => Err(error),
    }
}
