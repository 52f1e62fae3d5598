//! The Lambda entry point of the `docs` function.
fn main() -> Result<(), lambda_http::Error> {
    shared::runtime::serve_documents([docs::routes(), docs::pages()].concat())
}
