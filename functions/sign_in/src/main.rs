//! The Lambda entry point of the `sign_in` function.

fn main() -> Result<(), lambda_http::Error> {
    shared::runtime::serve(sign_in::pages())
}
