//! Why a document is refused, and what its owner can do about it.

/// Why a document is refused. Each cause has one sentence, which says what was found and the way out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
pub enum Refusal {
    /// The file has no content.
    #[error("This file is empty. Choose another file.")]
    Empty,
    /// A file of another type.
    #[error(
        "This is not a PDF, DOC, DOCX, ODT, RTF or plain text file. Save your resume as a PDF and choose that."
    )]
    Type,
    /// A JPEG, PNG, HEIC or another picture.
    #[error("This is a picture. Put it into a document, save that as a PDF, and choose the PDF.")]
    Picture,
    /// A document of Pages, Numbers or Keynote.
    #[error(
        "This is a Pages, Numbers or Keynote file. Open it, choose File, Export To, PDF, and choose the PDF."
    )]
    IWork,
    /// A spreadsheet or a presentation.
    #[error("This is not a text document. Open it, save it as a PDF, and choose the PDF.")]
    OtherDocument,
    /// A ZIP archive that is no document.
    #[error("This is an archive. Unpack it and choose the document that is in it.")]
    Archive,
    /// A text that begins with markup.
    #[error("This is a web page. Open it, print it to a PDF, and choose the PDF.")]
    WebPage,
    /// A text that is neither in UTF-8, nor in UTF-16 with a mark, nor in Windows-1252.
    #[error(
        "This file is not a document, or is a text in an unusual encoding. Save it as a PDF, or as UTF-8."
    )]
    Encoding,
    /// Something that readers would interpret differently, or not at all.
    #[error("This file is damaged or incomplete. Open it, save it as a new PDF, and choose the PDF.")]
    Damaged,
    /// The check would take too much work.
    #[error("This file is too complicated to check. Open it and print it to a new PDF.")]
    TooComplex,
    /// The document is encrypted, and an empty password does not open it.
    #[error("This document needs a password to open. Save it without the password and choose that file.")]
    Password,
    /// The PDF opens without a password, but its encryption hides what would have to be checked.
    #[error(
        "This PDF is protected in a way that keeps us from checking it. Open it and print it to a new PDF."
    )]
    Protected,
    /// Macros in a document of Word or in an `OpenDocument` text.
    #[error("This document contains macros. Save it as a PDF and choose the PDF.")]
    Macros,
    /// A script in a PDF.
    #[error("This PDF contains a script. Open it and print it to a new PDF.")]
    PdfScript,
    /// A script in another document.
    #[error("This document contains a script. Save it as a PDF and choose the PDF.")]
    Script,
    /// A PDF that starts a program or opens a file with one.
    #[error("This PDF starts a program. Open it and print it to a new PDF.")]
    Launch,
    /// A PDF form that sends or imports data.
    #[error("This PDF is a form that sends or loads data. Open it and print it to a new PDF.")]
    DataForm,
    /// An XFA form, which readers compute from a template with scripts.
    #[error("This PDF is an XFA form. Open it in Acrobat Reader and print it to a new PDF.")]
    Xfa,
    /// Sound, video or 3D content in a PDF.
    #[error("This PDF contains sound, video or 3D content. Open it and print it to a new PDF.")]
    Media,
    /// A file in a PDF that is neither XML nor JSON nor text.
    #[error("This PDF has a file attached. Open it and print it to a new PDF.")]
    Attachment,
    /// A PDF that opens an address or another file without a click, or a file on a server.
    #[error("This PDF opens a web page or another file by itself. Open it and print it to a new PDF.")]
    OpensByItself,
    /// A PDF whose content is in another file.
    #[error("This PDF loads a part of it from another file. Open it and print it to a new PDF.")]
    PdfRemote,
    /// An OLE object, an `ActiveX` control or an imported document.
    #[error("This document contains an object of another program. Save it as a PDF and choose the PDF.")]
    Object,
    /// A document that loads a picture, a text or a template from a server.
    #[error("This document loads a part of it from another computer. Save it as a PDF and choose the PDF.")]
    Remote,
    /// A DDE field, or another link to a program.
    #[error("This document takes data from another program. Save it as a PDF and choose the PDF.")]
    DataLink,
}
