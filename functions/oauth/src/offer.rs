//! What a member can give an application: which of the requested scopes, and whether there is room for a further grant.

use shared::http::{Error, MemberRequest};
use shared::model::{MemberRole, Mode, NarrowedSite, Room, Scopes, Tenant};

/// What the consent page offers. Consents are given to what the page has shown and to nothing else.
pub(crate) struct Offer {
    /// The scopes.
    pub(crate) scopes: Scopes,
    /// The requested scopes that owners alone can give, if the member is not one.
    pub(crate) for_owners: Scopes,
    /// Why only reading is offered, if an owner has narrowed an application at the same site.
    pub(crate) narrowed: Option<NarrowedSite>,
    /// What a further grant requires in each mode.
    pub(crate) rooms: Vec<(Mode, Room)>,
    /// How often applications were connected or narrowed before this was read.
    pub(crate) seen: u64,
}

impl Offer {
    /// Reads what the member can give to an application at `site` that requests `scopes`.
    pub(crate) async fn find(member: &MemberRequest, site: &str, scopes: Scopes) -> Result<Self, Error> {
        let (store, organization) = (member.context.store(), member.tenant().organization);
        // It comes first: what is read later may only be newer.
        let seen = store.count_connections(organization).await?;
        let narrowed = store.find_narrowed_site(organization, site).await?;
        let mut rooms = Vec::new();
        for mode in Mode::ALL {
            let grants = store.list_good_grants(Tenant { organization, mode }, member.context.now()).await?;
            rooms.push((mode, Room::beside(grants, member.member().id)));
        }
        let of_owners = if member.member().role == MemberRole::Owner {
            Scopes::default()
        } else {
            Scopes::all().without(Scopes::of_members())
        };
        let given = scopes.without(of_owners);
        let given = if narrowed.is_some() { given.within(Scopes::for_reading()) } else { given };
        Ok(Self { scopes: given, for_owners: scopes.within(of_owners), narrowed, rooms, seen })
    }

    /// Why nothing can be given, if so.
    pub(crate) fn refusal(&self) -> Option<&'static str> {
        match (self.scopes.is_empty(), &self.narrowed) {
            (false, _) => None,
            (true, Some(_)) => Some("An owner allows this application only reading."),
            (true, None) => Some("Only owners can give the requested access."),
        }
    }

    /// The text by which the form repeats what the page has shown.
    pub(crate) fn text(&self) -> String {
        let rooms = self.rooms.iter().map(|(mode, room)| match room {
            Room::Free => format!("{}: free", mode.as_str()),
            Room::Ending(grant) => format!("{}: in place of {}", mode.as_str(), grant.id),
            Room::Full => format!("{}: full", mode.as_str()),
        });
        format!("{}; {}", self.scopes, rooms.collect::<Vec<_>>().join("; "))
    }

    /// What a further grant requires in this mode.
    pub(crate) fn room(&self, mode: Mode) -> &Room {
        let found = self.rooms.iter().find(|(known, _)| *known == mode);
        found.map_or(&Room::Full, |(_, room)| room)
    }
}
