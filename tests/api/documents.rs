//! Documents by real programs, and the verdicts on them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Read;

use flate2::read::GzDecoder;
use shared::documents::{Budget, FileKind};
use tests::project;

/// The maximum size of a file in the table.
const MAX_FILE: usize = 40 * 1024;
/// The least numbers of files and of programs and versions in the table.
const FILES: usize = 280;
const PRODUCERS: usize = 50;
/// The least number of programs for each of the things that the table shows.
const PRODUCERS_EACH: usize = 2;

/// The files in an archive, by their names.
fn unpacked(archive: &str) -> BTreeMap<String, Vec<u8>> {
    let packed = fs::read(project(&format!("tests/documents/{archive}.tar.gz"))).unwrap();
    let mut tape = Vec::new();
    GzDecoder::new(&packed[..]).read_to_end(&mut tape).unwrap();
    let (mut files, mut rest) = (BTreeMap::new(), &tape[..]);
    // A header of 512 bytes has the name, and the size in octal digits. The content fills whole blocks.
    while let Some((header, after)) = rest.split_at_checked(512).filter(|(header, _)| header[0] != 0) {
        let text = |from: usize, to: usize| {
            let field = header[from..to].split(|byte| *byte == 0).next().unwrap();
            str::from_utf8(field).unwrap().to_owned()
        };
        let size = usize::from_str_radix(&text(124, 136), 8).unwrap();
        files.insert(text(0, 100), after[..size].to_vec());
        rest = &after[size.next_multiple_of(512)..];
    }
    files
}

#[test]
fn every_real_document_gets_the_verdict_in_the_table() {
    let table = fs::read_to_string(project("tests/documents/verdicts.tsv")).unwrap();
    let rows: Vec<Vec<_>> = table.lines().skip(1).map(|line| line.split('\t').collect()).collect();
    let mut archives = BTreeMap::new();
    let (mut producers, mut wrong) = (Vec::new(), Vec::new());
    let mut showing = BTreeMap::<_, BTreeSet<_>>::new();
    for row in &rows {
        let [registry, name, producer, shows, expected] = row[..] else { panic!("{row:?}") };
        let files = archives.entry(registry).or_insert_with(|| unpacked(registry));
        let content = files.remove(name).unwrap_or_else(|| panic!("{name} is missing"));
        assert!(content.len() <= MAX_FILE, "{name}");
        let mut budget = Budget::of(content.len());
        let verdict = match FileKind::within(&mut budget, &content) {
            Ok(kind) => kind.extension().to_owned(),
            Err(refusal) => format!("{refusal:?}"),
        };
        if verdict != expected {
            wrong.push(format!("{registry}/{name}: {verdict} instead of {expected}"));
        }
        producers.push(producer);
        let (program, _) = producer.rsplit_once(' ').unwrap_or((producer, ""));
        for shown in shows.split(", ") {
            showing.entry(shown).or_default().insert(program);
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(archives.values().all(BTreeMap::is_empty), "files that are not in the table: {archives:?}");
    showing.retain(|_, programs| programs.len() < PRODUCERS_EACH);
    assert!(showing.is_empty(), "{showing:?}");
    producers.sort_unstable();
    producers.dedup();
    assert!(rows.len() >= FILES && producers.len() >= PRODUCERS, "{} {}", rows.len(), producers.len());
}
