//! The Lambda entry point of the `tasks` function.
fn main() -> Result<(), lambda_http::Error> {
    shared::runtime::schedule(tasks::answer)
}
