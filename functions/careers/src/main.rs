//! The function in Lambda.

fn main() -> Result<(), lambda_http::Error> {
    shared::runtime::serve([careers::routes(), careers::pages()].concat())
}
