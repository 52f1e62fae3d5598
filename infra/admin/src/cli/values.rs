//! The values of arguments.

use shared::model::Text;

pub(super) fn text<const MAX: usize>(argument: &str) -> Result<Text<MAX>, String> {
    Text::parse(argument)?.ok_or_else(|| "can't be blank".to_owned())
}

pub(super) fn endpoint(argument: &str) -> Result<String, String> {
    let rest = argument.strip_prefix("http://").or_else(|| argument.strip_prefix("https://"));
    match rest {
        Some(rest) if !rest.is_empty() => Ok(argument.to_owned()),
        _ => Err("must begin with http:// or https://".to_owned()),
    }
}

pub(super) fn base_url(argument: &str) -> Result<String, String> {
    endpoint(argument.trim_end_matches('/'))
}
