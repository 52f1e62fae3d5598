//! The Lambda entry point of the `dashboard` function.

fn main() -> Result<(), lambda_http::Error> {
    shared::runtime::serve(dashboard::pages())
}
