//! Where a reference in a document leads.

use percent_encoding::percent_decode_str;

/// Whether a reference leads to a file on the reader's own computer or in the document, and not to a server.
///
/// Word writes the path of the author's template into documents. On a Mac it has four slashes, `file:////Users/...`, which
/// would otherwise be a server.
pub(super) fn is_local(reference: &str) -> bool {
    let decoded = percent_decode_str(reference.trim()).decode_utf8_lossy().to_lowercase().replace('\\', "/");
    let reference = decoded.trim();
    if reference.contains(char::is_control) {
        return false;
    }
    if let Some(path) = reference.strip_prefix("file:") {
        return match path.bytes().take_while(|byte| *byte == b'/').count() {
            0 => path.as_bytes().get(1) == Some(&b':'),
            1 | 3 => true,
            4 => path.starts_with("////users/"),
            _ => false,
        };
    }
    if reference.starts_with("//") {
        return false;
    }
    let (start, _) = reference.split_once('/').unwrap_or((reference, ""));
    match start.split_once(':') {
        None => true,
        // A drive of Windows, the disk of an old Mac, a part of the same e-mail, and the data itself.
        Some((scheme, _)) => scheme.len() == 1 || matches!(scheme, "macintosh hd" | "cid" | "data"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_paths_on_the_own_computer_are_local() {
        for local in [
            "Resume.dotx",
            "media/image1.png",
            "../Templates/Resume.dotx",
            "#Pictures/1.png",
            "",
            "/Users/mira/Resume.dotx",
            "C:\\Users\\mira\\Resume.dotx",
            "file:///C:\\Users\\mira\\Resume.dotx",
            "file:///C:/Users/mira/My%20Resume.dotx",
            "file:C:\\Resume.dotx",
            "file:/Users/mira/Resume.dotx",
            "file:///Users/mira/Resume.dotx",
            "file:////Users/mira/Resume.dotx",
            "Macintosh%20HD:Users:mira:Resume.dotx",
            "cid:image001.png@01D5",
            "data:image/png;base64,AA==",
        ] {
            assert!(is_local(local), "{local}");
        }
        for remote in [
            "https://example.com/x",
            " HTTPS://example.com/x",
            "h\tttps://example.com",
            "%68ttps://example.com",
            "//server/share/x",
            "\\\\server\\share\\x",
            "/\\server\\x",
            "%5c%5cserver/x",
            "%2f%2fserver/x",
            "file://server/share/x",
            "file:////server/share/x",
            "file:///\\\\fileserver\\home$\\x",
            "file:////usersx/x",
            "file://///users/x",
            "ftp:x",
            "mailto:ada@example.com",
            "javascript:x",
            "vnd.sun.star.script:x",
        ] {
            assert!(!is_local(remote), "{remote}");
        }
    }
}
