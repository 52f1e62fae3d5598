//! The Lambda entry point of the `dashboard_roles` function.

fn main() -> Result<(), lambda_http::Error> {
    shared::runtime::serve(dashboard::roles())
}
