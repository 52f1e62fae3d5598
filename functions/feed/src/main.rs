//! The Lambda entry point of the `feed` function.
fn main() -> Result<(), lambda_http::Error> {
    shared::runtime::schedule(feed::answer)
}
