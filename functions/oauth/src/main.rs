//! The function in Lambda.

fn main() -> Result<(), lambda_http::Error> {
    shared::runtime::serve([oauth::routes(), oauth::pages()].concat())
}
