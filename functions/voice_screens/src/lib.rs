//! Voice screens: AI interviews by phone. An invitation creates a screen, and the voice provider reports the result.
//!
//! | Method | Path | Description |
//! |---|---|---|
//! | GET | `/api/v1/voice_screens` | list, optionally by `role_id` and `status` |
//! | GET | `/api/v1/voice_screens/{id}` | show with transcript, highlights and red flags |

use serde::Serialize;
use shared::http::{ApiRequest, Collection, Error, Fields, Input, Listing, Reply, Row};
use shared::id::Id;
use shared::model::{Excerpt, Scope, ScreenStatus, Turn};
use shared::resources::screen::Screen;
use utoipa::ToSchema;

/// The function's routes.
pub fn routes<R: Row>() -> Vec<R> {
    vec![
        R::new("GET /api/v1/voice_screens", Scope::VoiceScreensRead, list),
        R::new("GET /api/v1/voice_screens/{id}", Scope::VoiceScreensRead, show),
    ]
}

/// Filters for the list of voice screens.
pub struct ScreenFilter {
    /// Returns only screens for this role.
    role_id: Option<Id>,
    /// Returns only screens in this status.
    status: Option<ScreenStatus>,
}

impl Input for ScreenFilter {
    fn read(fields: &mut impl Fields) -> Option<Self> {
        Some(Self { role_id: fields.optional("role_id"), status: fields.optional("status") })
    }
}

/// A voice screen with its transcript, highlights and red flags.
#[derive(Debug, Serialize, ToSchema)]
pub struct ScreenDetail {
    #[serde(flatten)]
    screen: Screen,
    /// The transcript of the conversation.
    transcript: Vec<Turn>,
    /// Points in favor of the candidate.
    highlights: Vec<Excerpt>,
    /// Concerns about the candidate.
    red_flags: Vec<Excerpt>,
}

/// Lists voice screens, newest first. `role_id` and `status` narrow the list and can be combined.
async fn list(request: ApiRequest<Listing<ScreenFilter>>) -> Result<Reply<Collection<Screen>>, Error> {
    let (filter, page) = request.listing()?;
    let screens =
        request.context.store().list_screens(request.tenant(), filter.role_id, filter.status, &page).await?;
    request.reply(screens, Screen::from)
}

/// Returns a voice screen with its transcript, highlights and red flags.
async fn show(request: ApiRequest<()>) -> Result<Reply<ScreenDetail>, Error> {
    let found = request.context.store().find_screen_page(request.tenant(), request.context.id()?).await?;
    let (record, transcript) = found.ok_or(Error::NotFound)?;
    request.input()?;
    Reply::resource(&ScreenDetail {
        screen: record.screen.into(),
        transcript,
        highlights: record.highlights,
        red_flags: record.red_flags,
    })
}
