//! The Lambda entry point of the `job_postings` function.
fn main() -> Result<(), lambda_http::Error> {
    shared::runtime::serve(job_postings::routes())
}
