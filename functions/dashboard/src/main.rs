//! The function in Lambda.

fn main() -> Result<(), lambda_http::Error> {
    shared::runtime::serve(dashboard::pages())
}
