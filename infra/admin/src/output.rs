//! Text output: tables, and values on one line.

use std::fmt;

/// Writes a table with a header row. The last column is not padded.
pub(crate) fn table<const N: usize>(
    f: &mut fmt::Formatter<'_>,
    header: [&str; N],
    rows: impl IntoIterator<Item = [String; N]>,
) -> fmt::Result {
    let mut lines = vec![header.map(str::to_owned)];
    lines.extend(rows);
    let width = |column: usize| lines.iter().map(|line| line[column].chars().count()).max().unwrap_or(0);
    let widths: [usize; N] = std::array::from_fn(width);
    for (n, line) in lines.iter().enumerate() {
        if n > 0 {
            writeln!(f)?;
        }
        for (column, (text, width)) in line.iter().zip(widths).enumerate() {
            if column + 1 < N {
                write!(f, "{text:<width$}  ")?;
            } else {
                write!(f, "{text}")?;
            }
        }
    }
    Ok(())
}

/// Puts a name on one line. Names may contain newlines and tabs.
pub(crate) fn line(name: &str) -> String {
    name.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Formats a value, or a dash for `None`.
pub(crate) fn or_dash<T: fmt::Display>(value: Option<T>) -> String {
    value.map_or_else(|| "-".to_owned(), |value| value.to_string())
}
