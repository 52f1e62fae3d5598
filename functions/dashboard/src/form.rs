//! Problems with form fields, as sentences.

use shared::http::page::Problem;

/// Returns a field's problem as a sentence: the label followed by the message.
pub(crate) fn problem(field: &'static str, label: &str, message: &str) -> Problem {
    Problem { field, sentence: format!("{label} {message}.") }
}

/// Returns the value of a required field, or its problem. A blank field parses as `None`.
pub(crate) fn required<T>(
    field: &'static str,
    label: &str,
    parsed: Result<Option<T>, String>,
) -> Result<T, Problem> {
    match parsed {
        Ok(Some(value)) => Ok(value),
        Ok(None) => Err(problem(field, label, "can't be blank")),
        Err(message) => Err(problem(field, label, &message)),
    }
}

/// Returns the value, or adds its problem to the others.
pub(crate) fn collect<T>(value: Result<T, Problem>, problems: &mut Vec<Problem>) -> Option<T> {
    value.map_err(|problem| problems.push(problem)).ok()
}
