//! The roles that rows name: by id, by external id or by title.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap};

use shared::handlers::import_row::ImportRole;
use shared::id::Id;
use shared::model::{CaseFolded, ExternalId, Role, RoleContent, Title};
use shared::store::{Paging, Transaction};
use tokio::sync::Mutex;

use super::worker::Worker;
use crate::TaskError;

/// The number of roles that one query reads.
const PAGE: u32 = 100;

/// What a row names.
#[derive(Clone, Debug)]
pub(super) enum RoleFound {
    /// A role of the tenant.
    Known(Box<Role>),
    /// A title that no role has, and the external id that the role gets. The import makes it.
    Missing(Title, Option<ExternalId>),
}

/// The roles that are known already.
#[derive(Default)]
pub(super) struct Roles {
    known: Mutex<Known>,
}

#[derive(Default)]
struct Known {
    ids: HashMap<Id, Option<Role>>,
    external_ids: HashMap<ExternalId, Option<Role>>,
    /// The roles with each title; `None` before the list was read.
    titles: Option<BTreeMap<CaseFolded, Vec<Role>>>,
}

impl Worker<'_> {
    /// The role that an application names. Fails with the end of a sentence about the field.
    pub(super) async fn find_named_role(
        &self,
        roles: &Roles,
        named: &ImportRole,
    ) -> Result<Result<RoleFound, String>, TaskError> {
        let mut known = roles.known.lock().await;
        if let Some(id) = named.id {
            let found = match known.ids.entry(id) {
                Entry::Occupied(found) => found.get().clone(),
                Entry::Vacant(unread) => unread.insert(self.store.find_role(self.tenant, id).await?).clone(),
            };
            return Ok(found.map(found_role).ok_or_else(|| "id must be the id of a role".to_owned()));
        }
        if let Some(id) = &named.external_id {
            let found = match known.external_ids.entry(id.clone()) {
                Entry::Occupied(found) => found.get().clone(),
                Entry::Vacant(unread) => {
                    let listed = self.store.find_role_by_external_id(self.tenant, id).await?;
                    unread.insert(listed.items.into_iter().next()).clone()
                }
            };
            if found.is_some() || named.title.is_none() {
                let unknown = || "external_id must be the external id of a role".to_owned();
                return Ok(found.map(found_role).ok_or_else(unknown));
            }
        }
        let Some(title) = &named.title else { return Ok(Err("must be named".to_owned())) };
        let by_title = match &mut known.titles {
            Some(by_title) => by_title,
            unread => unread.insert(self.read_titles().await?),
        };
        // One with another external id is another role.
        let may_be = |role: &&Role| named.external_id.is_none() || role.content.external_id.is_none();
        let found = by_title.get(&CaseFolded::of(title.as_str())).into_iter().flatten().filter(may_be);
        Ok(match found.collect::<Vec<_>>().as_slice() {
            [role] => Ok(found_role((*role).clone())),
            several if !several.is_empty() => {
                let ids: Vec<_> = several.iter().map(|role| role.id.to_string()).collect();
                Err(format!("title is that of several roles: name one of the ids {}", ids.join(", ")))
            }
            _ if names_several(by_title, title.as_str()) => {
                Err("title names several roles: each takes a row of its own".to_owned())
            }
            _ if !self.import.settings.create_roles => Err("title must be the title of a role".to_owned()),
            _ => Ok(RoleFound::Missing(title.clone(), named.external_id.clone())),
        })
    }

    /// Reads the roles by their titles without case.
    async fn read_titles(&self) -> Result<BTreeMap<CaseFolded, Vec<Role>>, TaskError> {
        let mut titles = BTreeMap::<_, Vec<Role>>::new();
        for role in self.read_roles().await? {
            titles.entry(CaseFolded::of(role.content.title.as_str())).or_default().push(role);
        }
        Ok(titles)
    }

    /// Reads all roles.
    pub(super) async fn read_roles(&self) -> Result<Vec<Role>, TaskError> {
        let (mut roles, mut before) = (Vec::new(), None);
        loop {
            let page = Paging { limit: PAGE, before };
            let listed = self.store.list_roles(self.tenant, None, &page).await?;
            roles.extend(listed.items);
            before = listed.next;
            if before.is_none() {
                return Ok(roles);
            }
        }
    }

    /// Makes a closed role with a title that no role has. Rows of the same title that are worked on at the same time get the
    /// same one.
    pub(super) async fn make_role(
        &self,
        roles: &Roles,
        title: &Title,
        external_id: Option<&ExternalId>,
    ) -> Result<Role, TaskError> {
        let mut known = roles.known.lock().await;
        // A change of another role may have made all forgotten.
        let by_title = match &mut known.titles {
            Some(by_title) => by_title,
            unread => unread.insert(self.read_titles().await?),
        };
        let made = by_title.entry(CaseFolded::of(title.as_str())).or_default();
        let is_same =
            |role: &&Role| external_id.is_none_or(|id| role.content.external_id.as_ref() == Some(id));
        if let Some(role) = made.iter().find(is_same) {
            return Ok(role.clone());
        }
        let mut content = RoleContent::titled(title.clone());
        content.external_id = external_id.cloned();
        let role = Role::draft(self.ids.next(), content, self.now).close(self.now);
        let mut transaction = Transaction::new(self.tenant);
        transaction.insert_role(&role)?;
        self.store.commit(transaction).await?;
        made.push(role.clone());
        if let Some(id) = external_id {
            known.external_ids.insert(id.clone(), Some(role.clone()));
        }
        Ok(role)
    }

    /// Forgets what is known of roles, because one has changed.
    pub(super) async fn forget_roles(roles: &Roles) {
        let mut known = roles.known.lock().await;
        known.ids.clear();
        known.external_ids.clear();
        known.titles = None;
    }
}

/// Whether a title is a list of the titles of roles.
fn names_several(by_title: &BTreeMap<CaseFolded, Vec<Role>>, title: &str) -> bool {
    [';', ','].iter().any(|separator| {
        let mut titles = title.split(*separator).map(|title| CaseFolded::of(title.trim()));
        title.contains(*separator) && titles.all(|title| by_title.contains_key(&title))
    })
}

fn found_role(role: Role) -> RoleFound {
    RoleFound::Known(Box::new(role))
}
