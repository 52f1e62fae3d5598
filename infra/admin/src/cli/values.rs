//! The values of arguments.

use shared::secret::Secret;

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

pub(super) fn token(argument: &str) -> Result<Secret, String> {
    if argument.is_empty() || !argument.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err("must be visible ASCII without spaces".to_owned());
    }
    Ok(Secret::new(argument))
}
