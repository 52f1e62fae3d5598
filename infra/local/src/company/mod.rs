//! The demo company: the roles, people, voice screens and posts with which the first demo organization begins on a new
//! data folder, in both modes.
//!
//! Everything happened in the 60 days before the start. The identifiers have the times of the events, and the choices are
//! the same at every start. The people's e-mail addresses and telephone numbers are reserved for examples. Each person is
//! written by one transaction of the store, so indexes, counters and history are those of real data.

mod dice;
mod journey;
mod people;
mod questions;
mod roles;
mod setting;

use futures_util::future::try_join;
use jiff::SignedDuration;
use shared::clock::later;
use shared::handlers::responses::posting::public_url;
use shared::http::Environment;
use shared::model::{Branding, Email, Mode, OrganizationSettings, Post, Style, Tenant, TimeZoneName, x_text};
use shared::providers::x_simulator;
use shared::store::{Store, Transaction};

use dice::Dice;
use journey::Journey;
use people::People;
use roles::{PlannedRole, ROLES};
pub use setting::Staff;
use setting::{Company, Outcome, Sources, hours, text};

/// The number of roles that the company has posted to X.
const POSTS: usize = 6;

/// Creates the company in both modes of an organization without any data.
pub async fn create(environment: &Environment, staff: &Staff) -> Result<(), String> {
    let [live, test] = Mode::ALL.map(|mode| create_in(environment, staff, mode));
    try_join(live, test).await.map(|_| ()).map_err(|error| error.to_string())
}

async fn create_in(environment: &Environment, staff: &Staff, mode: Mode) -> Outcome<()> {
    let (store, tenant) = (&environment.store, Tenant { organization: staff.organization, mode });
    let organization = store.find_organization(tenant).await?.ok_or("the organization is missing")?;
    let company = Company {
        tenant,
        organization,
        base_url: environment.config.base_url.clone().unwrap_or_default(),
        now: environment.clock.now(),
        dice: Dice::seeded(match mode {
            Mode::Live => 1,
            Mode::Test => 2,
        }),
        staff,
        sources: Sources::new()?,
    };
    let mut roles = Vec::new();
    for plan in &ROLES {
        let role = plan.carry_out(&company)?;
        let mut transaction = Transaction::new(tenant);
        role.insert(&mut transaction)?;
        store.commit(transaction).await?;
        roles.push(role);
    }
    let introduction = "We plan the routes of cargo bikes and electric vans in 40 cities, so that parcels arrive on time and \
                        streets stay quiet. We are 120 people in Berlin, London and New York.";
    let branding = Branding {
        name: company.organization.name.clone(),
        introduction: Some(text(introduction)?),
        accent: Some("#0b6e4f".parse()?),
        logo_url: None,
    };
    store.set_branding(&company.organization.organization, &branding).await?;
    let (country, time_zone) = ("DE".parse()?, "Europe/Berlin".parse::<TimeZoneName>()?);
    let contact: Email = "privacy@acme.example".parse()?;
    let change = |before: &OrganizationSettings| {
        let contact_email = Some(contact.clone());
        let time_zone = time_zone.clone();
        before.change(OrganizationSettings {
            country: Some(country),
            time_zone,
            contact_email,
            ..before.clone()
        })
    };
    store.change_organization_settings(tenant, change).await?;
    company.post(store, &roles).await?;
    for transaction in company.people(&roles)? {
        store.commit(transaction).await?;
    }
    Ok(())
}

impl Company<'_> {
    /// Posts the first open roles to X.
    async fn post(&self, store: &Store, roles: &[PlannedRole]) -> Outcome<()> {
        let open = roles.iter().filter(|role| role.is_open());
        for (role, style) in open.zip(Style::ALL.into_iter().cycle()).take(POSTS) {
            let (Some(posting), Some(opened_at)) = (&role.posting, role.opened_at()) else { continue };
            let content = &role.role.content;
            let places = content.places.words();
            let advert = x_text::Advert {
                title: content.title.as_str(),
                location: places.as_deref(),
                remote_policy: content.remote_policy(),
                pay: content.pay,
                url: &public_url(&self.base_url, &self.organization.organization, &posting.slug),
            };
            let at = hours(opened_at, 3);
            let id = self.ids_at(at).next();
            let post = Post::unconfirmed(id, posting.id, style, x_text::compose(&advert, style));
            let external_id =
                x_simulator::post(id.get(), &post.text, &[]).map_err(|error| error.sentence())?;
            let url = x_simulator::post_url(&external_id);
            let metrics = x_simulator::metrics(id.get(), at, self.now);
            let post = post.confirmed(external_id, url, at).measured(Some(metrics), self.now);
            let mut transaction = Transaction::new(self.tenant);
            transaction.insert_post(&post, at)?;
            store.commit(transaction).await?;
        }
        Ok(())
    }

    /// The people with everything that has happened to them: one transaction for each.
    fn people(&self, roles: &[PlannedRole]) -> Outcome<Vec<Transaction>> {
        let mut people = People::default();
        let mut hires: Vec<_> = roles.iter().map(|role| role.plan.hires).collect();
        let mut transactions = Vec::new();
        for (index, role) in roles.iter().enumerate() {
            let Some(opened_at) = role.opened_at() else { continue };
            let last = role.ended_at().unwrap_or(self.now);
            let minutes = u64::try_from(last.duration_since(opened_at).as_mins())?;
            for number in 0..role.plan.applicants {
                let person = people.next(&self.dice)?;
                // The first applicants of a role with a vacancy are hired. Most of the others apply early, and some in
                // the last nine days.
                let lucky = number < role.plan.hires;
                let after = if lucky {
                    self.dice.between(60, 3 * 24 * 60)
                } else if self.dice.chance(34) {
                    minutes.saturating_sub(self.dice.between(30, 9 * 24 * 60))
                } else {
                    self.dice.below(minutes).min(self.dice.below(minutes))
                };
                let applied_at = later(opened_at, SignedDuration::from_mins(i64::try_from(after)?));
                let mut journey = Journey::begin(self, person, role, applied_at)?;
                journey.walk(role, &mut hires[index], lucky)?;
                journey.follow(role);
                let other = usize::try_from(self.dice.below(u64::try_from(roles.len())?))?;
                if other != index && self.dice.chance(40) && journey.apply_again(&roles[other])? {
                    journey.walk(&roles[other], &mut hires[other], false)?;
                }
                transactions.push(journey.end()?);
            }
        }
        Ok(transactions)
    }
}
