//! Files for spreadsheets: CSV (RFC 4180) in UTF-8 with a byte order mark, without which Excel reads another encoding.

/// What spreadsheets take for the beginning of a formula, also in full width.
const FORMULA: [char; 8] = ['=', '+', '-', '@', '＝', '＋', '－', '＠'];
/// The byte order mark, with which a file begins.
pub const MARK: [u8; 3] = [0xef, 0xbb, 0xbf];

/// A file with these rows. No cell is a formula.
pub fn csv<const N: usize>(rows: &[[String; N]]) -> Vec<u8> {
    let mut file = MARK.to_vec();
    for row in rows {
        write_row(&mut file, row.iter().map(String::as_str));
    }
    file
}

/// Adds a row to a file. No cell is a formula.
pub fn write_row<'c>(file: &mut Vec<u8>, cells: impl Iterator<Item = &'c str>) {
    let cells: Vec<_> = cells.map(|cell| quoted(&guarded(cell))).collect();
    file.extend(cells.join(",").bytes().chain(*b"\r\n"));
}

/// A cell in quotes, if it has a character with a meaning in the file (RFC 4180, section 2).
fn quoted(cell: &str) -> String {
    if cell.contains([',', '"', '\r', '\n']) {
        format!("\"{}\"", cell.replace('"', "\"\""))
    } else {
        cell.to_owned()
    }
}

/// A cell with several values: separated by `; `, or as JSON if that would be read as other values.
pub fn list<'v>(values: impl Iterator<Item = &'v str>) -> String {
    let values: Vec<_> = values.collect();
    // A single value with commas would be several, and one in brackets a list.
    let is_unclear = |value: &&str| {
        value.contains(';') || (values.len() == 1 && value.contains(',')) || value.starts_with('[')
    };
    if values.iter().any(is_unclear) {
        return serde_json::json!(values).to_string();
    }
    values.join("; ")
}

/// An identifier. Whoever reads it takes an apostrophe before a digit for one that makes a text of a number, so one that begins so
/// gets another.
pub fn identifier(id: &str) -> String {
    let rest = id.trim_start_matches('\'');
    let is_text = rest.len() < id.len() && rest.starts_with(|c: char| c.is_ascii_digit());
    format!("{}{id}", if is_text { "'" } else { "" })
}

/// A cell, with an apostrophe before what spreadsheets would take for a formula. Whoever reads the file takes one away from
/// just such cells, so a cell that has apostrophes before a formula gets one more.
fn guarded(cell: &str) -> String {
    let first = cell.trim_start_matches('\'').chars().next();
    let is_formula = first.is_some_and(|first| FORMULA.contains(&first) || first.is_control());
    format!("{}{cell}", if is_formula { "'" } else { "" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_has_a_mark_and_its_cells_are_quoted_where_they_must_be() {
        let rows = [["a", "b"], ["x, \"y\"", "two\nlines"]].map(|row| row.map(ToOwned::to_owned));
        let file = csv(&rows);
        assert_eq!(file, b"\xef\xbb\xbfa,b\r\n\"x, \"\"y\"\"\",\"two\nlines\"\r\n");
    }

    #[test]
    fn no_cell_is_a_formula_and_the_guard_can_be_taken_away() {
        for (cell, guard) in [
            ("=1+1", true),
            ("+49 30", true),
            ("-1", true),
            ("@SUM(A1)", true),
            ("＝1", true),
            ("＠x", true),
            ("\tx", true),
            ("\r=1", true),
            ("'=1", true),
            ("''-1", true),
            ("'tis", false),
            ("", false),
            ("'", false),
            ("1-1", false),
            ("Zoë", false),
        ] {
            assert_eq!(guarded(cell), format!("{}{cell}", if guard { "'" } else { "" }), "{cell:?}");
        }
    }

    #[test]
    fn an_identifier_keeps_its_apostrophe() {
        for (id, cell) in [("'23", "''23"), ("''7", "'''7"), ("23", "23"), ("'a", "'a"), ("", "")] {
            assert_eq!(identifier(id), cell);
        }
    }

    #[test]
    fn a_list_is_json_only_if_it_would_be_read_as_another_one() {
        assert_eq!(list([].into_iter()), "");
        assert_eq!(list(["a", "b, c"].into_iter()), "a; b, c");
        assert_eq!(list(["b, c"].into_iter()), r#"["b, c"]"#);
        assert_eq!(list(["a", "b;c"].into_iter()), r#"["a","b;c"]"#);
        assert_eq!(list(["[a]"].into_iter()), r#"["[a]"]"#);
        assert_eq!(list(["a; b", "c"].into_iter()), r#"["a; b","c"]"#);
    }
}
