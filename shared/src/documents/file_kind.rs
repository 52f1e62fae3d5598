//! The types of documents that are accepted.

/// The file types that are accepted as resumes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FileKind {
    /// Adobe's Portable Document Format.
    Pdf,
    /// Word's binary format.
    Doc,
    /// Word's XML format.
    Docx,
    /// Word's XML format for documents that may have macros. It has none.
    Docm,
    /// The `OpenDocument` text format.
    Odt,
    /// The Rich Text Format.
    Rtf,
    /// Plain text.
    Txt,
}

impl FileKind {
    /// Every kind.
    pub const ALL: [Self; 7] =
        [Self::Pdf, Self::Doc, Self::Docx, Self::Docm, Self::Odt, Self::Rtf, Self::Txt];

    /// The file name extension, without the dot.
    pub fn extension(self) -> &'static str {
        match self {
            Self::Pdf => "pdf",
            Self::Doc => "doc",
            Self::Docx => "docx",
            Self::Docm => "docm",
            Self::Odt => "odt",
            Self::Rtf => "rtf",
            Self::Txt => "txt",
        }
    }

    /// The registered media type.
    pub fn media_type(self) -> &'static str {
        match self {
            Self::Pdf => "application/pdf",
            Self::Doc => "application/msword",
            Self::Docx => "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
            Self::Docm => "application/vnd.ms-word.document.macroEnabled.12",
            Self::Odt => "application/vnd.oasis.opendocument.text",
            Self::Rtf => "application/rtf",
            Self::Txt => "text/plain",
        }
    }
}
