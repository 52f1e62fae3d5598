//! The items of the table, as the checks read them.
//!
//! Most items of a run are those of its setup, so only the items are read that were written since the last time.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use dynoxide::Database;
use dynoxide::actions::get_item::GetItemRequest;
use dynoxide::actions::scan::ScanRequest;
use dynoxide::types::{self, AttributeValue};
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::{Value, json};

/// The table's name.
pub(crate) const TABLE: &str = "rolecall";
/// The word of each tenant, by organization and mode, which is in every text that its clients send.
pub(crate) const WORDS: [[&str; 2]; 2] = [["Quokka", "Wombat"], ["Numbat", "Bilby"]];

/// The key of an item.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Key {
    pk: KeyPart,
    sk: KeyPart,
}

#[derive(Clone, Debug, Deserialize, PartialEq, Eq, PartialOrd, Ord)]
struct KeyPart {
    #[serde(rename = "S")]
    text: String,
}

impl Key {
    /// The partition key.
    pub(crate) fn partition(&self) -> &str {
        &self.pk.text
    }
}

/// A request that writes, as far as the simulator reads it.
#[derive(Deserialize)]
pub(crate) struct Write {
    /// The token of a transaction.
    #[serde(rename = "ClientRequestToken", default)]
    pub(crate) token: String,
    #[serde(rename = "TransactItems", default)]
    actions: Vec<Action>,
    #[serde(rename = "Item", alias = "Key")]
    key: Option<Key>,
}

#[derive(Deserialize)]
enum Action {
    Put(Target),
    Update(Target),
    Delete(Target),
    ConditionCheck(IgnoredAny),
}

#[derive(Deserialize)]
struct Target {
    #[serde(rename = "Item", alias = "Key")]
    key: Key,
}

impl Write {
    /// The keys of the items that it writes.
    pub(crate) fn keys(&self) -> impl Iterator<Item = &Key> {
        let of_actions = self.actions.iter().filter_map(|action| match action {
            Action::Put(target) | Action::Update(target) | Action::Delete(target) => Some(&target.key),
            Action::ConditionCheck(_) => None,
        });
        self.key.iter().chain(of_actions)
    }
}

/// An item of the table.
#[derive(Debug)]
pub(crate) struct Item {
    /// The item as DynamoDB writes it in JSON.
    pub(crate) value: Value,
    /// The JSON in small letters.
    pub(crate) text: String,
    /// The tenants' words in the item.
    pub(crate) words: Vec<&'static str>,
}

impl Item {
    fn new(item: &types::Item) -> Self {
        let value = json!(item);
        // What is looked for is ASCII.
        let text = value.to_string().to_ascii_lowercase();
        let words = WORDS.as_flattened().iter().copied();
        let words = words.filter(|word| text.contains(&word.to_lowercase())).collect();
        Self { value, text, words }
    }
}

/// The items of a table.
#[derive(Clone, Debug, Default)]
pub(crate) struct Contents {
    items: BTreeMap<Key, Arc<Item>>,
    /// The keys of the items that were written since the last time.
    written: BTreeSet<Key>,
}

impl Contents {
    /// Reads all items of a table.
    pub(crate) fn of(table: &Database) -> Self {
        let (mut items, mut exclusive_start_key) = (BTreeMap::new(), None);
        loop {
            let request =
                ScanRequest { table_name: TABLE.to_owned(), exclusive_start_key, ..ScanRequest::default() };
            let page = table.scan(request).expect("a page");
            for item in page.items.iter().flatten() {
                let item = Item::new(item);
                items.insert(Key::deserialize(&item.value).expect("a key"), Arc::new(item));
            }
            exclusive_start_key = page.last_evaluated_key;
            if exclusive_start_key.is_none() {
                return Self { items, written: BTreeSet::new() };
            }
        }
    }

    /// Remembers the items that a request has written.
    pub(crate) fn written(&mut self, request: &Write) {
        self.written.extend(request.keys().cloned());
    }

    /// Whether these are all items of the table.
    pub(crate) fn are_complete(&mut self, table: &Database) -> bool {
        let scanned = Self::of(table).items;
        self.read(table).iter().map(|item| &item.value).eq(scanned.values().map(|item| &item.value))
    }

    /// Reads the items that were written, and returns all.
    pub(crate) fn read(&mut self, table: &Database) -> Vec<Arc<Item>> {
        for key in std::mem::take(&mut self.written) {
            let attributes = [("pk", &key.pk), ("sk", &key.sk)];
            let attributes =
                attributes.map(|(name, part)| (name.to_owned(), AttributeValue::S(part.text.clone())));
            let request = GetItemRequest {
                table_name: TABLE.to_owned(),
                key: attributes.into(),
                ..GetItemRequest::default()
            };
            match table.get_item(request).expect("an answer").item {
                Some(item) => drop(self.items.insert(key, Arc::new(Item::new(&item)))),
                None => drop(self.items.remove(&key)),
            }
        }
        self.items.values().cloned().collect()
    }
}
