//! The Lambda entry point of the `careers` function.

fn main() -> Result<(), lambda_http::Error> {
    shared::runtime::serve([careers::routes(), careers::pages()].concat())
}
