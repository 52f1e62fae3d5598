//! Answers searches over lists of names, to compare them with another engine: see `.ci/names`.
//!
//! Reads lines of a kind, a tab and a text: `list` begins a list, `name` adds a person to it, `query` searches it. Writes
//! a line for each query, with the numbers of the people in the list that it finds, counted from 0.

use std::error::Error;
use std::io::{BufRead, Write};

use shared::model::{IndexForm, Name, Profile, SearchQuery, SearchWords};

fn main() -> Result<(), Box<dyn Error>> {
    let mut people: Vec<SearchWords> = Vec::new();
    let mut output = std::io::stdout().lock();
    for line in std::io::stdin().lock().lines() {
        let line = line?;
        match line.split_once('\t').ok_or("a line has no tab")? {
            ("list", _) => people.clear(),
            ("name", text) => {
                let name = Name::parse(text)?.ok_or("a name is blank")?;
                // No query has a word that begins a word of this address.
                people.push(SearchWords::of(
                    &Profile::new(name, "7777777@777777.777777".parse()?),
                    IndexForm::NEWEST,
                ));
            }
            ("query", text) => {
                let query: SearchQuery = text.parse()?;
                let found = people.iter().enumerate().filter(|(_, words)| query.matches(words));
                let found: Vec<String> = found.map(|(at, _)| at.to_string()).collect();
                writeln!(output, "{}", found.join(" "))?;
            }
            (kind, _) => return Err(format!("there is no kind of line {kind:?}").into()),
        }
    }
    Ok(())
}
