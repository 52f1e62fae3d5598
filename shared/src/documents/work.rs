//! Tests of the work that hostile documents cause.

use std::fmt::Write;

use super::samples::{archive, compound, docx, odt, zlib};
use super::{Budget, FileKind, Refusal};

/// The work that a file of this size may cause, as the documents promise.
fn bound(size: usize) -> u64 {
    16 * u64::try_from(size).unwrap() + 8 * 1024 * 1024
}

/// The verdict on a file, and the work that it took.
fn judge(file: &[u8]) -> (Result<FileKind, Refusal>, u64) {
    let mut budget = Budget::of(file.len());
    let verdict = FileKind::within(&mut budget, file);
    (verdict, budget.spent())
}

fn repeated(start: &str, part: &str, end: &str, size: usize) -> Vec<u8> {
    let count = size.saturating_sub(start.len() + end.len()) / part.len();
    [start, &part.repeat(count), end].concat().into_bytes()
}

fn object_stream(content: &[u8], count: usize, first: usize) -> Vec<u8> {
    let data = zlib(content);
    let head = format!("%PDF-1.7 1 0 obj<</Type/ObjStm/N {count}/First {first}/Filter/FlateDecode>>stream\n");
    [head.as_bytes(), &data, b"\nendstream endobj\n%%EOF"].concat()
}

/// Words that do not compress better than a text. The same number always gives the same words.
fn words(mut seed: u32, size: usize) -> String {
    const SYLLABLES: [&str; 16] = [
        "ka", "ro", "mi", "ten", "sul", "ver", "an", "dor", "li", "pas", "que", "in", "tor", "eb", "us", "ne",
    ];
    let mut text = String::with_capacity(size + 8);
    while text.len() < size {
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        text.push_str(SYLLABLES[usize::try_from(seed >> 28).unwrap()]);
        if seed & 0x0300_0000 == 0 {
            text.push(' ');
        }
    }
    text
}

/// A document of Word with this text, whose pieces and shapes are described in this table.
fn word(text: &[u8], table: &[u8]) -> Vec<u8> {
    let mut beginning = [0; 8_192];
    beginning[2] = 0xC1;
    compound(&[], &[("/WordDocument", &[&beginning, text].concat()), ("/0Table", table)])
}

/// The description of pieces that are all the same 4,096 bytes.
fn pieces(count: usize) -> Vec<u8> {
    let number = |number: usize| u32::try_from(number).unwrap_or(u32::MAX).to_le_bytes();
    let mut all = [&[2][..], &number(12 * count + 4)].concat();
    all.extend((0..=count).flat_map(|piece| number(4_096 * piece)));
    all.extend((0..count).flat_map(|_| [0, 0, 0, 0, 0, 0x40, 0, 0]));
    all
}

/// Hostile files of about this size. None of them does anything in a reader.
fn hostile(size: usize) -> Vec<(&'static str, Vec<u8>)> {
    const PDF: &str = "%PDF-1.7\n";
    const EOF: &str = "\n%%EOF";
    let one_stream = "%PDF-1.7 1 0 obj<</N 1/First 4>>stream\n1 0 <<>>\n";
    let pairs = size / 4;
    let offsets = format!("{}[{}]", "1 0 ".repeat(pairs), "0 ".repeat(pairs));
    let many = |part: &dyn Fn(usize) -> String, count: usize| {
        (0..count).fold(PDF.to_owned(), |mut text, number| {
            text.push_str(&part(number));
            text
        })
    };
    let references = many(&|number| format!("{} 0 obj<</S 7 0 R>>endobj\n", number + 10), size / 60);
    let target = format!("7 0 obj[{}]endobj", "0 ".repeat(size / 4));
    let same = many(&|_| "7 0 obj<</S 7 0 R>>endobj\n".to_owned(), size / 26);
    let entries: Vec<_> = (0..size / 120).map(|number| format!("word/{number}.xml")).collect();
    let entries: Vec<_> = entries.iter().map(|name| (name.as_str(), &b"<a/>"[..])).collect();
    let mut attributes = String::new();
    while attributes.len() < size {
        let _ = write!(
            attributes,
            "<a {}/>",
            (0..1_000).fold(String::new(), |mut all, number| {
                let _ = write!(all, "a{number}='' ");
                all
            })
        );
    }
    let begin = "<w:fldChar w:fldCharType='begin'/><w:instrText>IF</w:instrText>";
    vec![
        ("streams without an end", repeated(one_stream, "stream\n", EOF, size)),
        ("objects in strings", repeated(PDF, "1 0 obj(", EOF, size)),
        ("objects in arrays", repeated(PDF, "1 0 obj[", EOF, size)),
        ("objects in comments", repeated(PDF, "1 0 obj%", EOF, size)),
        ("objects in names", repeated(PDF, "1 0 obj/", EOF, size)),
        ("trailers in strings", repeated(PDF, "trailer(", EOF, size)),
        ("references to each other", repeated(PDF, "1 0 obj 1 0 R ", EOF, size)),
        ("names in links", repeated("%PDF-1.7 1 0 obj(https://", "/Launch", ")%%EOF", size)),
        ("values", repeated("%PDF-1.7 1 0 obj[", "/a", "]%%EOF", size)),
        ("dictionaries", repeated("%PDF-1.7 1 0 obj[", "<</S/a>>", "]%%EOF", size)),
        ("one place for all objects", object_stream(offsets.as_bytes(), pairs, 4 * pairs)),
        ("a bomb in an object stream", object_stream(&vec![b' '; 64 * size], 1, 4)),
        ("references to one object", [references.as_bytes(), target.as_bytes(), EOF.as_bytes()].concat()),
        ("one number for all objects", [same.as_bytes(), EOF.as_bytes()].concat()),
        ("ends of archives", repeated("PK\u{3}\u{4}", "PK\u{5}\u{6}", "", size)),
        ("many entries", archive(&entries[..entries.len().min(60_000)], false)),
        ("a bomb in a document", docx(&"<a/>".repeat(8 * size), &[])),
        ("attributes", docx(&attributes, &[])),
        ("nested fields", docx(&begin.repeat(size / 8), &[])),
        ("a bomb in an OpenDocument text", odt(&"<a/>".repeat(8 * size), &[])),
        ("fields in a document of Word", word(&vec![0x13; size], b"")),
        ("shapes in a document of Word", word(b"", &b"\xF3\xFF\x0B\xF0".repeat(size / 4))),
        ("pieces of a document of Word", word(b"", &pieces(size / 12))),
        ("groups", repeated("{\\rtf1", "{\\fldinst ", "}", size)),
        ("characters", repeated("{\\rtf1 {\\fldinst ", "\\'41", "}}", size)),
        ("text", words(7, size).into_bytes()),
        ("bytes", vec![0xE9; size]),
    ]
}

#[test]
fn no_file_takes_more_work_than_its_size_justifies() {
    for (name, file) in hostile(20_000) {
        let (verdict, work) = judge(&file);
        assert!(work <= bound(file.len()), "{name}: {work}");
        // Whatever is read twice is paid for twice, so the work of nothing is less than its size.
        let size = u64::try_from(file.len()).unwrap();
        assert!(work >= size.min(65_000) || verdict.is_err(), "{name}: {work} of {size}");
    }
}

/// The ordinary documents with the most text for their size.
fn ordinary(size: usize) -> Vec<(&'static str, Vec<u8>)> {
    let paragraphs = |size: usize| {
        let text = words(1, size);
        text.as_bytes().chunks(400).fold(String::new(), |mut all, text| {
            let text = String::from_utf8_lossy(text);
            let _ = write!(all, "<w:p><w:r><w:rPr><w:b w:val='1'/></w:rPr><w:t>{text}</w:t></w:r></w:p>");
            all
        })
    };
    // Text like this is compressed to about a third.
    let text = paragraphs(size * 5 / 2);
    let objects = words(2, size * 5 / 2);
    let elements: Vec<_> = objects.as_bytes().chunks(30).map(String::from_utf8_lossy).collect();
    let (mut header, mut content) = (String::new(), String::new());
    for (number, text) in elements.iter().enumerate().take(200_000) {
        let _ = write!(header, "{} {} ", number + 2, content.len());
        let _ = write!(content, "<</Type/StructElem/S/P/P 1 0 R/K 0/Alt({text})>> ");
    }
    let all = format!("{header}{content}");
    vec![
        ("a document of Word", docx(&text, &[])),
        ("a tagged PDF", object_stream(all.as_bytes(), elements.len().min(200_000), header.len())),
        ("plain text", words(3, size).into_bytes()),
    ]
}

/// The time depends on the machine and its load, so this test only runs by name and prints what it measures:
/// `cargo test --release --package shared --lib documents::work -- --ignored --nocapture`.
#[test]
#[ignore = "it measures time"]
#[expect(clippy::disallowed_methods, reason = "it measures time")]
fn the_dearest_hostile_file_takes_at_most_three_times_as_long_as_the_dearest_ordinary_one() {
    let measure = |files: Vec<(&'static str, Vec<u8>)>| {
        let mut dearest = (0, std::time::Duration::ZERO);
        for (name, file) in files {
            let start = std::time::Instant::now();
            let (verdict, work) = judge(&file);
            let time = start.elapsed();
            println!("{name}: {} bytes, {verdict:?}, {work} units, {time:?}", file.len());
            dearest = (dearest.0.max(work), dearest.1.max(time));
        }
        dearest
    };
    let (work, time) = measure(ordinary(10 << 20));
    let (hostile_work, hostile_time) = measure(hostile(10 << 20));
    println!("work {hostile_work} of {work}, time {hostile_time:?} of {time:?}");
    assert!(hostile_work <= 3 * work && hostile_time <= 3 * time);
}
