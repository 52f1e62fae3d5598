//! The floor: the smallest possible `lambda_http` function, which every function is compared with.

use lambda_http::{Body, Error, Request, Response, run, service_fn};

fn main() -> Result<(), Error> {
    let respond = |_: Request| async { Ok::<_, Error>(Response::new(Body::from("Hello, world!"))) };
    tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(run(service_fn(respond)))
}
