//! Channels: the organization's X and WhatsApp accounts, and jobs posted to X.

use shared::handlers::{channels, x_posts};
use shared::http::Row;
use shared::model::Scope;

/// The function's routes.
pub fn routes<R: Row>() -> Vec<R> {
    vec![
        R::new("GET /api/v1/channels", Scope::ChannelsRead, channels::show_channels),
        R::new("POST /api/v1/channels/x/post", Scope::ChannelsWrite, x_posts::post_job),
        R::new("GET /api/v1/channels/x/posts", Scope::ChannelsRead, x_posts::list_posts),
    ]
}
