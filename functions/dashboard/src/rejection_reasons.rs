//! Settings > Rejection reasons: the reasons for which applications end.

use std::sync::Arc;

use shared::handlers::rejection_reasons::{self, RejectionReasons};
use shared::http::{Error, Html, MemberRequest, Parameters, Reply, entity_tag};
use shared::model::{self, EndedBy, Text};

use crate::form_page::{Field, FieldKind, Form};
use crate::layout::Section;
use crate::messages::Notice;

pub(crate) const PATH: &str = "/dashboard/settings/rejection-reasons";

/// Shows the reasons that can be chosen.
pub(crate) async fn show(request: Arc<MemberRequest>) -> Result<Reply<Html>, Error> {
    form(&request.context.store().get_rejection_reasons(request.tenant()).await?)?.show(&request)
}

/// Replaces the reasons, unless somebody else changed them after the page was opened.
pub(crate) async fn change(request: Arc<MemberRequest>) -> Result<Reply<Html>, Error> {
    let lines = lines(&request);
    let call = request.call(sent(&lines));
    match request.carry_out(call, rejection_reasons::replace_rejection_reasons).await {
        Ok(_) => Ok(Notice::RejectionReasonsSaved.redirect_to(PATH)),
        Err(error) => {
            let stored = request.context.store().get_rejection_reasons(request.tenant()).await?;
            form(&stored)?.show_again(&request, at_lines(error, &lines))
        }
    }
}

/// A line of the form: whose reason it is, the number of the line, and the name.
struct Line {
    by: EndedBy,
    number: usize,
    name: String,
}

/// The lines that are not blank.
fn lines(request: &MemberRequest) -> Vec<Line> {
    let form = request.page.form();
    let of = |by: EndedBy| {
        let lines = form.get(by.as_str()).lines().enumerate();
        let line = move |(number, name): (usize, &str)| Line { by, number, name: name.trim().to_owned() };
        lines.map(line).filter(|line| !line.name.is_empty()).collect::<Vec<_>>()
    };
    EndedBy::ALL.into_iter().flat_map(of).collect()
}

/// The list as the API has it.
fn sent(lines: &[Line]) -> Parameters {
    let fields = lines.iter().enumerate().flat_map(|(index, line)| {
        [("name", line.name.as_str()), ("by", line.by.as_str())]
            .map(|(field, value)| (format!("data[{index}].{field}"), value.to_owned()))
    });
    fields.collect()
}

/// The error with the lines of the form instead of the items of the list.
fn at_lines(error: Error, lines: &[Line]) -> Error {
    let Error::Validation(messages) = error else { return error };
    let at_line = |message: String| {
        let found = lines.iter().enumerate().find_map(|(index, line)| {
            let rest = message.strip_prefix(&format!("data[{index}]."))?;
            Some(format!("{}[{}].{rest}", line.by.as_str(), line.number))
        });
        found.unwrap_or(message)
    };
    Error::Validation(messages.into_iter().map(at_line).collect())
}

fn form(reasons: &model::RejectionReasons) -> Result<Form, Error> {
    let names = |by| {
        let names: Vec<_> = reasons.active(by).map(|reason| reason.name.as_str()).collect();
        names.join("\n")
    };
    let hint = "A line for each, in the order in which they are offered. A reason that you take out is no longer offered, \
                and stays where it was given.";
    let field = |by: EndedBy, label| {
        Field::line(by.as_str(), label).of(FieldKind::Lines(10)).hint(hint).with(&names(by))
    };
    let fields =
        vec![field(EndedBy::Team, "Why we reject"), field(EndedBy::Candidate, "Why candidates withdraw")];
    Ok(Form::new(Section::RejectionReasons, "Rejection reasons", fields, PATH, "Save")
        .lead("Whoever rejects somebody can choose a reason. Your live data and your test data each have their own list.")
        .of_version(entity_tag(&RejectionReasons::of(reasons))?))
}

/// The choices of a reason of this side.
pub(crate) fn choices(reasons: &model::RejectionReasons, by: EndedBy) -> FieldKind {
    let none = (String::new(), "None of the list".to_owned());
    let listed = reasons.active(by).map(|reason| (reason.id.to_string(), reason.name.as_str().to_owned()));
    FieldKind::Choice([none].into_iter().chain(listed).collect())
}

/// The name of a reason in the list, and otherwise its identifier.
pub(crate) fn name(reasons: &model::RejectionReasons, id: shared::id::Id) -> String {
    let reason = reasons.find(id).map(|reason| &reason.name).map(Text::as_str);
    reason.map_or_else(|| format!("Reason {id}"), ToOwned::to_owned)
}
