//! What members have made and what gives access after they have lost it: API keys, connected applications and webhook
//! endpoints. The forms that end access list it.

use shared::http::{Error, MemberRequest};
use shared::id::Id;
use shared::model::{AuditActorTerm, EndpointStatus, Grant, Mode, Tenant, WebhookEndpoint};
use shared::store::ApiKey;

/// What the members of an organization have made, in both modes.
#[derive(Default)]
pub(crate) struct Holdings {
    keys: Vec<(Mode, ApiKey)>,
    grants: Vec<Grant>,
    endpoints: Vec<(Mode, WebhookEndpoint)>,
}

/// An API key that is handed over or ends if its creator is removed.
pub(crate) struct KeyOfMember<'p> {
    pub(crate) id: u64,
    pub(crate) mode: &'static str,
    pub(crate) name: &'p str,
    pub(crate) ending: &'p str,
}

/// A webhook endpoint that is disabled with the access of whoever chose its URL, unless the form says that it stays.
pub(crate) struct EndingEndpoint<'p> {
    pub(crate) id: u64,
    pub(crate) mode: &'static str,
    pub(crate) url: &'p str,
    /// Whether the dashboard shows its page in the current mode.
    pub(crate) has_page: bool,
}

impl<'p> EndingEndpoint<'p> {
    fn of(mode: Mode, endpoint: &'p WebhookEndpoint, shown: Mode) -> Self {
        Self {
            id: endpoint.id.get(),
            mode: mode.as_str(),
            url: endpoint.url.as_str(),
            has_page: mode == shown,
        }
    }

    /// The enabled endpoints of the current mode whose URL a key or an application has chosen.
    pub(crate) fn chosen_by(
        request: &MemberRequest,
        endpoints: &'p [WebhookEndpoint],
        chooser: AuditActorTerm,
    ) -> Vec<Self> {
        let mode = request.tenant().mode;
        let ending =
            endpoints.iter().filter(|endpoint| is_enabled(endpoint) && endpoint.is_chosen_by(chooser));
        ending.map(|endpoint| Self::of(mode, endpoint, mode)).collect()
    }
}

impl Holdings {
    /// Finds everything in both modes.
    pub(crate) async fn find(request: &MemberRequest) -> Result<Self, Error> {
        let (mut found, store) = (Self::default(), request.context.store());
        for mode in Mode::ALL {
            let tenant = Tenant { mode, ..request.tenant() };
            let keys = store.list_unrevoked_keys(tenant).await?;
            found.keys.extend(keys.into_iter().map(|key| (mode, key)));
            found.grants.extend(store.list_good_grants(tenant, request.context.now()).await?);
            let endpoints = store.list_all_webhook_endpoints(tenant).await?;
            found.endpoints.extend(endpoints.into_iter().map(|endpoint| (mode, endpoint)));
        }
        Ok(found)
    }

    fn made_by(&self, member: Id) -> impl Iterator<Item = &(Mode, ApiKey)> {
        self.keys.iter().filter(move |(_, key)| key.created_by == Some(member))
    }

    /// The API keys that the member created.
    pub(crate) fn keys_of(&self, member: Id) -> Vec<KeyOfMember<'_>> {
        let keys = self.made_by(member).map(|(mode, key)| KeyOfMember {
            id: key.id.get(),
            mode: mode.as_str(),
            name: &key.name,
            ending: &key.ending,
        });
        keys.collect()
    }

    /// The enabled webhook endpoints of the member.
    pub(crate) fn endpoints_of(&self, member: Id, shown: Mode) -> Vec<EndingEndpoint<'_>> {
        let of_member =
            |endpoint: &WebhookEndpoint| is_enabled(endpoint) && endpoint.member() == Some(member);
        let endpoints = self.endpoints.iter().filter(|(_, endpoint)| of_member(endpoint));
        endpoints.map(|(mode, endpoint)| EndingEndpoint::of(*mode, endpoint, shown)).collect()
    }

    /// The API keys and applications that end if the member is no longer an owner.
    pub(crate) fn for_owners_of(&self, member: Id) -> Vec<String> {
        let keys = self.made_by(member).filter(|(_, key)| key.scopes.need_owner());
        let keys = keys.map(|(_, key)| format!("the API key “{}”", key.name));
        let apps = self.grants.iter().filter(|grant| grant.member == member && grant.scopes.need_owner());
        keys.chain(apps.map(|grant| format!("the app “{}”", grant.client_name.as_str()))).collect()
    }
}

/// Whether the form says that this API key or webhook endpoint stays.
pub(crate) fn is_kept(request: &MemberRequest, mode: Mode, id: Id) -> bool {
    let value = format!("{} {id}", mode.as_str());
    request.page.form().all("keep").any(|kept| kept == value)
}

fn is_enabled(endpoint: &WebhookEndpoint) -> bool {
    endpoint.status() == EndpointStatus::Enabled
}
