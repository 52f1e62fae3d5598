//! The Lambda entry point of the `mcp` function.
fn main() -> Result<(), lambda_http::Error> {
    shared::runtime::serve([mcp::routes(), mcp::with_slash()].concat())
}
