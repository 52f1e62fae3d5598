//! The Lambda entry point of the `oauth` function.

fn main() -> Result<(), lambda_http::Error> {
    shared::runtime::serve([oauth::routes(), oauth::pages()].concat())
}
