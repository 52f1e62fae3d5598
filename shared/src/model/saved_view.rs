//! Lists of candidates that a team has saved under a name.

use serde::{Deserialize, Serialize};

use super::folding::CaseFolded;
use super::text::Text;

/// The name of a saved list.
pub type ViewName = Text<60>;

/// A list that is saved.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SavedView {
    /// The name.
    pub name: ViewName,
    /// The query of the list's first page.
    pub query: String,
}

/// The lists that a team has saved, in the order of their names.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SavedViews {
    /// The lists.
    pub views: Vec<SavedView>,
    /// The version, which grows with every write; 0 before the first one.
    pub version: u64,
}

impl SavedViews {
    /// The maximum number of saved lists.
    pub const MAX: usize = 30;

    /// Saves a list, in place of the one with the same name. `None` if there are as many as possible.
    #[must_use]
    pub fn with(&self, view: SavedView) -> Option<Self> {
        let mut after = self.without(&view.name);
        if after.views.len() >= Self::MAX {
            return None;
        }
        after.views.push(view);
        after.views.sort_by_cached_key(|view| CaseFolded::of(view.name.as_str()));
        Some(after)
    }

    /// Removes the list with this name, in upper or lower case.
    #[must_use]
    pub fn without(&self, name: &ViewName) -> Self {
        let name = CaseFolded::of(name.as_str());
        let others = self.views.iter().filter(|view| CaseFolded::of(view.name.as_str()) != name);
        Self { views: others.cloned().collect(), version: self.version + 1 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn view(name: &str) -> SavedView {
        SavedView { name: ViewName::parse(name).unwrap().unwrap(), query: "stage=offer".to_owned() }
    }

    #[test]
    fn a_name_is_used_once_in_upper_or_lower_case() {
        let views = SavedViews::default().with(view("straße")).unwrap().with(view("Berlin")).unwrap();
        let again = SavedView { query: "stage=hired".to_owned(), ..view("BERLIN") };
        let views = views.with(again.clone()).unwrap();
        assert_eq!((views.views, views.version), (vec![again, view("straße")], 3));
    }

    #[test]
    fn as_many_as_possible_can_be_saved_and_no_more() {
        let mut views = SavedViews::default();
        for number in 0..SavedViews::MAX {
            views = views.with(view(&format!("{number}"))).unwrap();
        }
        assert_eq!(views.with(view("one more")), None);
        assert!(views.with(view("7")).is_some(), "in place of another");
        assert_eq!(views.without(&view("7").name).views.len(), SavedViews::MAX - 1);
    }
}
