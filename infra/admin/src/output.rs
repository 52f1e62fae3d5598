//! The readable form of answers: columns, and values that fit on one line.

use std::fmt;

/// Writes `rows` under `head` in columns; the last column may be as wide as it likes.
pub(crate) fn columns<const N: usize>(
    f: &mut fmt::Formatter<'_>,
    head: [&str; N],
    rows: impl IntoIterator<Item = [String; N]>,
) -> fmt::Result {
    let mut lines = vec![head.map(str::to_owned)];
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

/// A name as one line: it may hold newlines and tabs.
pub(crate) fn line(name: &str) -> String {
    name.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A value, or a dash where there is none.
pub(crate) fn or_dash<T: fmt::Display>(value: Option<T>) -> String {
    value.map_or_else(|| "-".to_owned(), |value| value.to_string())
}
