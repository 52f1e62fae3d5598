//! What must hold of the items of the table once all is quiet.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::Value;

use crate::clients::{Clients, DAILY_QUOTA, Known, Tenant, is_erasure};
use crate::contents::Item;
use shared::clock::Timestamp;

/// The entries of the search index end with this number minus the candidate's.
const LAST_ID: u64 = (1 << 53) - 1;

/// Returns the invariants of all items that do not hold now.
pub(crate) fn broken(all: &[Arc<Item>], now: Timestamp, clients: &Clients) -> Vec<String> {
    let mut broken = late_tasks(all, now.as_millisecond());
    for tenant in &clients.tenants {
        let mut items = Items { tenant, partitions: BTreeMap::new(), broken: Vec::new() };
        for item in all {
            let key = text(&item.value, "pk");
            let Some(rest) = key.strip_prefix(&tenant.id).and_then(|rest| rest.strip_prefix('#')) else {
                continue;
            };
            items.partitions.entry(rest).or_default().push(&item.value);
            // Members give an application access to both modes.
            let is_foreign = item.words.iter().any(|word| *word != tenant.word);
            if is_foreign && !item.text.contains("assistant of ") {
                items.fail(&format!("an item has words of another tenant: {}", item.value));
            }
        }
        items.check(&tenant.known());
        broken.append(&mut items.broken);
        broken.extend(left_of_erased(&tenant.known(), all));
    }
    broken
}

/// No task waits that should have been done.
fn late_tasks(all: &[Arc<Item>], now: i64) -> Vec<String> {
    let tasks = all.iter().map(|item| &item.value);
    let tasks = tasks.filter(|item| text(item, "pk").starts_with("TASK#")).map(|item| text(item, "sk"));
    let is_late = |task: &&str| {
        let due: i64 = task.split('#').nth(3).and_then(|due| due.parse().ok()).unwrap_or(0);
        due < now - 60_000
    };
    tasks.filter(is_late).map(|task| format!("the task {task} was not done")).collect()
}

/// Nothing of an erased person is left.
fn left_of_erased(known: &Known, all: &[Arc<Item>]) -> Vec<String> {
    let gone = known.erased().into_iter().filter(|email| !known.is_known_again(email));
    let left = gone.flat_map(|email| {
        let folded = email.to_lowercase();
        let left = all.iter().filter(move |item| item.text.contains(&folded));
        left.map(move |item| format!("{email} was erased, but is in {}", item.value))
    });
    left.collect()
}

/// The items of a tenant.
struct Items<'i> {
    tenant: &'i Tenant,
    /// The items by the rest of their partition key, after the tenant.
    partitions: BTreeMap<&'i str, Vec<&'i Value>>,
    broken: Vec<String>,
}

impl<'i> Items<'i> {
    fn check(&mut self, known: &Known) {
        self.quota(known);
        self.creations(known);
        self.postings();
        self.search_index();
        self.claims("EMAIL#", "email");
        self.claims("PHONE#", "phone");
        self.applications();
        self.labels();
        self.records();
        self.counters(known);
        self.histories(known);
    }

    fn fail(&mut self, sentence: &str) {
        self.broken.push(format!("{}: {sentence}", self.tenant.word));
    }

    /// The items of a partition.
    fn of(&self, partition: &str) -> Vec<&'i Value> {
        self.partitions.get(partition).cloned().unwrap_or_default()
    }

    /// The items of all partitions whose keys begin like this.
    fn below(&self, start: &str) -> Vec<&'i Value> {
        let partitions = self.partitions.range(start..).take_while(|(key, _)| key.starts_with(start));
        partitions.flat_map(|(_, items)| items.iter().copied()).collect()
    }

    /// Every admitted request is counted once, and one without an answer at most once. No day has more than the quota.
    fn quota(&mut self, known: &Known) {
        let mut days = BTreeMap::<&str, u64>::new();
        for item in self.below("GATE") {
            for (name, count) in item.as_object().into_iter().flatten() {
                if let Some(day) = name.strip_prefix("day_") {
                    *days.entry(day).or_default() += plain_number(count);
                }
            }
        }
        for item in self.of("USAGE") {
            *days.entry(text(item, "day")).or_default() += number(item, "requests");
        }
        let counted: u64 = days.values().sum();
        let (least, most) = (known.admitted, known.admitted + known.uncertain);
        if counted < least || counted > most {
            self.fail(&format!(
                "{counted} requests are counted, but {least} to {most} were admitted: {days:?}"
            ));
        }
        if self.tenant.is_free && days.values().any(|count| *count > DAILY_QUOTA) {
            self.fail(&format!("the quota was exceeded: {days:?}"));
        }
    }

    /// A creation that succeeded has one role or candidate, and one that failed has none. Quick posts have a posting.
    fn creations(&mut self, known: &Known) {
        for (act, answer) in &known.acts {
            let answer = answer.as_ref().filter(|answer| answer.status == 201);
            let (kind, id, name) = match act.path.as_str() {
                "/api/v1/quick_post" => ("ROLE", answer.map(|answer| &answer.body["role"]["id"]), "title"),
                "/api/v1/roles" => ("ROLE", answer.map(|answer| &answer.body["id"]), "title"),
                "/api/v1/candidates" => ("CANDIDATE", answer.map(|answer| &answer.body["id"]), "name"),
                _ => continue,
            };
            let id = id.and_then(Value::as_u64);
            // A candidate may have another name since.
            let is_named = |item: &&&Value| text(item, name) == act.name || Some(number(item, "id")) == id;
            let items = self.of(kind);
            let created = items.iter().filter(is_named).count();
            let is_erased = self.of("ERASED").iter().any(|item| Some(number(item, "id")) == id);
            if created + usize::from(is_erased) != usize::from(id.is_some()) {
                self.fail(&format!("{act:?} was answered with {answer:?}, and {created} exist"));
            }
            let postings = self.of("POSTING");
            let own = postings.iter().filter(|posting| Some(number(posting, "role_id")) == id).count();
            if act.path.ends_with("/quick_post") && id.is_some() && own != 1 {
                self.fail(&format!("the quick post {} has {own} postings", act.name));
            }
        }
        let candidates = self.of("CANDIDATE");
        for email in &known.applicants {
            let is_same = |other: &str| other.eq_ignore_ascii_case(email);
            let exists = candidates.iter().any(|candidate| is_same(text(candidate, "email")));
            if !exists && !known.erased().iter().any(|erased| is_same(erased)) {
                self.fail(&format!("{email} applied, but is no candidate"));
            }
        }
    }

    /// No closed role has a published posting. The openings are the published postings of open roles. Each posting is in
    /// the list of its role and has its slug.
    fn postings(&mut self) {
        let roles: BTreeMap<_, _> =
            self.of("ROLE").iter().map(|role| (number(role, "id"), text(role, "status"))).collect();
        let postings = self.of("POSTING");
        let is_published = |posting: &Value| posting["published"]["BOOL"] == true;
        let mut open = BTreeSet::new();
        for posting in &postings {
            let (id, role) = (number(posting, "id"), number(posting, "role_id"));
            match roles.get(&role) {
                None => self.fail(&format!("the posting {id} has no role")),
                Some(&"closed") if is_published(posting) => {
                    self.fail(&format!("the closed role {role} has a published posting"));
                }
                Some(&"open") if is_published(posting) => drop(open.insert(id)),
                Some(_) => {}
            }
            let is_same =
                |other: &&Value| number(other, "id") == id && is_published(other) == is_published(posting);
            if self.of("ROLE_POSTING").into_iter().filter(is_same).count() != 1 {
                self.fail(&format!("the role {role} does not have its posting {posting}"));
            }
            if !self.of("SLUG").iter().any(|slug| text(slug, "sk") == text(posting, "slug")) {
                self.fail(&format!("the slug of {posting} is not claimed"));
            }
        }
        let openings = ids(&self.of("OPENING"));
        if openings != open {
            self.fail(&format!("the openings are {openings:?} instead of {open:?}"));
        }
    }

    /// The search index has an entry for each word of each candidate, and no others.
    fn search_index(&mut self) {
        let mut entries = BTreeMap::<u64, BTreeSet<&str>>::new();
        let mut listed = BTreeMap::<u64, BTreeSet<&str>>::new();
        for entry in self.of("WORD") {
            let Some((word, end)) = text(entry, "sk").rsplit_once('#') else { continue };
            let id = LAST_ID - end.parse::<u64>().unwrap_or_default();
            entries.entry(id).or_default().insert(word);
            let words = entry["words"]["L"].as_array().into_iter().flatten();
            listed.entry(id).or_default().extend(words.filter_map(|word| word["S"].as_str()));
        }
        let left = self.of("FORMER_WORDS");
        if !left.is_empty() {
            self.fail(&format!("the entries of former words may still be in the search index: {left:?}"));
        }
        let candidates = self.of("CANDIDATE");
        if entries.keys().copied().collect::<BTreeSet<_>>() != ids(&candidates) || entries != listed {
            self.fail(&format!("the search index has {entries:?} instead of {listed:?}"));
        }
        for candidate in candidates {
            let name = text(candidate, "name").to_lowercase();
            let words = entries.get(&number(candidate, "id"));
            let is_found = |word: &str| words.is_some_and(|words| words.contains(word));
            if !name.split([' ', '.']).filter(|word| !word.is_empty()).all(is_found) {
                self.fail(&format!("{name} is not in the search index: {words:?}"));
            }
        }
    }

    /// Every candidate with a value has one item that is found by it, and nobody else has one.
    fn claims(&mut self, partitions: &str, attribute: &str) {
        let mut claims: Vec<_> = self.below(partitions).iter().map(|claim| number(claim, "id")).collect();
        claims.sort_unstable();
        let mut owners: Vec<_> = self.of("CANDIDATE");
        owners.retain(|candidate| !text(candidate, attribute).is_empty());
        let mut owners: Vec<_> = owners.iter().map(|candidate| number(candidate, "id")).collect();
        owners.sort_unstable();
        if claims != owners {
            self.fail(&format!(
                "the candidates {owners:?} have the attribute {attribute}, and {claims:?} its items"
            ));
        }
    }

    /// An application is in its two lists, its candidate exists, and while it is in an open stage it knows whether its
    /// role is closed.
    fn applications(&mut self) {
        let closed: Vec<_> =
            self.of("ROLE").into_iter().filter(|role| text(role, "status") == "closed").collect();
        let closed = ids(&closed);
        let places = |items: Vec<&Value>| -> BTreeSet<_> {
            items.iter().map(|item| (number(item, "id"), text(item, "stage").to_owned())).collect()
        };
        let (all, of_roles) = (places(self.of("APPLICATION")), places(self.below("ROLE_APPLICATION#")));
        if all != of_roles {
            self.fail(&format!("the applications are {all:?}, and those of the roles {of_roles:?}"));
        }
        let candidates = ids(&self.of("CANDIDATE"));
        for application in self.of("APPLICATION") {
            let candidate = number(application, "candidate_id");
            if !candidates.contains(&candidate) {
                self.fail(&format!("the application {application} has no candidate"));
            }
            let is_final = matches!(text(application, "stage"), "hired" | "rejected");
            let is_closed = closed.contains(&number(application, "role_id"));
            if !is_final && application["role_closed"]["BOOL"] != is_closed {
                self.fail(&format!("the role is closed: {is_closed}, but {application}"));
            }
        }
    }

    /// An application has an entry in its role's lists for each of its labels, and no others.
    fn labels(&mut self) {
        let mut entries = BTreeMap::<_, usize>::new();
        for entry in self.below("LABELLED#") {
            let role = text(entry, "pk").rsplit('#').next().and_then(|role| role.parse().ok()).unwrap_or(0);
            *entries.entry((role, number(entry, "id"), number(entry, "candidate_id"))).or_default() += 1;
        }
        let candidates = self.of("CANDIDATE");
        let people: BTreeMap<_, _> =
            candidates.iter().map(|person| (number(person, "id"), *person)).collect();
        let labels = self.of("APPLICATION").into_iter().filter_map(|application| {
            let place = ["role_id", "id", "candidate_id"].map(|name| number(application, name));
            let person = *people.get(&place[2])?;
            let sources = [application, person].map(|item| text(item, "source").to_lowercase());
            let sources: BTreeSet<_> = sources.into_iter().filter(|source| !source.is_empty()).collect();
            let tags = person["tags"]["L"].as_array().map_or(0, Vec::len);
            let reasons = usize::from(number(application, "rejection_reason_id") > 0);
            Some((place.into(), sources.len() + tags + reasons))
        });
        let labels: BTreeMap<(u64, u64, u64), _> = labels.collect();
        if entries != labels {
            self.fail(&format!("the applications have the labels {entries:?} instead of {labels:?}"));
        }
    }

    /// A candidate's record and the items beside it have the applications of the lists, and the record knows how often those
    /// items were written.
    fn records(&mut self) {
        let place = |item: &Value| (number(item, "id"), text(item, "stage").to_owned());
        for candidate in self.of("CANDIDATE") {
            let items = self.of(&format!("CANDIDATE#{}", text(candidate, "sk")));
            let Some(record) = items.iter().find(|item| text(item, "sk") == "~FILE") else { continue };
            let further: Vec<_> =
                items.iter().filter(|item| text(item, "sk").starts_with("~APPLICATION#")).collect();
            // Of an application that was removed, only the number of writes is left.
            let present = further.iter().map(|item| **item).filter(|item| number(item, "id") > 0);
            let inside = record["applications"]["L"].as_array().into_iter().flatten();
            let own: BTreeSet<_> = inside.map(|one| &one["M"]).chain(present).map(place).collect();
            let id = number(candidate, "id");
            let listed = self.of("APPLICATION").into_iter();
            let listed = listed.filter(|one| number(one, "candidate_id") == id).map(place).collect();
            if own != listed {
                self.fail(&format!(
                    "the candidate {id} has the applications {own:?}, and the lists {listed:?}"
                ));
            }
            let written: u64 = further.iter().map(|item| number(item, "written")).sum();
            let is_later = |item: &&&&Value| number(item, "version") > number(record, "version");
            if written != number(record, "written") || further.iter().any(|item| is_later(&item)) {
                self.fail(&format!("the record of {id} does not agree with its applications: {items:?}"));
            }
        }
    }

    /// The counters are the numbers of what they count. Erased people stay counted as applicants.
    fn counters(&mut self, known: &Known) {
        let (mut left, applications) = (BTreeMap::<String, i64>::new(), self.of("APPLICATION"));
        let mut add = |name: String, count: i64| *left.entry(name).or_default() += count;
        for item in [self.of("HIRING_STATS"), self.of("NEW_PEOPLE")].concat() {
            for (name, count) in item.as_object().into_iter().flatten() {
                if name.starts_with("active_") || name == "screened" || name == "people" {
                    // The shard of a role that was closed can be negative.
                    add(name.clone(), count["N"].as_str().and_then(|count| count.parse().ok()).unwrap_or(0));
                }
            }
        }
        for person in [self.of("CANDIDATE"), self.of("ERASED")].concat() {
            if !text(person, "sk").starts_with('~') {
                add("people".to_owned(), -1);
            }
        }
        for application in &applications {
            let stage = text(application, "stage");
            if application["role_closed"]["BOOL"] == true || stage == "hired" || stage == "rejected" {
                continue;
            }
            add(format!("active_{stage}"), -1);
            if application["screened"]["BOOL"] == true && stage == "screening" {
                add("screened".to_owned(), -1);
            }
        }
        let erased = known.erasures();
        let mut wrong = Vec::new();
        for stats in self.of("ROLE_STATS") {
            let role = text(stats, "sk").parse().unwrap_or(0);
            let own = applications.iter().filter(|application| number(application, "role_id") == role);
            let mut stages = BTreeMap::<&str, u64>::new();
            for application in own.filter(|application| application["role_closed"]["BOOL"] == false) {
                *stages.entry(text(application, "stage")).or_default() += 1;
            }
            for (name, count) in stats.as_object().into_iter().flatten() {
                let Some(stage) = name.strip_prefix("now_") else { continue };
                let actual = stages.get(stage).copied().unwrap_or(0);
                if !stages.is_empty() && plain_number(count) != actual {
                    wrong.push(format!("{stage} of the role {role} is {count} instead of {actual}"));
                }
            }
            let actual = stages.values().sum::<u64>();
            let counted = number(stats, "applicants");
            if !stages.is_empty() && (counted < actual || counted > actual + erased) {
                wrong.push(format!("the role {role} counts {counted} applicants instead of {actual}"));
            }
        }
        let differing = left.into_iter().filter(|(_, left)| *left != 0);
        wrong.extend(differing.map(|(name, left)| format!("{name} differs by {left} from the items")));
        for sentence in wrong {
            self.fail(&sentence);
        }
    }

    /// The history of a candidate is complete, and each touchpoint has its own identifier.
    fn histories(&mut self, known: &Known) {
        for candidate in self.of("CANDIDATE") {
            let id = number(candidate, "id");
            let mut history = self.of(&format!("CANDIDATE#{}", text(candidate, "sk")));
            history.retain(|item| text(item, "sk").starts_with("HISTORY#"));
            let history: Vec<_> = history
                .iter()
                .flat_map(|item| item["touchpoints"]["L"].as_array().into_iter().flatten())
                .map(|touchpoint| &touchpoint["M"])
                .collect();
            let changes = known.acts.iter().filter(|(act, answer)| {
                let is_change = act.path.starts_with(&format!("/api/v1/candidates/{id}/"))
                    && !act.path.ends_with("/notes")
                    && !act.path.ends_with("/erase");
                is_change && answer.as_ref().is_some_and(|answer| answer.status < 300)
            });
            if history.len() < changes.count() + 1 || ids(&history).len() != history.len() {
                self.fail(&format!("the history of {id} is not complete: {history:?}"));
            }
        }
    }
}

pub(crate) fn text<'v>(item: &'v Value, name: &str) -> &'v str {
    item[name]["S"].as_str().unwrap_or_default()
}

fn number(item: &Value, name: &str) -> u64 {
    plain_number(&item[name])
}

fn plain_number(value: &Value) -> u64 {
    value["N"].as_str().and_then(|number| number.parse().ok()).unwrap_or_default()
}

fn ids(items: &[&Value]) -> BTreeSet<u64> {
    items.iter().map(|item| number(item, "id")).collect()
}

impl Known {
    /// The number of people who were erased, or whose import was undone.
    pub(crate) fn erasures(&self) -> u64 {
        self.acts.iter().filter(|act| is_erasure(act)).count() as u64 + self.undone
    }

    /// The addresses of the people who were erased. Some are erased more than once.
    pub(crate) fn erased(&self) -> Vec<String> {
        let email = |id: Option<u64>| {
            let mut created = self.acts.iter().filter(|(act, answer)| {
                act.path.ends_with("/candidates")
                    && answer.as_ref().is_some_and(|answer| answer.body["id"].as_u64() == id)
            });
            Some(created.next()?.0.body["email"].as_str()?.to_owned())
        };
        let erasures = self.acts.iter().filter(|act| is_erasure(act));
        let erased: BTreeSet<_> = erasures.filter_map(|(act, _)| act.path.split('/').nth(4)).collect();
        erased.into_iter().filter_map(|id| email(id.parse().ok())).collect()
    }

    /// Whether somebody with the address of an erased person has applied, was added once more, or may have been imported.
    fn is_known_again(&self, email: &str) -> bool {
        let erased = self.erased().iter().filter(|erased| erased.eq_ignore_ascii_case(email)).count();
        let added = self.acts.iter().filter(|(act, answer)| {
            act.path.ends_with("/candidates")
                && answer.as_ref().is_some_and(|answer| answer.status == 201)
                && act.body["email"].as_str().is_some_and(|other| other.eq_ignore_ascii_case(email))
        });
        let of_rows = self.acts.iter().flat_map(|(act, _)| act.body["rows"].as_array().into_iter().flatten());
        let is_imported =
            |row: &Value| row["email"].as_str().is_some_and(|other| other.eq_ignore_ascii_case(email));
        let mut imported = of_rows.filter(|row| is_imported(row));
        added.count() > erased
            || imported.next().is_some()
            || self.applicants.iter().any(|other| other.eq_ignore_ascii_case(email))
    }
}
