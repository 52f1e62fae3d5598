//! Voice screens: AI interviews by telephone. Clients read them; candidates are invited to them, and the voice provider
//! reports on them.
//!
//! | Method | Path | What |
//! |---|---|---|
//! | GET | `/api/v1/voice_screens` | list, by `role_id` and `status` where given |
//! | GET | `/api/v1/voice_screens/{id}` | show with transcript, highlights and red flags |

use serde::Serialize;
use shared::http::{Call, Collection, Error, Fields, Input, Listing, Reply, Row};
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

/// Which screens to list.
pub struct ScreenFilter {
    /// Those for this role.
    role_id: Option<Id>,
    /// Those in this status.
    status: Option<ScreenStatus>,
}

impl Input for ScreenFilter {
    fn read(fields: &mut impl Fields) -> Option<Self> {
        Some(Self { role_id: fields.optional("role_id"), status: fields.optional("status") })
    }
}

/// A screen with the whole conversation.
#[derive(Debug, Serialize, ToSchema)]
pub struct ScreenDetail {
    #[serde(flatten)]
    screen: Screen,
    /// What was said.
    transcript: Vec<Turn>,
    /// What speaks for the candidate.
    highlights: Vec<Excerpt>,
    /// What speaks against.
    red_flags: Vec<Excerpt>,
}

/// Lists the organization's voice screens, newest first: those for a role, those in a status, or both.
async fn list(call: Call<Listing<ScreenFilter>>) -> Result<Reply<Collection<Screen>>, Error> {
    let (filter, page) = call.listing()?;
    let screens = call.store().list_screens(call.tenant(), filter.role_id, filter.status, &page).await?;
    call.reply(screens, Screen::from)
}

/// Shows a voice screen with its transcript and what was noticed in it.
async fn show(call: Call<()>) -> Result<Reply<ScreenDetail>, Error> {
    let found = call.store().find_screen_page(call.tenant(), call.id()?).await?;
    let (file, transcript) = found.ok_or(Error::NotFound)?;
    call.input()?;
    Reply::resource(&ScreenDetail {
        screen: file.screen.into(),
        transcript,
        highlights: file.highlights,
        red_flags: file.red_flags,
    })
}
